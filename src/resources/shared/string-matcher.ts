import type { CompiledRegex } from '../extension-points';

/** A validated `envoy.type.matcher.v3.StringMatcher`. Text is in lower case where `ignoreCase` is set. */
export type StringMatcher =
  | {
      readonly kind: 'exact' | 'prefix' | 'suffix' | 'contains';
      readonly text: string;
      readonly ignoreCase: boolean;
    }
  | { readonly kind: 'regex'; readonly regex: CompiledRegex };

/** Whether the value satisfies the matcher. */
export function matchesString(matcher: StringMatcher, value: string): boolean {
  if (matcher.kind === 'regex') return matcher.regex.matches(value);
  const text = matcher.ignoreCase ? value.toLowerCase() : value;
  switch (matcher.kind) {
    case 'exact':
      return text === matcher.text;
    case 'prefix':
      return text.startsWith(matcher.text);
    case 'suffix':
      return text.endsWith(matcher.text);
    case 'contains':
      return text.includes(matcher.text);
  }
}
