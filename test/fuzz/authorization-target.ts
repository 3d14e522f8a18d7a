import type { Random } from '../../src/util/random';
import { AuthorizationSamples } from '../support/authorization-samples';
import { createOwnAuthorization, encodeRules } from '../support/own-authorization';
import { judge, type ReferenceRequest, type RuleJson } from '../support/reference-authorization';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

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
        read(Buffer.from(input))?.(samples.request());
        return undefined;
      },
    },
  ];
}
