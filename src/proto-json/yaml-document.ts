import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  type Document,
} from 'yaml';
import { errorMessage } from '../util/error-message';
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
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
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
    const lines = new LineCounter();
    const document = parseDocument(text, {
      lineCounter: lines,
      merge: true,
      prettyErrors: false,
      logLevel: 'error',
    });
    const mistakes = document.errors.map(({ code, pos, message }) => ({
      position: positionAt(lines, pos[0]),
      reason:
        code === 'MULTIPLE_DOCS' ? 'expected the end of the file after one document' : message,
    }));
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
