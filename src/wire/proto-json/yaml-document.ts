import {
  CST,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  stringify,
} from 'yaml';
import { MAX_JSON_DEPTH } from '../../util/bounded-json';
import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import type { PathSegment } from './json-problem';
import { composeInSteps } from './yaml-pieces';
import { MAX_YAML_PROBLEMS, YamlLimitError, type YamlProblem, ValueReader } from './yaml-values';

/** A place in a text file; both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A syntax error of a YAML text. */
export interface YamlMistake {
  readonly position: TextPosition;
  readonly reason: string;
}

/** Writes a JSON value as YAML, without anchors or folded lines. */
export function formatYaml(value: unknown): string {
  return stringify(value, {
    aliasDuplicateObjects: false,
    lineWidth: 0,
    // A text that needs escapes stays in one line.
    doubleQuotedMinMultiLineLength: Infinity,
  });
}

/** A YAML or JSON text with the position of each value. */
export class YamlDocument {
  private constructor(
    private readonly contents: unknown,
    /** The node that an alias stands for. */
    private readonly targets: ReadonlyMap<unknown, unknown>,
    private readonly lines: LineCounter,
    /** The value of the text, as `JSON.parse` would return it; undefined after mistakes. */
    readonly value: unknown,
    readonly mistakes: readonly YamlMistake[],
  ) {}

  /** Parses a text. Anchors, aliases and merge keys (`<<`) are supported. */
  static parse(text: string): YamlDocument {
    return runSteps(YamlDocument.parseInSteps(text));
  }

  /** Does the same as `parse` in steps. */
  static *parseInSteps(text: string): Steps<YamlDocument> {
    const lines = new LineCounter();
    const reader = new ValueReader();
    try {
      const tokens = yield* readTokens(text, lines);
      const { document, problems } = yield* composeInSteps(tokens, text.length);
      const { contents } = document;
      const value = problems.length > 0 ? undefined : yield* reader.read(contents);
      const mistakes = describe([...problems, ...reader.problems], lines);
      return new YamlDocument(contents, reader.targets, lines, value, mistakes);
    } catch (error) {
      if (!(error instanceof YamlLimitError)) throw error;
      const mistakes = describe([{ pos: [error.offset], message: error.message }], lines);
      return new YamlDocument(undefined, reader.targets, lines, undefined, mistakes);
    }
  }

  /**
   * Returns the position of the value at a path: its key, or its start in a list; for a missing value, that of the last
   * existing step. Keys may be in lowerCamelCase.
   */
  locate(path: readonly PathSegment[]): TextPosition {
    let node = this.contents;
    let offset = startOf(node) ?? 0;
    for (const segment of path) {
      const step = this.step(node, segment);
      if (step === undefined) break;
      offset = step.offset ?? offset;
      node = step.node;
    }
    return positionAt(this.lines, offset);
  }

  private step(from: unknown, segment: PathSegment): Step | undefined {
    const node = isAlias(from) ? this.targets.get(from) : from;
    if (isSeq(node) && typeof segment === 'number') {
      const item = node.items[segment];
      return item === undefined ? undefined : { node: item, offset: startOf(item) };
    }
    if (!isMap(node)) return undefined;
    const spellings = new Set([String(segment), toCamelCase(String(segment))]);
    const pair = node.items.find(({ key }) => isScalar(key) && spellings.has(String(key.value)));
    return pair && { node: pair.value, offset: startOf(pair.key) };
  }
}

/** @returns the first mistakes, in the order of the text. */
function describe(problems: readonly YamlProblem[], lines: LineCounter): readonly YamlMistake[] {
  return [...problems]
    .sort((a, b) => a.pos[0] - b.pos[0])
    .slice(0, MAX_YAML_PROBLEMS)
    .map(({ pos: [offset], message }) => ({
      position: positionAt(lines, offset),
      reason: message,
    }));
}

/** Characters of a YAML text. Reading a line of it takes up to 30 microseconds, ten times as long as JSON. */
export const MAX_YAML_LENGTH = 2 * 2 ** 20;

/** Tokens of a YAML text, white space included: about 100,000 lines. */
const MAX_YAML_TOKENS = 500_000;

/** Collections of a YAML text that are open at a time, some with an entry for their item: one or two for a level. */
const MAX_OPEN = 2 * MAX_JSON_DEPTH;

const USE_JSON = 'JSON may be longer';

/** Characters of one scalar as it is written. A longer one would take too long for one step. */
const MAX_SCALAR_LENGTH = 2 ** 17;

/** Tokens in a row that are no values, such as comments: they are composed in one step. */
const MAX_TOKENS_BESIDE = 10_000;

/** Items of a collection in brackets: its parser ends it in one step. */
const MAX_BRACKET_ITEMS = 20_000;

/** @throws YamlLimitError for text that exceeds a bound. */
function* readTokens(text: string, lines: LineCounter): Steps<readonly CST.Token[]> {
  lines.addNewLine(0);
  if (text.length > MAX_YAML_LENGTH) {
    throw new YamlLimitError(0, `more than ${MAX_YAML_LENGTH} characters of YAML; ${USE_JSON}`);
  }
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  const bounds = new TokenBounds(parser);
  for (const lexeme of new Lexer().lex(text)) {
    bounds.check(lexeme);
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (bounds.count % STEP_SIZE === 0) yield;
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

const besideValues = new Set([
  'space',
  'comment',
  'newline',
  'comma',
  'anchor',
  'tag',
  'explicit-key-ind',
  'map-value-ind',
]);

/** Bounds what the steps after the lexer do at once. */
class TokenBounds {
  /** Tokens of the text. */
  count = 0;
  private beside = 0;

  constructor(private readonly parser: Parser) {}

  /** @throws YamlLimitError if this token is one too many. */
  check(lexeme: string): void {
    const { stack } = this.parser;
    if (stack.length > MAX_OPEN) this.fail(`nested more than ${MAX_JSON_DEPTH} levels deep`);
    if (++this.count > MAX_YAML_TOKENS) {
      this.fail(`more than ${MAX_YAML_TOKENS} tokens of YAML; ${USE_JSON}`);
    }
    if (lexeme.length > MAX_SCALAR_LENGTH) {
      this.fail(`more than ${MAX_SCALAR_LENGTH} characters in one value or comment; ${USE_JSON}`);
    }
    this.beside = besideValues.has(CST.tokenType(lexeme) ?? '') ? this.beside + 1 : 0;
    if (this.beside > MAX_TOKENS_BESIDE) {
      this.fail(`more than ${MAX_TOKENS_BESIDE} comments, spaces and the like in a row`);
    }
    const top = stack.at(-1);
    if (top?.type === 'flow-collection' && top.items.length > MAX_BRACKET_ITEMS) {
      this.fail(`more than ${MAX_BRACKET_ITEMS} items in brackets; ${USE_JSON}`);
    }
  }

  private fail(reason: string): never {
    throw new YamlLimitError(this.parser.offset, reason);
  }
}

interface Step {
  readonly node: unknown;
  readonly offset: number | undefined;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function positionAt(lines: LineCounter, offset: number): TextPosition {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
