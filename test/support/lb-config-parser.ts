import type { LbChildParser } from '../../src/lb/lb-policy';
import { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import type { LbConfig } from '../../src/resources/extension-points';
import { Violations } from '../../src/util/violations';
import { StubPolicyType } from './lb-stub-policy';

/** What `{ stub: {} }` is parsed to. */
export const stubConfig: LbConfig = { policyName: 'stub' };

/** Parses a config whose children may be `stub` policies. */
export function parseWith<C>(
  parse: (json: unknown, violations: Violations, children: LbChildParser) => C | undefined,
  json: unknown,
): { readonly config: C | undefined; readonly violations: readonly string[] } {
  const violations = Violations.root();
  const children = new LbPolicyRegistry({ policies: [new StubPolicyType()] });
  const config = parse(json, violations, children);
  return { config, violations: violations.all };
}
