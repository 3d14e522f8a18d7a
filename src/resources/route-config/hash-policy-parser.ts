import type {
  RouteAction_HashPolicy,
  RouteAction_HashPolicy_Header,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import type { RegexMatchAndSubstitute } from '../../wire/generated/envoy/type/matcher/v3/regex';
import { parseSubstitution } from '../matching/re2-syntax';
import { MAX_HASH_POLICIES } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { RegexCompiler } from '../extension-points';
import { parseRegex } from '../matching/string-matcher-parser';
import type { HashPolicy } from './route-config';

type HeaderPolicy = Extract<HashPolicy, { kind: 'header' }>;

const CHANNEL_ID = 'io.grpc.channel_id';

/** Parses the hash policies of a route (gRFC A42), without those that have no hash. */
export function parseHashPolicies(
  policies: readonly RouteAction_HashPolicy[],
  regexes: RegexCompiler,
  violations: Violations,
): readonly HashPolicy[] {
  const { length } = policies;
  if (length > MAX_HASH_POLICIES) {
    violations.add(`must not have more than ${MAX_HASH_POLICIES} entries, but has ${length}`);
    return [];
  }
  return policies
    .map((policy, i) => parseHashPolicy(policy, regexes, violations.index(i)))
    .filter((policy) => policy !== undefined);
}

/** Parses a hash policy; `undefined` for one without a hash, which is valid (gRFC A42), and after adding a violation. */
function parseHashPolicy(
  { policySpecifier, terminal }: RouteAction_HashPolicy,
  regexes: RegexCompiler,
  violations: Violations,
): HashPolicy | undefined {
  switch (policySpecifier?.$case) {
    case 'header':
      return parseHeader(policySpecifier.value, terminal, regexes, violations.at('header'));
    case 'filterState':
      return policySpecifier.value.key === CHANNEL_ID
        ? { kind: 'channel-id', terminal }
        : undefined;
    default:
      return undefined;
  }
}

function parseHeader(
  { headerName, regexRewrite }: RouteAction_HashPolicy_Header,
  terminal: boolean,
  regexes: RegexCompiler,
  violations: Violations,
): HashPolicy | undefined {
  if (headerName === '') violations.at('header_name').add('must not be empty');
  const rewrite =
    regexRewrite && parseRewrite(regexRewrite, regexes, violations.at('regex_rewrite'));
  return { kind: 'header', headerName: headerName.toLowerCase(), rewrite, terminal };
}

function parseRewrite(
  { pattern, substitution }: RegexMatchAndSubstitute,
  regexes: RegexCompiler,
  violations: Violations,
): HeaderPolicy['rewrite'] {
  const patternAt = violations.at('pattern');
  if (pattern === undefined) patternAt.add('field not present');
  const regex = pattern && parseRegex(pattern, regexes, patternAt);
  checkSubstitution(substitution, regexes, violations.at('substitution'));
  return regex && { regex, substitution };
}

function checkSubstitution(
  substitution: string,
  { maxSubstitutionLength }: RegexCompiler,
  violations: Violations,
): void {
  const { length } = substitution;
  if (length > maxSubstitutionLength) {
    violations.add(
      `${length} characters are more than the limit maxRegexSubstitutionLength (${maxSubstitutionLength})`,
    );
  } else if (parseSubstitution(substitution) === undefined) {
    violations.add('a backslash must be followed by a digit or a backslash');
  }
}
