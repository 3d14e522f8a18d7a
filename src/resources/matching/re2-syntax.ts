/**
 * Parses a substitution of RE2: `\0` is the whole match, `\1` to `\9` are its groups and `\\` is a backslash; other
 * characters are literal.
 *
 * @returns texts and group numbers in order; `undefined` if a backslash is followed by something else.
 */
export function parseSubstitution(substitution: string): readonly (string | number)[] | undefined {
  const parts: (string | number)[] = [];
  let text = '';
  for (let i = 0; i < substitution.length; i++) {
    const character = substitution.charAt(i);
    if (character !== '\\') {
      text += character;
      continue;
    }
    i++;
    const escaped = substitution.charAt(i);
    if (escaped === '\\') {
      text += escaped;
    } else if (escaped >= '0' && escaped <= '9') {
      parts.push(text, Number(escaped));
      text = '';
    } else {
      return undefined;
    }
  }
  parts.push(text);
  return parts.filter((part) => part !== '');
}
