import type { CompiledRegex } from './extension-points';
import type { HeaderMatcher, Route, VirtualHost } from './route-config';

const NONE: readonly CompiledRegex[] = [];

// A virtual host that an update does not touch is kept, so that this is worked out once for each version of it.
const known = new WeakMap<VirtualHost, readonly CompiledRegex[]>();

/** The regular expressions of a virtual host, each once. */
export function regexesOf(host: VirtualHost): readonly CompiledRegex[] {
  let regexes = known.get(host);
  if (regexes === undefined) {
    const found = new Set(host.routes.flatMap(regexesOfRoute));
    regexes = found.size === 0 ? NONE : [...found];
    known.set(host, regexes);
  }
  return regexes;
}

function regexesOfRoute({ match, action }: Route): readonly CompiledRegex[] {
  const found: CompiledRegex[] = [];
  if (match.path.kind === 'regex') found.push(match.path.regex);
  for (const matcher of match.headers) found.push(...regexesOfHeader(matcher));
  if (action.kind !== 'forward') return found;
  for (const policy of action.hashPolicies) {
    if (policy.kind === 'header' && policy.rewrite) found.push(policy.rewrite.regex);
  }
  return found;
}

function regexesOfHeader({ condition }: HeaderMatcher): readonly CompiledRegex[] {
  const isRegex = condition.kind === 'string' && condition.matcher.kind === 'regex';
  return isRegex ? [condition.matcher.regex] : NONE;
}
