import {
  Composer,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  stringify,
  type CST,
} from 'yaml';
import { MAX_JSON_DEPTH, MAX_YAML_LENGTH, MAX_YAML_TOKENS } from '../../util/limits';
import type { PathSegment } from './json-problem';
import { MAX_VIOLATION_TEXTS } from '../../util/violations';
import { YamlLimitError, type YamlProblem, ValueReader } from './yaml-values';

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
    const lines = new LineCounter();
    const reader = new ValueReader();
    try {
      const { contents, problems } = compose(readTokens(text, lines), text.length);
      const value = problems.length > 0 ? undefined : reader.read(contents);
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
    .slice(0, MAX_VIOLATION_TEXTS)
    .map(({ pos: [offset], message }) => ({
      position: positionAt(lines, offset),
      reason: message,
    }));
}

/** Collections of a YAML text that are open at a time, some with an entry for their item: one or two for a level. */
const MAX_OPEN = 2 * MAX_JSON_DEPTH;

const USE_JSON = 'JSON may be longer';

/** @throws YamlLimitError for text that exceeds a bound. */
function readTokens(text: string, lines: LineCounter): readonly CST.Token[] {
  lines.addNewLine(0);
  if (text.length > MAX_YAML_LENGTH) {
    throw new YamlLimitError(0, `more than ${MAX_YAML_LENGTH} characters of YAML; ${USE_JSON}`);
  }
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (parser.stack.length > MAX_OPEN) {
      throw new YamlLimitError(parser.offset, `nested more than ${MAX_JSON_DEPTH} levels deep`);
    }
    if (++count > MAX_YAML_TOKENS) {
      const reason = `more than ${MAX_YAML_TOKENS} tokens of YAML; ${USE_JSON}`;
      throw new YamlLimitError(parser.offset, reason);
    }
    for (const token of parser.next(lexeme)) tokens.push(token);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/** The root of a document with its mistakes. */
interface ComposedYaml {
  readonly contents: unknown;
  readonly problems: readonly YamlProblem[];
}

/** Composes the first document of a text from the tokens of its parser. */
function compose(tokens: readonly CST.Token[], length: number): ComposedYaml {
  const [, second] = tokens.filter(({ type }) => type === 'document');
  const ofFirst = second === undefined ? tokens : tokens.slice(0, tokens.indexOf(second));
  // With unique keys, the composer would compare each key of a mapping with each other one.
  const composer = new Composer({ merge: true, uniqueKeys: false });
  const [document] = composer.compose(ofFirst, true, length);
  const problems: YamlProblem[] = [...(document?.errors ?? [])];
  if (second !== undefined) {
    const message = 'expected the end of the file after one document';
    problems.push({ pos: [second.offset], message });
  }
  return { contents: document?.contents, problems };
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
