import { isArray, isObject } from './json-fields';
import { runSteps, type Steps } from './steps';

/** Bounds on JSON text, which are checked while it is parsed. */
export interface JsonLimits {
  /** Characters of the text. */
  readonly maxLength: number;
  /** Objects, lists, elements and members. */
  readonly maxValues: number;
}

/** Levels of lists and objects. Most of what reads JSON is recursive. */
export const MAX_JSON_DEPTH = 200;

/** Members of one object: larger ones take many times longer than lists of the same length. */
export const MAX_JSON_MEMBERS = 10_000;

/** Characters of one string, number or run of white space; escape sequences count as they are written. */
const MAX_JSON_TOKEN_LENGTH = 2 ** 20;

/** Thrown for text that exceeds a bound. The message names the bound, and has nothing of the text. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
}

/**
 * Parses JSON text as `JSON.parse` does, within bounds.
 *
 * @throws JsonLimitError for text that exceeds a bound, and SyntaxError.
 */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  return runSteps(parseJsonInSteps(text, limits));
}

/**
 * Parses JSON text as `parseBoundedJson` does, but for objects in which a member is there twice: `JSON.parse` takes the last one,
 * and one that denies would be ignored.
 *
 * @throws also SyntaxError for a member that is there twice.
 */
export function parseUnambiguousJson(text: string, limits: JsonLimits): unknown {
  const json = parseBoundedJson(text, limits);
  if (countNames(text) !== countMembers(json)) {
    throw new SyntaxError('a member of an object is there more than once');
  }
  return json;
}

/** A string, and the colon after one that is a name. */
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

function countNames(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(STRINGS)) if (colon !== undefined) count++;
  return count;
}

function countMembers(json: unknown): number {
  if (isArray(json)) return json.reduce<number>((sum, each) => sum + countMembers(each), 0);
  if (!isObject(json)) return 0;
  const values = Object.values(json);
  return values.reduce<number>((sum, each) => sum + countMembers(each), values.length);
}

/**
 * Parses JSON text within bounds, in steps, in time that is linear in its length. Nothing beyond a bound is parsed.
 *
 * @throws JsonLimitError for text that exceeds a bound, and SyntaxError.
 */
export function* parseJsonInSteps(text: string, limits: JsonLimits): Steps<unknown> {
  if (text.length > limits.maxLength) {
    throw new JsonLimitError(`more than ${limits.maxLength} characters`);
  }
  return yield* new PieceParser(text, limits.maxValues).run();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LIST_START = 0x5b;
const LIST_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;

/** Characters that are scanned in one step. A list or an object that is shorter is parsed together with its siblings. */
const PIECE_LENGTH = 2 ** 14;

/** A list or object that was put together from pieces, and where it is. */
interface LargeValue {
  readonly value: unknown;
  readonly start: number;
  readonly end: number;
}

/** A list or an object whose end has not been scanned, or the text itself. */
class Frame {
  /** The elements or members that were parsed before the end. */
  readonly list: unknown[] = [];
  readonly object: Record<string, unknown> = {};
  /** Whether there are any in `list` or `object`. */
  hasPieces = false;
  /** Number of items before the one that is being scanned. */
  itemCount = 0;
  /** Where that one starts. */
  itemStart: number;
  /** Where the first item starts that has not been parsed. */
  pieceStart: number;
  /** The value of the item that is being scanned, if it is large. */
  large: LargeValue | undefined;

  /** @param start Where the first item starts. */
  constructor(
    readonly kind: 'text' | 'list' | 'object',
    readonly start: number,
  ) {
    this.itemStart = start;
    this.pieceStart = start;
  }
}

/**
 * Finds the lists and objects of a text by their brackets, and leaves what is in them to `JSON.parse`, in pieces of some
 * {@link PIECE_LENGTH}. A list or an object that is longer is put together from pieces.
 */
class PieceParser {
  private at = 0;
  private valueCount = 0;
  /** Where the last bracket, comma or string ended. */
  private tokenEnd = 0;
  private readonly open: Frame[] = [];
  private frame = new Frame('text', 0);

  constructor(
    private readonly text: string,
    private readonly maxValues: number,
  ) {}

  *run(): Steps<unknown> {
    const { length } = this.text;
    for (;;) {
      this.scan(Math.min(length, this.at + PIECE_LENGTH));
      if (this.at - this.tokenEnd > MAX_JSON_TOKEN_LENGTH) {
        throw new JsonLimitError(
          `more than ${MAX_JSON_TOKEN_LENGTH} characters in one number or space`,
        );
      }
      if (this.at >= length) return this.endText();
      yield;
    }
  }

  /** Scans to an offset, or to the end of the string that is there. */
  private scan(end: number): void {
    while (this.at < end) {
      const offset = this.at++;
      const code = this.text.charCodeAt(offset);
      if (this.readToken(code, offset)) this.tokenEnd = this.at;
    }
  }

  /** @returns whether the character is, or starts, a string, a bracket or a comma. */
  private readToken(code: number, offset: number): boolean {
    switch (code) {
      case QUOTE:
        this.skipString(offset);
        return true;
      case COMMA:
        this.endItem(offset);
        this.startItem();
        return true;
      case LIST_START:
        this.push('list');
        return true;
      case OBJECT_START:
        this.push('object');
        return true;
      case LIST_END:
        this.pop('list', offset);
        return true;
      case OBJECT_END:
        this.pop('object', offset);
        return true;
      default:
        return false;
    }
  }

  private skipString(start: number): void {
    const { text } = this;
    const limit = start + 1 + MAX_JSON_TOKEN_LENGTH;
    let end = start;
    do end = text.indexOf('"', end + 1);
    while (end >= 0 && end <= limit && isEscaped(text, end));
    if (end > limit || (end < 0 && text.length > limit)) {
      throw new JsonLimitError(`a string of more than ${MAX_JSON_TOKEN_LENGTH} characters`);
    }
    if (end < 0) throw new SyntaxError('a string without an end');
    this.at = end + 1;
  }

  private push(kind: 'list' | 'object'): void {
    if (this.open.length >= MAX_JSON_DEPTH) {
      throw new JsonLimitError(`nested more than ${MAX_JSON_DEPTH} levels deep`);
    }
    this.countValue();
    this.open.push(this.frame);
    this.frame = new Frame(kind, this.at);
  }

  private startItem(): void {
    const { frame } = this;
    this.countValue();
    frame.itemStart = this.at;
    if (frame.kind === 'object' && frame.itemCount >= MAX_JSON_MEMBERS) {
      throw new JsonLimitError(`an object of more than ${MAX_JSON_MEMBERS} members`);
    }
  }

  private countValue(): void {
    if (++this.valueCount > this.maxValues) {
      throw new JsonLimitError(`more than ${this.maxValues} values`);
    }
  }

  /** @param end Where the comma or the bracket after the item is. */
  private endItem(end: number): void {
    const { frame } = this;
    if (frame.kind === 'text') throw new SyntaxError('a comma beside the value');
    frame.itemCount++;
    const { large } = frame;
    if (large === undefined) {
      if (end - frame.pieceStart >= PIECE_LENGTH) this.parsePiece(end);
      return;
    }
    // The items before it end with a comma.
    if (frame.itemStart > frame.pieceStart) this.parsePiece(frame.itemStart - 1);
    this.add(large, end);
    frame.large = undefined;
    frame.pieceStart = end + 1;
  }

  /** Parses the items that have not been parsed. @param end Where the last one ends. */
  private parsePiece(end: number): void {
    const { frame, text } = this;
    const piece = text.slice(frame.pieceStart, end);
    if (isBlank(piece)) throw new SyntaxError('a value is missing');
    frame.pieceStart = end + 1;
    frame.hasPieces = true;
    if (frame.kind === 'list') append(frame.list, JSON.parse(`[${piece}]`));
    else assign(frame.object, JSON.parse(`{${piece}}`));
  }

  /** Adds the value of the item that is being scanned. @param itemEnd Where the item ends. */
  private add({ value, start, end }: LargeValue, itemEnd: number): void {
    const { frame, text } = this;
    const before = text.slice(frame.itemStart, start);
    if (!isBlank(text.slice(end, itemEnd))) throw new SyntaxError('text after a value');
    frame.hasPieces = true;
    if (frame.kind === 'object') {
      const named: unknown = JSON.parse(`{${before}[]}`);
      const [name = ''] = Object.keys(isObject(named) ? named : {});
      setMember(frame.object, name, value);
    } else if (isBlank(before)) {
      frame.list.push(value);
    } else {
      throw new SyntaxError('text before a value');
    }
  }

  /** @param end Where the closing bracket is. */
  private pop(kind: 'list' | 'object', end: number): void {
    const { frame } = this;
    const parent = this.open.pop();
    if (frame.kind !== kind || parent === undefined) {
      throw new SyntaxError('a bracket that does not match');
    }
    const isLarge =
      frame.hasPieces || frame.large !== undefined || end - frame.start >= PIECE_LENGTH;
    if (isLarge) {
      this.endFrame(frame, end);
      if (parent.large !== undefined) throw new SyntaxError('a comma is missing');
      const value = kind === 'list' ? frame.list : frame.object;
      parent.large = { value, start: frame.start - 1, end: this.at };
    }
    this.frame = parent;
  }

  private endFrame({ itemCount, large, start }: Frame, end: number): void {
    const isEmpty = itemCount === 0 && large === undefined && isBlank(this.text.slice(start, end));
    if (isEmpty) return;
    this.endItem(end);
    if (this.frame.pieceStart <= end) this.parsePiece(end);
  }

  private endText(): unknown {
    const { text, frame } = this;
    if (frame.kind !== 'text') throw new SyntaxError('a bracket is missing');
    const { large } = frame;
    if (large === undefined) return JSON.parse(text);
    if (!isBlank(text.slice(0, large.start)) || !isBlank(text.slice(large.end))) {
      throw new SyntaxError('text beside the value');
    }
    return large.value;
  }
}

/** Whether the number of backslashes before a quote is odd. */
function isEscaped(text: string, quote: number): boolean {
  let start = quote;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (quote - start) % 2 === 1;
}

function isBlank(text: string): boolean {
  return !/[^ \t\n\r]/.test(text);
}

function append(list: unknown[], more: unknown): void {
  for (const element of isArray(more) ? more : []) list.push(element);
}

function assign(object: Record<string, unknown>, more: unknown): void {
  for (const [name, value] of Object.entries(isObject(more) ? more : {})) {
    setMember(object, name, value);
  }
}

/** Sets a member of an object. An assignment to `__proto__` would not make a member of it. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}
