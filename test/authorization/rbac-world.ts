import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { AuditLoggerRegistry, createStdoutAuditLogger } from '../../src/authorization/audit-logger';
import { AuthorizationEngine, type Decision } from '../../src/authorization/authorization-engine';
import { createRbacFilter } from '../../src/http-filters/rbac/rbac-filter';
import { RBAC_FILTER, RBAC_PER_ROUTE } from '../../src/http-filters/rbac/rbac-parser';
import type { AuthorizationRequest } from '../../src/authorization/request';
import { RbacConfig } from '../../src/authorization/rules';
import type { Refusal } from '../../src/authorization/refusal';
import type { Judgement, ServerHttpFilter } from '../../src/http-filters/server-filter';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { silentLogger } from '../../src/util/logger';
import { Violations } from '../../src/util/violations';
import { encodeMessage } from '../resources/decode-json';
import type { ReferenceRequest } from '../support/reference-authorization';
import type { Json } from '../support/xds-json';
import { noNested } from '../support/no-nested-filters';

/** The RBAC filter with all that it needs. */
export interface RbacWorld {
  readonly filter: ServerHttpFilter;
  readonly auditLoggers: AuditLoggerRegistry;
  /** Lines of the stdout logger. */
  readonly lines: readonly string[];
  /** Parses a config. @returns the config, or the violations. */
  parse(json: Json): RbacConfig | readonly string[];
  /** Parses an override. */
  parseOverride(json: Json): RbacConfig | readonly string[];
}

export const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);

export function createRbacWorld(): RbacWorld {
  const auditLoggers = new AuditLoggerRegistry();
  const lines: string[] = [];
  const clock = { now: () => Date.UTC(2026, 10, 24, 9, 30, 5, 7) };
  auditLoggers.register(createStdoutAuditLogger(clock, (line) => lines.push(line)));
  const regexes = new Re2Compiler(DEFAULT_LIMITS, meter);
  const filter = createRbacFilter({ regexes, meter, auditLoggers, logger: silentLogger });
  const parse = (typeName: string, method: 'parseConfig' | 'parseOverride', json: Json) => {
    const violations = Violations.root();
    const bytes = encodeMessage(typeName, json);
    const config = filter[method]({ kind: 'message', typeName, bytes }, violations, noNested);
    if (violations.count > 0) {
      expect(config).toBeUndefined();
      return violations.all;
    }
    if (!(config instanceof RbacConfig)) throw new Error('no config, and no violation');
    return config;
  };
  return {
    filter,
    auditLoggers,
    lines,
    parse: (json) => parse(RBAC_FILTER, 'parseConfig', json),
    parseOverride: (json) => parse(RBAC_PER_ROUTE, 'parseOverride', json),
  };
}

/** What a request has unless a test says otherwise. */
const PLAIN: ReferenceRequest = {
  path: '/a.S/Get',
  headers: {},
  local: { address: '10.0.0.2', port: 50_051 },
  remote: { address: '10.0.0.1', port: 40_000 },
  tls: undefined,
};

/** A request as the engine reads it. */
export function requestOf(given: Partial<ReferenceRequest>): AuthorizationRequest {
  const { headers, ...request } = { ...PLAIN, ...given };
  return { ...request, header: (name) => headers[name] };
}

/** The client of a TLS connection whose certificate has this URI. */
export const withUri = (uri: string): ReferenceRequest['tls'] => ({
  peer: { uriSans: [uri], dnsSans: [], subject: 'CN=ignored' },
});

/** Decides by rules. @throws Error if they are rejected. */
export function decide(
  world: RbacWorld,
  rules: Json,
  request: Partial<ReferenceRequest>,
): Decision {
  const config = world.parse({ rules });
  if (!(config instanceof RbacConfig)) throw new Error(config.join('; '));
  if (config.rules === undefined) return { isAllowed: true, policy: undefined };
  const options = { rules: config.rules, name: 'rbac', meter, logger: silentLogger };
  return new AuthorizationEngine(options).decide(requestOf(request));
}

/** Returns what filters that do not wait decide. */
export function judgedAtOnce(judgement: Judgement): Refusal | undefined {
  if (judgement instanceof Promise) throw new Error('a filter waits');
  return judgement;
}
