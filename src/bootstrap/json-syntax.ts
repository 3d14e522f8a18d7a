import { assertNever } from '../util/errors';

type Expected =
  | 'a value'
  | 'a value or "]"'
  | 'a member name'
  | 'a member name or "}"'
  | '":"'
  | '"," or "]"'
  | '"," or "}"'
  | 'nothing more';

/** The character code beyond the end. */
const END = -1;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LIST_START = 0x5b;
const LIST_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;

const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/**
 * Finds the first syntax error of JSON text. `JSON.parse` gives no position for the most frequent errors and quotes the
 * text around them instead, which may be secret.
 *
 * @returns such as `line 3, column 5: expected "," or "}"`; `undefined` if the text is JSON.
 */
export function findJsonError(text: string): string | undefined {
  const scanner = new Scanner(text);
  const expected = scanner.run();
  return expected && `${describePosition(text, scanner.position)}: expected ${expected}`;
}

function describePosition(text: string, position: number): string {
  let line = 1;
  let start = 0;
  for (let at = 0; at < position; at++) {
    if (text.charCodeAt(at) !== LINE_FEED) continue;
    line++;
    start = at + 1;
  }
  return `line ${line}, column ${position - start + 1}`;
}

/**
 * Scans text by its character codes, in linear time, since it may be large and hostile. Only short tokens are matched by
 * patterns.
 */
class Scanner {
  position = 0;
  private expected: Expected = 'a value';
  /** The expected text inside a token, if the error is inside one. */
  private missing: string | undefined;
  /** The tokens expected after a value in each open list and object, innermost last. */
  private readonly open: ('"," or "]"' | '"," or "}"')[] = [];

  constructor(private readonly text: string) {}

  /** Reads to the end or to the first error, and returns the expected token. */
  run(): string | undefined {
    for (;;) {
      const code = this.skipSpace();
      if (code === END && this.expected === 'nothing more') return undefined;
      if (!this.step(code)) return this.missing ?? this.expected;
    }
  }

  /** Reads one token; false if it is not an expected one. @param code Its first character. */
  private step(code: number): boolean {
    switch (this.expected) {
      case 'a value or "]"':
        return code === LIST_END ? this.close() : this.value(code);
      case 'a value':
        return this.value(code);
      case 'a member name or "}"':
        return code === OBJECT_END ? this.close() : this.memberName(code);
      case 'a member name':
        return this.memberName(code);
      case '":"':
        return code === COLON && this.take('a value');
      case '"," or "]"':
        return code === LIST_END ? this.close() : code === COMMA && this.take('a value');
      case '"," or "}"':
        return code === OBJECT_END ? this.close() : code === COMMA && this.take('a member name');
      case 'nothing more':
        return false;
      default:
        return assertNever(this.expected);
    }
  }

  private value(code: number): boolean {
    if (code === OBJECT_START) {
      this.open.push('"," or "}"');
      return this.take('a member name or "}"');
    }
    if (code === LIST_START) {
      this.open.push('"," or "]"');
      return this.take('a value or "]"');
    }
    return (code === QUOTE ? this.string() : this.skip(SCALAR)) && this.endValue();
  }

  private memberName(code: number): boolean {
    return code === QUOTE && this.string() && this.expect('":"');
  }

  /** Reads a string. At an error, the position is inside. */
  private string(): boolean {
    this.position++;
    while (this.position < this.text.length) {
      const code = this.text.charCodeAt(this.position);
      if (code < SPACE) return this.miss('no control character');
      if (code === BACKSLASH && this.skip(ESCAPE)) continue;
      this.position++;
      if (code === QUOTE) return true;
      if (code === BACKSLASH) return this.miss('an escape sequence');
    }
    return this.miss('the end of a string');
  }

  private close(): true {
    this.position++;
    this.open.pop();
    return this.endValue();
  }

  private endValue(): true {
    return this.expect(this.open.at(-1) ?? 'nothing more');
  }

  private take(expected: Expected): true {
    this.position++;
    return this.expect(expected);
  }

  private expect(expected: Expected): true {
    this.expected = expected;
    return true;
  }

  private miss(missing: string): false {
    this.missing = missing;
    return false;
  }

  /** @returns the next character code. */
  private skipSpace(): number {
    // An access beyond the end would make all of this several times slower.
    for (; this.position < this.text.length; this.position++) {
      const code = this.text.charCodeAt(this.position);
      if (code > SPACE || !isSpace(code)) return code;
    }
    return END;
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.position;
    if (!pattern.test(this.text)) return false;
    this.position = pattern.lastIndex;
    return true;
  }
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === RETURN || code === TAB;
}
