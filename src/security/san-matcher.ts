import type { SanMatcher } from '../resources/cluster/cluster';
import { matchesString } from '../resources/shared/string-matcher';
import type { SubjectAltName } from './subject-alt-names';

const EMPTY_LABEL = /(?:^|\.)(?:\.|$)/;

/** Whether a name satisfies one of the matchers (gRFC A29). */
export function matchesSan(name: SubjectAltName, matchers: readonly SanMatcher[]): boolean {
  return matchers.some(({ type, matcher }) => {
    if (type !== 'any' && type !== name.type) return false;
    if (name.type === 'dns' && matcher.kind === 'exact') {
      return matchesDnsName(name.value, matcher.text);
    }
    return matchesString(matcher, name.value);
  });
}

/**
 * Whether a DNS name of a certificate stands for a host name, in any case. Its leftmost label may be `*`, which stands for one
 * label; a name with any other `*` (as in grpc-go), or with an empty label, stands for none.
 */
export function matchesDnsName(pattern: string, hostname: string): boolean {
  const name = withoutFinalDot(pattern.toLowerCase());
  const host = withoutFinalDot(hostname.toLowerCase());
  if (EMPTY_LABEL.test(name)) return false;
  if (!name.includes('*')) return name === host;
  const suffix = name.slice(1);
  if (!/^\*\.[^*]+$/.test(name)) return false;
  const dot = host.indexOf('.');
  return dot > 0 && host.slice(dot) === suffix;
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
