import type { SanMatcher, SanType } from '../../resources/tls/tls';
import {
  MatchedText,
  matchesText,
  STEPS_PER_MATCHER,
  stepsOf,
  type StringMatcher,
} from '../../resources/matching/string-matcher';
import { err, ok, type Result } from '../../util/result';
import type { SubjectAltName } from './subject-alt-names';

/**
 * The steps of matching the names of one certificate: as many as matching a call takes by default. `exact` matchers take none:
 * they are looked up.
 */
const MAX_SAN_STEPS = 10_000_000;
/** What a step of a regular expression counts, which takes longer than others. */
const STEPS_PER_REGEX_STEP = 4;

const EMPTY_LABEL = /(?:^|\.)(?:\.|$)/;

/** The matchers of names of one type. */
interface TypeMatchers {
  /** The texts of `exact` matchers. */
  readonly exact: Set<string>;
  /** Those in any case, in lower case. For DNS names, all of them: hosts without a final dot. */
  readonly lower: Set<string>;
  /** What follows the first label of these hosts. */
  readonly suffixes: Set<string>;
  readonly others: StringMatcher[];
}

/** The matchers of a cluster (gRFC A29), prepared once for all handshakes. */
export class SanMatchers {
  private static readonly known = new WeakMap<readonly SanMatcher[], SanMatchers>();
  private readonly byType = new Map<SanType, TypeMatchers>();

  private constructor(matchers: readonly SanMatcher[]) {
    for (const type of ['email', 'dns', 'uri', 'ip'] as const) {
      const prepared = {
        exact: new Set<string>(),
        lower: new Set<string>(),
        suffixes: new Set<string>(),
        others: [],
      };
      for (const each of matchers) {
        if (each.type === 'any' || each.type === type) prepare(each.matcher, type, prepared);
      }
      this.byType.set(type, prepared);
    }
  }

  static of(matchers: readonly SanMatcher[]): SanMatchers {
    const known = SanMatchers.known.get(matchers);
    if (known !== undefined) return known;
    const prepared = new SanMatchers(matchers);
    SanMatchers.known.set(matchers, prepared);
    return prepared;
  }

  /** Whether one of the names satisfies one of the matchers, or why that is not known. */
  match(all: readonly SubjectAltName[]): Result<boolean, string> {
    // An empty name matches nothing, whatever the matcher is.
    const names = all.filter(({ value }) => value !== '');
    if (names.some((name) => this.matchesExactly(name))) return ok(true);
    let left = MAX_SAN_STEPS;
    for (const { type, value } of names) {
      const text = new MatchedText(value);
      for (const matcher of this.byType.get(type)?.others ?? []) {
        left -= costOf(matcher, text);
        if (left < 0) return err(`takes more than ${MAX_SAN_STEPS} steps`);
        if (matchesText(matcher, text)) return ok(true);
      }
    }
    return ok(false);
  }

  private matchesExactly({ type, value }: SubjectAltName): boolean {
    const matchers = this.byType.get(type);
    if (matchers === undefined) return false;
    const { exact, lower, suffixes } = matchers;
    if (type !== 'dns') return exact.has(value) || lower.has(value.toLowerCase());
    const name = parseDnsName(value);
    if (name === undefined) return false;
    return name.isWildcard ? suffixes.has(name.text.slice(1)) : lower.has(name.text);
  }
}

function prepare(
  matcher: StringMatcher,
  type: SanType,
  { exact, lower, suffixes, others }: TypeMatchers,
): void {
  if (matcher.kind !== 'exact') {
    others.push(matcher);
  } else if (type === 'dns') {
    const host = withoutFinalDot(matcher.text.toLowerCase());
    lower.add(host);
    const suffix = suffixOf(host);
    if (suffix !== undefined) suffixes.add(suffix);
  } else {
    (matcher.ignoreCase ? lower : exact).add(matcher.text);
  }
}

function costOf(matcher: StringMatcher, text: MatchedText): number {
  if (matcher.kind !== 'regex') return STEPS_PER_MATCHER + stepsOf(matcher, text);
  const perCharacter = matcher.regex.size + STEPS_PER_MATCHER;
  return STEPS_PER_REGEX_STEP * perCharacter * (text.text.length + 1);
}

/**
 * Whether a DNS name of a certificate stands for a host name, in any case. Its leftmost label may be `*`, which stands for one
 * label; a name with any other `*` (as in grpc-go), or with an empty label, stands for none.
 */
export function matchesDnsName(pattern: string, hostname: string): boolean {
  const name = parseDnsName(pattern);
  const host = withoutFinalDot(hostname.toLowerCase());
  if (name === undefined) return false;
  return name.isWildcard ? suffixOf(host) === name.text.slice(1) : name.text === host;
}

/** Returns a DNS name of a certificate in lower case; `undefined` if it stands for no host. */
function parseDnsName(
  pattern: string,
): { readonly text: string; readonly isWildcard: boolean } | undefined {
  const text = withoutFinalDot(pattern.toLowerCase());
  if (EMPTY_LABEL.test(text)) return undefined;
  const isWildcard = text.includes('*');
  return isWildcard && !/^\*\.[^*]+$/.test(text) ? undefined : { text, isWildcard };
}

/** Returns what follows the first label of a host, with the dot. */
function suffixOf(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot > 0 ? host.slice(dot) : undefined;
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
