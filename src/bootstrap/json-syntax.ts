import { assertNever } from '../util/assert-never';

/** What may come next. */
type Expected =
  | 'a value'
  | 'a value or "]"'
  | 'a member name'
  | 'a member name or "}"'
  | '":"'
  | '"," or "]"'
  | '"," or "}"'
  | 'nothing more';

const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/**
 * Where text stops being JSON and what should be there. `JSON.parse` gives no position for the most frequent
 * mistakes and quotes the text around them instead, which may be secret.
 *
 * @returns such as `line 3, column 5: expected "," or "}"`; `undefined` if the text is JSON.
 */
export function findJsonError(text: string): string | undefined {
  const scanner = new Scanner(text);
  const expected = scanner.run();
  return expected && `${describePosition(text, scanner.position)}: expected ${expected}`;
}

function describePosition(text: string, position: number): string {
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

class Scanner {
  position = 0;
  private expected: Expected = 'a value';
  /** What is missing inside a token, if that is where the mistake is. */
  private missing: string | undefined;
  /** The closing brackets that are due, innermost last. */
  private readonly open: ('}' | ']')[] = [];

  constructor(private readonly text: string) {}

  /** Reads to the end or to the first mistake, and says what should be there. */
  run(): string | undefined {
    for (;;) {
      this.skip(SPACE);
      if (this.position === this.text.length && this.expected === 'nothing more') return undefined;
      if (!this.step()) return this.missing ?? this.expected;
    }
  }

  /** Reads one token; false if it is not what may come next. */
  private step(): boolean {
    switch (this.expected) {
      case 'a value or "]"':
        return this.close(']') || this.value();
      case 'a value':
        return this.value();
      case 'a member name or "}"':
        return this.close('}') || this.memberName();
      case 'a member name':
        return this.memberName();
      case '":"':
        return this.take(':') && this.expect('a value');
      case '"," or "]"':
        return this.close(']') || (this.take(',') && this.expect('a value'));
      case '"," or "}"':
        return this.close('}') || (this.take(',') && this.expect('a member name'));
      case 'nothing more':
        return false;
      default:
        return assertNever(this.expected);
    }
  }

  private value(): boolean {
    if (this.take('[')) {
      this.open.push(']');
      return this.expect('a value or "]"');
    }
    if (this.take('{')) {
      this.open.push('}');
      return this.expect('a member name or "}"');
    }
    const isString = this.text[this.position] === '"';
    return (isString ? this.string() : this.skip(SCALAR)) && this.endValue();
  }

  private memberName(): boolean {
    return this.string() && this.expect('":"');
  }

  /** Reads a string. At a mistake in it, the position is inside. */
  private string(): boolean {
    if (!this.take('"')) return false;
    while (this.position < this.text.length) {
      if (this.take('"')) return true;
      if (this.text.charAt(this.position) < ' ') return this.miss('no control character');
      if (this.skip(ESCAPE)) continue;
      if (this.take('\\')) return this.miss('an escape sequence');
      this.position++;
    }
    return this.miss('the end of a string');
  }

  private close(bracket: '}' | ']'): boolean {
    if (!this.take(bracket)) return false;
    this.open.pop();
    return this.endValue();
  }

  private endValue(): true {
    const bracket = this.open.at(-1);
    if (bracket === undefined) return this.expect('nothing more');
    return this.expect(bracket === ']' ? '"," or "]"' : '"," or "}"');
  }

  private expect(expected: Expected): true {
    this.expected = expected;
    return true;
  }

  private miss(missing: string): false {
    this.missing = missing;
    return false;
  }

  private take(character: string): boolean {
    if (this.text[this.position] !== character) return false;
    this.position++;
    return true;
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.position;
    if (!pattern.test(this.text)) return false;
    this.position = pattern.lastIndex;
    return true;
  }
}
