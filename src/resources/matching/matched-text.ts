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
