/** Size of an empty expression: its program, tables and first states. */
const BASE_SIZE = 16;
/** A Unicode class, such as `\pL`, is a table of up to 744 ranges. */
const UNICODE_CLASS_SIZE = 750;
/** A Perl class, such as `\w`, has up to four ranges, or the five between them. */
const PERL_CLASS_SIZE = 5;
const PERL_CLASSES = 'dDsSwW';
const REPEAT = /\{(\d{1,9})(?:(,)(\d{1,9})?)?\}/y;
/** Flags that ignore the case, such as `(?i)` or `(?s-i:`, wherever they are: those of a group are taken for those of all. */
const IGNORES_CASE = /\(\?[a-zA-Z-]*i/;
/** The last character that has another case. The engine looks at each one of a range for its other cases. */
const LAST_FOLDED = 0x1e943;
/** So many of them take the time of one instruction. */
const FOLDED_PER_INSTRUCTION = 16;
/** Sizes are not counted beyond this: every limit is exceeded. */
const HUGE = 1e9;

/**
 * Estimates an upper bound of the program of an RE2 expression: instructions and ranges of characters, with repetitions
 * written out. Takes time linear in the pattern, without compiling it. A malformed pattern has some size, too.
 */
export function estimatePatternSize(pattern: string): number {
  return BASE_SIZE + new SizeReader(pattern).read();
}

const BACKSLASH = 0x5c;
/** An escape of a character by its number; those in octal digits are below the first that is folded but one. */
const CODE_POINT = /\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,8})\})/y;

/** Returns what a range of characters takes besides an instruction if its other cases are added. */
function foldedSize(low: number, high: number): number {
  const characters = Math.min(high, LAST_FOLDED) - low;
  return Math.max(0, Math.ceil(characters / FOLDED_PER_INSTRUCTION));
}

/** The sizes of a group whose end has not been reached. */
interface OpenGroup {
  /** Of everything but the last atom. */
  sum: number;
  /** Of the last atom, which a repetition would repeat. */
  last: number;
}

class SizeReader {
  private position = 0;
  private group: OpenGroup = { sum: 0, last: 0 };
  private readonly outer: OpenGroup[] = [];
  private readonly ignoresCase: boolean;

  constructor(private readonly pattern: string) {
    this.ignoresCase = IGNORES_CASE.test(pattern);
  }

  read(): number {
    while (this.position < this.pattern.length) this.readNext(this.take());
    while (this.outer.length > 0) this.close();
    return this.group.sum + this.group.last;
  }

  private readNext(character: string): void {
    switch (character) {
      case '(':
        this.outer.push(this.group);
        this.group = { sum: 0, last: 0 };
        break;
      case ')':
        this.close();
        break;
      case '[':
        this.atom(this.readClass());
        break;
      case '\\':
        this.readEscape();
        break;
      case '*':
      case '+':
      case '?':
        this.group.last += 2;
        break;
      case '{':
        this.readRepeat();
        break;
      default:
        // A literal, `.`, `^` or `$`; `|` takes an instruction as well.
        this.atom(character === '.' ? 3 : 1);
    }
  }

  private take(): string {
    return this.pattern.charAt(this.position++);
  }

  private atom(size: number): void {
    this.group.sum += this.group.last;
    this.group.last = size;
  }

  /** Ends a group, which is an atom of the one around it: two more instructions if it captures. */
  private close(): void {
    const size = this.group.sum + this.group.last + 2;
    this.group = this.outer.pop() ?? { sum: 0, last: 0 };
    this.atom(Math.min(size, HUGE));
  }

  /** Up to `max` copies, of which those beyond `min` are optional: one more instruction each. */
  private readRepeat(): void {
    REPEAT.lastIndex = this.position - 1;
    const [repeat, min, comma, max] = REPEAT.exec(this.pattern) ?? [];
    if (repeat === undefined) {
      this.atom(1);
      return;
    }
    this.position += repeat.length - 1;
    const copies = comma !== undefined && max === undefined ? Number(min) + 1 : Number(max ?? min);
    this.group.last = Math.min(this.group.last * Math.max(copies, 1) + copies, HUGE);
  }

  private readEscape(): void {
    const kind = this.take();
    if (kind === 'Q') {
      const end = this.pattern.indexOf('\\E', this.position);
      const quoted = (end === -1 ? this.pattern.length : end) - this.position;
      for (let i = 0; i < quoted; i++) this.atom(1);
      this.position += quoted + 2;
      return;
    }
    this.atom(1 + this.sizeOfEscape(kind));
  }

  /** The ranges of an escape, behind its backslash and first character. */
  private sizeOfEscape(kind: string): number {
    if (kind === 'p' || kind === 'P') {
      // The name is in braces or a single letter.
      if (!this.skipBraces()) this.position++;
      return UNICODE_CLASS_SIZE;
    }
    if (kind === 'x') this.skipBraces();
    return PERL_CLASSES.includes(kind) ? PERL_CLASS_SIZE : 1;
  }

  /** @returns whether there was something in braces. */
  private skipBraces(): boolean {
    if (this.pattern.charAt(this.position) !== '{') return false;
    const end = this.pattern.indexOf('}', this.position);
    this.position = end === -1 ? this.pattern.length : end + 1;
    return true;
  }

  /** Reads a class in brackets, in which a bracket that comes first stands for itself. */
  private readClass(): number {
    let size = 2;
    if (this.pattern.charAt(this.position) === '^') this.position++;
    const first = this.position;
    while (this.position < this.pattern.length) {
      const start = this.position;
      const character = this.take();
      if (character === ']' && start > first) return size;
      if (character === '\\') size += this.sizeOfEscape(this.take());
      else if (character === '[' && this.pattern.charAt(this.position) === ':') {
        size += this.skipNamedClass();
      } else size++;
      if (this.ignoresCase && this.pattern.charAt(this.position) === '-') {
        size += foldedSize(this.codePointAt(start), this.codePointAt(this.position + 1));
      }
    }
    return size;
  }

  /** Returns the character of a class at a position, which may be an escape; 0 for one that is short. */
  private codePointAt(position: number): number {
    const code = this.pattern.codePointAt(position) ?? 0;
    if (code !== BACKSLASH) return code;
    CODE_POINT.lastIndex = position;
    const [, digits, braced] = CODE_POINT.exec(this.pattern) ?? [];
    return parseInt(braced ?? digits ?? '0', 16);
  }

  /** Skips `:alpha:]`, if that is what follows. */
  private skipNamedClass(): number {
    const end = this.pattern.indexOf(':]', this.position + 1);
    if (end === -1) return 1;
    const isName = /^\^?[a-z]*$/.test(this.pattern.slice(this.position + 1, end));
    if (isName) this.position = end + 2;
    return PERL_CLASS_SIZE;
  }
}
