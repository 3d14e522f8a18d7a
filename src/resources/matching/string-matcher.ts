import type { CompiledRegex } from '../extension-points';

/** A matcher of a text by another one, which is in lower case where `ignoreCase` is set. */
interface PlainMatcher {
  readonly kind: 'exact' | 'prefix' | 'suffix' | 'contains';
  readonly text: string;
  readonly ignoreCase: boolean;
}

/** A validated `envoy.type.matcher.v3.StringMatcher`. */
export type StringMatcher =
  PlainMatcher | { readonly kind: 'regex'; readonly regex: CompiledRegex };

/** Whether the value satisfies the matcher. */
export function matchesString(matcher: StringMatcher, value: string): boolean {
  return matchesText(matcher, new MatchedText(value));
}

/** Whether the text satisfies the matcher. */
export function matchesText(matcher: StringMatcher, value: MatchedText): boolean {
  if (matcher.kind === 'regex') return matcher.regex.matches(value.text);
  const text = matcher.ignoreCase ? value.lower : value.text;
  switch (matcher.kind) {
    case 'exact':
      return text === matcher.text;
    case 'prefix':
      return text.startsWith(matcher.text);
    case 'suffix':
      return text.endsWith(matcher.text);
    case 'contains':
      return includesText(text, matcher.text);
  }
}

/** The steps of any matcher of a call, besides those of its text. */
export const STEPS_PER_MATCHER = 16;
/** Characters that are compared in the time of one step. */
const COMPARED_PER_STEP = 16;

/** Returns the steps of matching a text, which bound the time it takes. Those of regular expressions are counted elsewhere. */
export function stepsOf(matcher: StringMatcher, { text: { length } }: MatchedText): number {
  if (matcher.kind === 'regex' || length < matcher.text.length) return 0;
  switch (matcher.kind) {
    case 'exact':
      return length === matcher.text.length ? length / COMPARED_PER_STEP : 0;
    case 'prefix':
    case 'suffix':
      return matcher.text.length / COMPARED_PER_STEP;
    case 'contains':
      return length;
  }
}

/** Up to here, `includes` of the engine is fast for every text. */
const MAX_SHORT_PATTERN = 16;
const MAX_SHORT_SEARCH = 65_536;

/**
 * Whether the text includes the pattern, in time linear in the text: the engine's own search takes the product of both
 * lengths for some, such as `baaa` in `aaaaaa`.
 */
function includesText(text: string, pattern: string): boolean {
  const isShort =
    pattern.length <= MAX_SHORT_PATTERN || text.length * pattern.length <= MAX_SHORT_SEARCH;
  if (isShort) return text.includes(pattern);
  return pattern.length <= text.length && searchLinear(text, pattern);
}

/** Searches by the algorithm of Knuth, Morris and Pratt. */
function searchLinear(text: string, pattern: string): boolean {
  const borders = bordersOf(pattern);
  let matched = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    while (matched > 0 && pattern.charCodeAt(matched) !== code) matched = borders[matched] ?? 0;
    if (pattern.charCodeAt(matched) === code) matched++;
    if (matched === pattern.length) return true;
  }
  return false;
}

/** Returns, for each length of a beginning of the pattern, the length of its longest proper prefix that is a suffix too. */
function bordersOf(pattern: string): Uint32Array {
  const borders = new Uint32Array(pattern.length + 1);
  let length = 0;
  for (let end = 1; end < pattern.length; end++) {
    const code = pattern.charCodeAt(end);
    while (length > 0 && pattern.charCodeAt(length) !== code) length = borders[length] ?? 0;
    if (pattern.charCodeAt(length) === code) length++;
    borders[end + 1] = length;
  }
  return borders;
}

/** The longest text of a 64-bit integer: 19 digits and a sign. */
const MAX_INTEGER_LENGTH = 20;
const DECIMAL_INTEGER = /^[+-]?\d+$/;

/** A text that many matchers read, with the forms in which they do. Each form is made once, when a matcher first needs it. */
export class MatchedText {
  private lowerText: string | undefined = undefined;
  /** `null` if the text is not an integer. */
  private integerValue: bigint | null | undefined = undefined;

  constructor(readonly text: string) {}

  /** The text in lower case. */
  get lower(): string {
    return (this.lowerText ??= this.text.toLowerCase());
  }

  /** The text as a decimal integer; `undefined` if it is none, or has more than 20 characters, as none of 64 bits has. */
  get integer(): bigint | undefined {
    this.integerValue ??= parseInteger(this.text) ?? null;
    return this.integerValue ?? undefined;
  }
}

function parseInteger(text: string): bigint | undefined {
  if (text.length > MAX_INTEGER_LENGTH || !DECIMAL_INTEGER.test(text)) return undefined;
  return BigInt(text.startsWith('+') ? text.slice(1) : text);
}
