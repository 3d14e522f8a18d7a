/** A token of JavaScript, TypeScript or JSON. */
export interface Token {
  /** A string is `'…'`, `"…"` or a template without substitutions; `other` are numbers, regular expressions and templates. */
  readonly kind: 'string' | 'name' | 'punctuator' | 'comment' | 'other';
  readonly text: string;
  /** Index of its first character. */
  readonly start: number;
}

const SPACE = /\s+/y;
const COMMENT = /\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?(?:\*\/|$)/y;
const NAME = /[$#\p{L}_][$\p{L}\p{N}\p{M}_]*/uy;
const NUMBER = /\d[\w.]*/y;
const STRING = /'(?:[^'\\\n\r]|\\[^])*'|"(?:[^"\\\n\r]|\\[^])*"/y;
const REGEX = /\/(?![*/])(?:[^\\/[\n\r]|\\.|\[(?:[^\]\\\n\r]|\\.)*\])+\/\w*/y;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;
const ARROW = /=>/y;

/** Words after which `/` begins a regular expression. */
const BEFORE_REGEX: ReadonlySet<string> = new Set(
  'await case delete do else in instanceof new of return throw typeof void yield'.split(' '),
);

/**
 * Splits a source into tokens. It is not a parser: it finds where strings, comments, templates and regular expressions begin
 * and end, which is all that finding a module's name takes. What it cannot place, such as an apostrophe in the text of JSX,
 * it passes over as a character, so that an error ends with its line.
 */
export function tokenize(source: string): readonly Token[] {
  return new Tokenizer(source).run();
}

class Tokenizer {
  private readonly tokens: Token[] = [];
  private at = 0;
  /** The last token that is not a comment. */
  private previous: Token | undefined;
  /** Open braces inside of each substitution of a template, the innermost one last. */
  private readonly substitutions: number[] = [];

  constructor(private readonly source: string) {}

  run(): readonly Token[] {
    while (this.at < this.source.length) {
      if (this.match(SPACE) !== '') continue;
      if (this.take('comment', COMMENT) || this.take('name', NAME) || this.take('other', NUMBER))
        continue;
      if (this.take('string', STRING)) continue;
      if (this.canBeRegex() && this.take('other', REGEX)) continue;
      if (this.take('punctuator', ARROW)) continue;
      this.takeCharacter();
    }
    return this.tokens;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const text = pattern.exec(this.source)?.[0] ?? '';
    this.at += text.length;
    return text;
  }

  private take(kind: Token['kind'], pattern: RegExp): boolean {
    const start = this.at;
    const text = this.match(pattern);
    if (text === '') return false;
    this.push({ kind, text, start });
    return true;
  }

  private push(token: Token): void {
    this.tokens.push(token);
    if (token.kind !== 'comment') this.previous = token;
  }

  /** Whether `/` begins a regular expression; after `<` it is a closing tag of JSX. */
  private canBeRegex(): boolean {
    if (this.previous === undefined) return true;
    const { kind, text } = this.previous;
    if (kind === 'name') return BEFORE_REGEX.has(text);
    return kind === 'punctuator' && !/[)\]<]/.test(text);
  }

  private takeCharacter(): void {
    const start = this.at++;
    const text = this.source.charAt(start);
    const open = this.substitutions.length - 1;
    if (text === '`') return this.takeTemplate(start);
    if (text === '{' && open >= 0) this.substitutions[open] = (this.substitutions[open] ?? 0) + 1;
    if (text === '}' && open >= 0) {
      const depth = this.substitutions[open] ?? 0;
      if (depth === 0) {
        this.substitutions.pop();
        return this.takeTemplate(start);
      }
      this.substitutions[open] = depth - 1;
    }
    this.push({ kind: 'punctuator', text, start });
  }

  /** Takes a part of a template, from a backtick or the end of a substitution to the next one or the end. */
  private takeTemplate(start: number): void {
    this.match(TEMPLATE_TEXT);
    const ends = this.source.charAt(this.at) !== '$';
    this.at += ends ? 1 : 2;
    if (!ends) this.substitutions.push(0);
    const text = this.source.slice(start, this.at);
    const isWhole = ends && text.startsWith('`');
    // What follows a substitution's beginning is an operand, so `/` begins a regular expression there.
    this.push({ kind: ends ? (isWhole ? 'string' : 'other') : 'punctuator', text, start });
  }
}
