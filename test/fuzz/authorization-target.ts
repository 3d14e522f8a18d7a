import type { Random } from '../../src/util/random';
import { RBAC_FILTER } from '../../src/http-filters/rbac/rbac-parser';
import { decodeToJson } from '../../src/wire/proto-json/encode-json';
import { AuthorizationSamples, PATTERNS } from '../support/authorization-samples';
import {
  createOwnAuthorization,
  createOwnPolicies,
  encodeRules,
} from '../support/own-authorization';
import { judge, type ReferenceRequest, type RuleJson } from '../support/reference-authorization';
import { judgePolicy } from '../support/reference-policy';
import { PolicySamples } from '../support/policy-samples';
import type { JsonMutations } from './json-mutations';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

/** An input: rules, and requests that they judge. */
interface Sample {
  readonly rules: RuleJson;
  readonly requests: readonly ReferenceRequest[];
}

const REQUESTS = 4;
/** Levels that are added to a policy. */
const MAX_DEPTH = 5000;
/** The share of conditions that no control plane may send. */
const UNSUPPORTED = 0.02;

/**
 * The RBAC filter (gRFC A41) with generated rules and requests, judged exactly as a second evaluator does, which reads the JSON; and
 * with damaged bytes, which must be rejected, or judged without an exception and without allowing what the second evaluator denies.
 */
export function createAuthorizationTargets(
  random: Random,
  wire: WireMutations,
  json: JsonMutations,
): readonly FuzzTarget[] {
  const samples = new AuthorizationSamples(random);
  const read = createOwnAuthorization();
  return [
    {
      name: 'authorization rules',
      make: () => {
        const requests = Array.from({ length: REQUESTS }, () => samples.request());
        return JSON.stringify({ rules: samples.rules(UNSUPPORTED), requests } satisfies Sample);
      },
      run(input) {
        const { rules, requests } = JSON.parse(Buffer.from(input).toString()) as Sample;
        const decide = read(encodeRules(rules));
        for (const request of requests) {
          const [expected, own] = [judge(rules, request), decide?.(request) ?? 'rejected'];
          if (own !== expected) return `${own}, where the reference says ${expected}`;
        }
        return undefined;
      },
    },
    {
      name: 'damaged authorization rules',
      make: () => wire.mutate(encodeRules(samples.rules(0))),
      run(input) {
        const bytes = Buffer.from(input);
        const request = samples.request();
        read(bytes)?.(request);
        const rules = readRules(bytes);
        // What the bytes say by their JSON: the reader of the JSON takes fields of a wrong wire type for others.
        const decide = rules && read(encodeRules(rules));
        if (rules === undefined || decide === undefined || decide(request) === 'deny') {
          return undefined;
        }
        const expected = judge(rules, request);
        return expected === 'allow' ? undefined : `allow, where the reference says ${expected}`;
      },
    },
    createPolicyTarget(random, json),
  ];
}

/** Authorization policies (gRFC A43), damaged or not: what is accepted must be judged as the reference does. */
function createPolicyTarget(random: Random, json: JsonMutations): FuzzTarget {
  const samples = new PolicySamples(random);
  const requests = new AuthorizationSamples(random);
  const read = createOwnPolicies();
  return {
    name: 'authorization policy',
    make: () => {
      const policy = samples.policy(UNSUPPORTED);
      return random() < 0.5 ? JSON.stringify(policy) : json.text(policy, MAX_DEPTH);
    },
    run(input) {
      let policy: unknown;
      try {
        policy = JSON.parse(Buffer.from(input).toString());
      } catch {
        return undefined;
      }
      const decide = read(policy);
      for (let i = 0; decide !== undefined && i < REQUESTS; i++) {
        const request = requests.request();
        const [own, expected] = [decide(request), judgePolicy(policy, request)];
        if (own !== expected) return `${own}, where the reference says ${expected}`;
      }
      return undefined;
    },
  };
}

/** Returns the rules as JSON; `undefined` if there are none, or the reference cannot read them. */
function readRules(bytes: Uint8Array): RuleJson | undefined {
  try {
    const config: unknown = decodeToJson(RBAC_FILTER, bytes);
    const rules: unknown = Reflect.get(Object(config), 'rules');
    return isReadable(rules) ? (rules as RuleJson) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether all expressions are of those that mean the same in JavaScript. */
export function isReadable(rules: unknown): boolean {
  let readable = typeof rules === 'object' && rules !== null;
  JSON.stringify(rules, (key, value: unknown) => {
    if (key === 'regex' && !PATTERNS.some((pattern) => pattern === value)) readable = false;
    return value;
  });
  return readable;
}
