import type { SanMatcher } from '../resources/cluster/cluster';
import { matchesString } from '../resources/shared/string-matcher';
import type { SubjectAltName } from './subject-alt-names';

/** Whether a name satisfies one of the matchers (gRFC A29). */
export function matchesSan(name: SubjectAltName, matchers: readonly SanMatcher[]): boolean {
  return matchers.some(({ type, matcher }) => {
    if (type !== 'any' && type !== name.type) return false;
    if (name.type === 'dns' && matcher.kind === 'exact') {
      return matchesDnsName(name.value, matcher.text, matcher.ignoreCase);
    }
    return matchesString(matcher, name.value);
  });
}

/**
 * Whether a DNS name of a certificate stands for a host name. Its leftmost label may be `*`, which stands for one label.
 * The case counts unless `ignoreCase` is set, except in names with a wildcard.
 */
export function matchesDnsName(pattern: string, hostname: string, ignoreCase: boolean): boolean {
  const name = withoutFinalDot(pattern);
  const host = withoutFinalDot(hostname);
  if (!name.startsWith('*.')) {
    return ignoreCase ? name.toLowerCase() === host.toLowerCase() : name === host;
  }
  const suffix = name.slice(1).toLowerCase();
  if (suffix === '.' || suffix.includes('*')) return false;
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot).toLowerCase() === suffix;
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
