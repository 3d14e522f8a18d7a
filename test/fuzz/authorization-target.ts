import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { AuditLoggerRegistry } from '../../src/http-filters/rbac/audit-logger';
import { createRbacFilter } from '../../src/http-filters/rbac/rbac-filter';
import { RBAC_FILTER } from '../../src/http-filters/rbac/rbac-parser';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { Re2Compiler } from '../../src/resources/matching/re2-compiler';
import { silentLogger } from '../../src/util/logger';
import type { Random } from '../../src/util/random';
import { Violations } from '../../src/util/violations';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import { AuthorizationSamples } from '../support/authorization-samples';
import { judge, type ReferenceRequest, type RuleJson } from '../support/reference-authorization';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';
import { noNested } from '../support/no-nested-filters';

/** An input: rules, and requests that they judge. */
interface Sample {
  readonly rules: RuleJson;
  readonly requests: readonly ReferenceRequest[];
}

const REQUESTS = 4;
/** The share of conditions that no control plane may send. */
const UNSUPPORTED = 0.02;

/**
 * The RBAC filter (gRFC A41) with generated rules and requests, judged exactly as a second evaluator does, which reads the JSON; and
 * with damaged bytes, which must be rejected or judged without an exception.
 */
export function createAuthorizationTargets(
  random: Random,
  wire: WireMutations,
): readonly FuzzTarget[] {
  const samples = new AuthorizationSamples(random);
  const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);
  const filter = createRbacFilter({
    ...{ regexes: new Re2Compiler(DEFAULT_LIMITS, meter), meter, logger: silentLogger },
    auditLoggers: new AuditLoggerRegistry(),
  });
  /** @returns a function that judges requests; `undefined` if the rules are rejected. */
  const read = (bytes: Uint8Array) => {
    const violations = Violations.root();
    const input = { kind: 'message', typeName: RBAC_FILTER, bytes } as const;
    const config = filter.parseConfig(input, violations, noNested);
    if ((config === undefined) !== violations.count > 0) throw new Error('no config, no violation');
    if (config === undefined) return undefined;
    const created = filter.createServerFilter(config, undefined, 'rbac');
    return (request: ReferenceRequest) => {
      const header = (name: string) => request.headers[name];
      return created?.onRequest({ ...request, header }) === undefined ? 'allow' : 'deny';
    };
  };
  return [
    {
      name: 'authorization rules',
      make: () => {
        const requests = Array.from({ length: REQUESTS }, () => samples.request());
        return JSON.stringify({ rules: samples.rules(UNSUPPORTED), requests } satisfies Sample);
      },
      run(input) {
        const { rules, requests } = JSON.parse(Buffer.from(input).toString()) as Sample;
        const decide = read(encode(rules));
        for (const request of requests) {
          const [expected, own] = [judge(rules, request), decide?.(request) ?? 'rejected'];
          if (own !== expected) return `${own}, where the reference says ${expected}`;
        }
        return undefined;
      },
    },
    {
      name: 'damaged authorization rules',
      make: () => wire.mutate(encode(samples.rules(0))),
      run(input) {
        read(Buffer.from(input))?.(samples.request());
        return undefined;
      },
    },
  ];
}

function encode(rules: RuleJson): Uint8Array {
  const encoded = encodeJson(RBAC_FILTER, JSON.parse(JSON.stringify({ rules })));
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.error));
  return encoded.value;
}
