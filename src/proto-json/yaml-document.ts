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
  visit,
  Document,
  type CST,
} from 'yaml';
import { MAX_JSON_DEPTH, MAX_JSON_MEMBERS } from '../util/bounded-json';
import { errorMessage } from '../util/error-message';
import { runSteps, STEP_SIZE, type Steps } from '../util/steps';
import type { PathSegment } from './json-problem';

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
    ...{ aliasDuplicateObjects: false, lineWidth: 0 },
    // A text that needs escapes stays in one line.
    doubleQuotedMinMultiLineLength: Infinity,
  });
}

/** A YAML or JSON text with the position of each value. */
export class YamlDocument {
  private constructor(
    private readonly document: Document,
    private readonly lines: LineCounter,
    /** The value of the text, as `JSON.parse` would return it; undefined after syntax errors. */
    readonly value: unknown,
    readonly mistakes: readonly YamlMistake[],
  ) {}

  /** Parses a text. Anchors, aliases and merge keys (`<<`) are supported. */
  static parse(text: string): YamlDocument {
    return runSteps(YamlDocument.parseInSteps(text));
  }

  /** Does the same as `parse` in steps. Composing the values and converting them takes one step each. */
  static *parseInSteps(text: string): Steps<YamlDocument> {
    const lines = new LineCounter();
    const { document, mistakes } = yield* compose(text, lines);
    yield;
    if (mistakes.length > 0) return new YamlDocument(document, lines, undefined, mistakes);
    try {
      return new YamlDocument(document, lines, document.toJS(), []);
    } catch (error) {
      // An alias without its anchor, or aliases that expand too much.
      const mistake = { position: positionAt(lines, 0), reason: errorMessage(error) };
      return new YamlDocument(document, lines, undefined, [mistake]);
    }
  }

  /**
   * Returns the position of the value at a path: its key, or its start in a list; for a missing value, that of the last
   * existing step. Keys may be in lowerCamelCase.
   */
  locate(path: readonly PathSegment[]): TextPosition {
    let node: unknown = this.document.contents;
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
    const node = isAlias(from) ? from.resolve(this.document) : from;
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

/** A text with its mistakes. */
interface Composed {
  readonly document: Document;
  readonly mistakes: readonly YamlMistake[];
}

/** Reads the first document of a text. */
function* compose(text: string, lines: LineCounter): Steps<Composed> {
  // The parser would compare each key of a mapping with each other one.
  const options = { merge: true, uniqueKeys: false } as const;
  const composer = new Composer(options);
  try {
    const documents: Document[] = [];
    for (const token of yield* readTokens(text, lines)) {
      for (const next of composer.next(token)) documents.push(next);
      yield;
    }
    for (const last of composer.end(true, text.length)) documents.push(last);
    const [document = new Document(null, options), next] = documents;
    const mistakes = [...document.errors, ...findDuplicateKeys(document)].map(
      ({ pos: [offset], message }) => ({ position: positionAt(lines, offset), reason: message }),
    );
    if (next !== undefined) {
      const reason = 'expected the end of the file after one document';
      mistakes.push({ position: positionAt(lines, next.range?.[0] ?? 0), reason });
    }
    return { document, mistakes };
  } catch (error) {
    if (!(error instanceof YamlLimitError)) throw error;
    const mistake = { position: positionAt(lines, error.offset), reason: error.message };
    return { document: new Document(null, options), mistakes: [mistake] };
  }
}

/** Characters of a YAML text. Reading a line of it takes up to 30 microseconds, ten times as long as JSON. */
export const MAX_YAML_LENGTH = 2 * 2 ** 20;

/** Tokens of a YAML text, white space included: about 100,000 lines. */
const MAX_YAML_TOKENS = 500_000;

/** Collections of a YAML text that are open at a time, some with an entry for their item: one or two for a level. */
const MAX_OPEN = 2 * MAX_JSON_DEPTH;

const USE_JSON = 'JSON may be longer';

class YamlLimitError extends Error {
  constructor(
    readonly offset: number,
    reason: string,
  ) {
    super(reason);
  }
}

/** @throws YamlLimitError for text that exceeds a bound. */
function* readTokens(text: string, lines: LineCounter): Steps<readonly CST.Token[]> {
  lines.addNewLine(0);
  if (text.length > MAX_YAML_LENGTH) {
    throw new YamlLimitError(0, `more than ${MAX_YAML_LENGTH} characters of YAML; ${USE_JSON}`);
  }
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    const { stack, offset } = parser;
    if (stack.length > MAX_OPEN) {
      throw new YamlLimitError(offset, `nested more than ${MAX_JSON_DEPTH} levels deep`);
    }
    if (++count > MAX_YAML_TOKENS) {
      throw new YamlLimitError(offset, `more than ${MAX_YAML_TOKENS} tokens of YAML; ${USE_JSON}`);
    }
    if (count % STEP_SIZE === 0) yield;
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

/** Finds the keys that a mapping has twice, and mappings with too many keys. */
function findDuplicateKeys(document: Document): YamlProblem[] {
  const found: YamlProblem[] = [];
  visit(document, {
    Map(_key, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [offset = 0] = key.range ?? [];
        if (keys.has(key.value)) found.push({ pos: [offset], message: 'Map keys must be unique' });
        keys.add(key.value);
        if (keys.size === MAX_JSON_MEMBERS + 1) {
          found.push({ pos: [offset], message: `a mapping of more than ${MAX_JSON_MEMBERS} keys` });
        }
      }
    },
  });
  return found;
}

/** A mistake, in the form of the parser. */
interface YamlProblem {
  readonly pos: readonly [offset: number, ...others: number[]];
  readonly message: string;
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
