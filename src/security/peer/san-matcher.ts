import type { SanMatcher, SanType } from '../../resources/tls/tls';
import {
  MatchedText,
  matchesText,
  STEPS_PER_MATCHER,
  stepsOf,
  type StringMatcher,
} from '../../resources/matching/string-matcher';
import { MAX_SAN_STEPS } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import type { SubjectAltName } from './subject-alt-names';

/** What a step of a regular expression counts, which takes longer than others. */
const STEPS_PER_REGEX_STEP = 4;

const EMPTY_LABEL = /(?:^|\.)(?:\.|$)/;
const TYPES: readonly SanType[] = ['email', 'dns', 'uri', 'ip'];

/** The matchers of a cluster (gRFC A29), prepared once for all handshakes. */
export class SanMatchers {
  private static readonly known = new WeakMap<readonly SanMatcher[], SanMatchers>();
  /** See {@link keysOfMatcher}. */
  private readonly exact = new Set<string>();
  private readonly others = new Map<SanType, StringMatcher[]>(TYPES.map((type) => [type, []]));

  private constructor(matchers: readonly SanMatcher[]) {
    for (const { type: applies, matcher } of matchers) {
      for (const type of applies === 'any' ? TYPES : [applies]) {
        if (matcher.kind !== 'exact') this.others.get(type)?.push(matcher);
        else for (const key of keysOfMatcher(type, matcher)) this.exact.add(key);
      }
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
    if (names.some((name) => keysOfName(name).some((key) => this.exact.has(key)))) return ok(true);
    let left = MAX_SAN_STEPS;
    for (const { type, value } of names) {
      const text = new MatchedText(value);
      for (const matcher of this.others.get(type) ?? []) {
        left -= costOf(matcher, text);
        if (left < 0) return err(`takes more than ${MAX_SAN_STEPS} steps`);
        if (matchesText(matcher, text)) return ok(true);
      }
    }
    return ok(false);
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
  const keys = keysOfMatcher('dns', { text: hostname, ignoreCase: true });
  return keysOfName({ type: 'dns', value: pattern }).some((key) => keys.includes(key));
}

/** Returns keys of which every name that an `exact` matcher of its type matches has one, and no other name does. */
function keysOfMatcher(
  type: SanType,
  { text, ignoreCase }: { readonly text: string; readonly ignoreCase: boolean },
): readonly string[] {
  if (type !== 'dns') return [ignoreCase ? `${type}~${text}` : `${type}=${text}`];
  const host = withoutFinalDot(text.toLowerCase());
  const suffix = suffixOf(host);
  return suffix === undefined ? [`dns=${host}`] : [`dns=${host}`, `dns*${suffix}`];
}

function keysOfName({ type, value }: SubjectAltName): readonly string[] {
  if (type !== 'dns') return [`${type}=${value}`, `${type}~${value.toLowerCase()}`];
  const name = withoutFinalDot(value.toLowerCase());
  if (EMPTY_LABEL.test(name)) return [];
  if (!name.includes('*')) return [`dns=${name}`];
  return /^\*\.[^*]+$/.test(name) ? [`dns${name}`] : [];
}

/** Returns what follows the first label of a host, with the dot. */
function suffixOf(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot > 0 ? host.slice(dot) : undefined;
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
