import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { AuditLoggerRegistry, createStdoutAuditLogger } from '../../src/authorization/audit-logger';
import { AuthorizationEngine } from '../../src/authorization/authorization-engine';
import { parseAuthorizationPolicy } from '../../src/authorization/authorization-policy';
import { createRbacFilter } from '../../src/http-filters/rbac/rbac-filter';
import { RBAC_FILTER } from '../../src/http-filters/rbac/rbac-parser';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { systemClock } from '../../src/util/clock';
import { silentLogger } from '../../src/util/logger';
import { Violations } from '../../src/util/violations';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import { noNested } from './no-nested-filters';
import { headerOf, type ReferenceRequest, type RuleJson } from './reference-authorization';

/** Judges a request by the filter of this package. */
export type OwnJudge = (request: ReferenceRequest) => 'allow' | 'deny';

/** Creates the RBAC filter of this package. Audits are written nowhere. */
export function createOwnFilter() {
  const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
  const auditLoggers = new AuditLoggerRegistry();
  auditLoggers.register(createStdoutAuditLogger(systemClock, () => {}));
  return createRbacFilter({
    regexes: new Re2Compiler(DEFAULT_LIMITS, meter),
    meter,
    logger: silentLogger,
    auditLoggers,
  });
}

/**
 * Creates a reader of encoded filter configs.
 *
 * @returns a function that returns `undefined` for a config that is rejected.
 * @throws Error if a config is rejected without a reason.
 */
export function createOwnAuthorization(): (bytes: Uint8Array) => OwnJudge | undefined {
  const filter = createOwnFilter();
  return (bytes) => {
    const violations = Violations.root();
    const input = { kind: 'message', typeName: RBAC_FILTER, bytes } as const;
    const config = filter.parseConfig(input, violations, noNested);
    if ((config === undefined) !== violations.count > 0) throw new Error('no config, no violation');
    if (config === undefined) return undefined;
    const created = filter.createServerFilter(config, undefined, 'rbac');
    return (request) => {
      const header = (name: string) => headerOf(request, name);
      return created?.onRequest({ ...request, header }) === undefined ? 'allow' : 'deny';
    };
  };
}

/**
 * Creates a reader of authorization policies (gRFC A43).
 *
 * @returns a function that returns `undefined` for a policy that is rejected.
 * @throws Error if a policy is rejected without a reason.
 */
export function createOwnPolicies(): (policy: unknown) => OwnJudge | undefined {
  const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
  const auditLoggers = new AuditLoggerRegistry();
  return (policy) => {
    const violations = Violations.root();
    const parsed = parseAuthorizationPolicy(policy, auditLoggers, violations);
    if ((parsed === undefined) !== violations.count > 0) throw new Error('no policy, no violation');
    const engines = parsed?.chain.map(
      (rules) => new AuthorizationEngine({ rules, name: 'policy', meter, logger: silentLogger }),
    );
    return (
      engines &&
      ((request) => {
        const header = (name: string) => headerOf(request, name);
        const isAllowed = engines.every(
          (engine) => engine.authorize({ ...request, header }).isAllowed,
        );
        return isAllowed ? 'allow' : 'deny';
      })
    );
  };
}

/** Encodes the config of a filter with these rules. */
export function encodeRules(rules: RuleJson): Uint8Array {
  const encoded = encodeJson(RBAC_FILTER, JSON.parse(JSON.stringify({ rules })));
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.error));
  return encoded.value;
}
