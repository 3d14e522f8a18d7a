import { quoteText } from '../../util/text';

// The grammar is that of the API server
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors).
const NAME = String.raw`[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?`;
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,251}[a-z0-9])?';
const PREFIX = String.raw`(?=[^/]{1,253}/)${LABEL}(?:\.${LABEL})*/`;

// The parts of a requirement, with white space between them.
const KEY = new RegExp(`(?:${PREFIX})?${NAME}`, 'y');
const SPACE = /\s*/y;
const NOT = /!(?!=)/y;
const EQUALS = /==?|!=/y;
const COMPARES = /[<>]/y;
const IN = /(?:in|notin)(?=[\s(])/y;
/** A list without values is refused; a value may be empty. */
const OPEN = /\((?!\s*\))/y;
const CLOSE = /\)/y;
const COMMA = /,/y;
const LABEL_VALUE = new RegExp(`(?:${NAME})?`, 'y');
const NUMBER = /-?\d+/y;

/**
 * Returns why a selector of labels, such as `xds=enabled,tier in (a,b)`, would be refused by the API server, with the text and the
 * place; `undefined` if it would not.
 */
export function findSelectorProblem(selector: string): string | undefined {
  if (selector.trim() === '') return 'an empty selector: leave it out to read all namespaces';
  const reader = new SelectorReader(selector);
  const expected = reader.read();
  if (expected === undefined) return undefined;
  const place = reader.offset;
  const rest = selector.slice(place);
  const found = rest === '' ? 'its end' : quoteText(rest, MAX_SHOWN);
  return `${quoteText(selector)} has ${found} at character ${place + 1}, where ${expected} is expected`;
}

/** Characters from the place of a mistake on. */
const MAX_SHOWN = 20;

/** Reads a selector from left to right, as far as it is one. */
class SelectorReader {
  offset = 0;

  constructor(private readonly text: string) {}

  /** @returns what is expected at the offset; undefined if all of the text is a selector. */
  read(): string | undefined {
    do {
      const expected = this.readRequirement();
      if (expected !== undefined) return expected;
    } while (this.take(COMMA));
    return this.offset === this.text.length ? undefined : 'a comma or the end';
  }

  private readRequirement(): string | undefined {
    const isNegated = this.take(NOT);
    if (!this.take(KEY)) return 'the key of a label';
    if (isNegated) return undefined;
    if (this.take(COMPARES)) return this.take(NUMBER) ? undefined : 'an integer';
    if (this.take(IN)) return this.readValues();
    if (this.take(EQUALS)) this.take(LABEL_VALUE);
    return undefined;
  }

  private readValues(): string | undefined {
    if (!this.take(OPEN)) return 'a list of values in parentheses';
    do this.take(LABEL_VALUE);
    while (this.take(COMMA));
    return this.take(CLOSE) ? undefined : 'a comma or a closing parenthesis';
  }

  /** Continues after a part and the white space behind it. @returns whether the part is there. */
  private take(part: RegExp): boolean {
    this.skip(SPACE);
    const isThere = this.skip(part);
    if (isThere) this.skip(SPACE);
    return isThere;
  }

  private skip(part: RegExp): boolean {
    part.lastIndex = this.offset;
    const isThere = part.test(this.text);
    if (isThere) this.offset = part.lastIndex;
    return isThere;
  }
}
