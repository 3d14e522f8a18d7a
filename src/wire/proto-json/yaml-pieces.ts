import { Composer, Document, isCollection, isPair, type CST, type Schema } from 'yaml';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { MAX_YAML_PROBLEMS, type YamlProblem } from './yaml-values';

// The parser would compare each key of a mapping with each other one.
const OPTIONS = { merge: true, uniqueKeys: false } as const;

type CollectionToken = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;
type ItemToken = CollectionToken['items'][number];

/** A document with its mistakes. */
export interface ComposedYaml {
  readonly document: Document;
  readonly problems: readonly YamlProblem[];
}

/**
 * Composes the first document of a text from the tokens of its parser, in steps. The composer of the library is recursive and
 * takes one step: it is given a large collection without its items, and then some items at a time as documents of their own,
 * whose nodes are put into the first one.
 */
export function* composeInSteps(tokens: readonly CST.Token[], length: number): Steps<ComposedYaml> {
  const composer = new Composer(OPTIONS);
  const documents: Document[] = [];
  const problems: YamlProblem[] = [];
  let first: CST.Document | undefined;
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'document') {
      for (const next of composer.next(token)) documents.push(next);
    } else if (first === undefined) {
      first = token;
      for (const next of composer.next(withoutLarge(token))) documents.push(next);
    } else {
      const message = 'expected the end of the file after one document';
      problems.push({ pos: [token.offset], message });
      break;
    }
    if (index % STEP_SIZE === 0) yield;
  }
  for (const last of composer.end(true, length)) documents.push(last);
  const [document = new Document(null, OPTIONS)] = documents;
  for (const error of document.errors) problems.push(error);
  const pieces = new Pieces(document.schema, problems);
  yield* pieces.fill(document.contents, first?.value);
  return { document, problems };
}

class Pieces {
  constructor(
    private readonly schema: Schema,
    private readonly problems: YamlProblem[],
  ) {}

  /** Composes the items of a collection that was composed without them; does nothing for another value. */
  *fill(node: unknown, token: CST.Token | null | undefined): Steps<void> {
    if (!isLarge(token)) return;
    if (!isCollection(node)) {
      this.problems.push({ pos: [token.offset], message: 'a large collection with such a tag' });
      return;
    }
    const nodes: unknown[] = node.items;
    let piece: ItemToken[] = [];
    let size = 0;
    for (const item of token.items) {
      if (this.problems.length > MAX_YAML_PROBLEMS) return;
      const itemSize = sizeOfItem(item, PIECE_SIZE);
      if (size + itemSize > PIECE_SIZE) {
        for (const each of this.compose(token, piece)) nodes.push(each);
        yield;
        piece = [];
        size = 0;
      }
      if (itemSize <= PIECE_SIZE) {
        piece.push(item);
        size += itemSize;
      } else {
        const [composed] = this.compose(token, [withoutLarge(item)]);
        nodes.push(composed);
        yield;
        yield* this.fill(valueOf(composed, item), item.value);
      }
    }
    for (const each of this.compose(token, piece)) nodes.push(each);
  }

  /** Composes some items of a collection. */
  private compose(token: CollectionToken, items: readonly ItemToken[]): readonly unknown[] {
    const [item] = items;
    if (item === undefined) return [];
    const offset = offsetOf(item) ?? token.offset;
    const isFirst = item.start === token.items[0]?.start;
    const before = token.type === 'flow-collection' && !isFirst ? [emptyItem(token, offset)] : [];
    const value = { ...token, offset, items: [...before, ...items] };
    // What follows the collection is composed with the collection itself.
    if (value.type === 'flow-collection') value.end = [endOf(value, offset)];
    const composer = new Composer({ ...OPTIONS, schema: this.schema });
    // eslint-disable-next-line no-restricted-syntax -- the items are of the kind of the token
    const root = value as CST.Token;
    const documents = [
      ...composer.next({ type: 'document', offset, start: [], value: root }),
      ...composer.end(),
    ];
    const [document] = documents;
    for (const error of document?.errors ?? []) this.problems.push(error);
    const contents: unknown = document?.contents;
    return isCollection(contents) ? contents.items.slice(before.length) : [];
  }
}

/** Tokens that are composed in one step: some hundred microseconds. */
const PIECE_SIZE = STEP_SIZE;

function isCollectionToken(token: CST.Token | null | undefined): token is CollectionToken {
  return (
    token?.type === 'block-map' || token?.type === 'block-seq' || token?.type === 'flow-collection'
  );
}

function isLarge(token: CST.Token | null | undefined): token is CollectionToken {
  return isCollectionToken(token) && sizeOf(token, PIECE_SIZE) > PIECE_SIZE;
}

/** Returns the number of tokens in a value; of one with more than `max`, a number that is larger than that. */
function sizeOf(token: CST.Token | null | undefined, max: number): number {
  if (!token) return 0;
  let size = 1;
  if (!isCollectionToken(token)) return size;
  for (const item of token.items) {
    size += sizeOfItem(item, max - size);
    if (size > max) break;
  }
  return size;
}

function sizeOfItem({ start, key, sep, value }: ItemToken, max: number): number {
  const size = 1 + start.length + (sep?.length ?? 0) + sizeOf(key, max);
  return size > max ? size : size + sizeOf(value, max - size);
}

/** Returns an item, or a document, with large collections in it empty. */
function withoutLarge<T extends ItemToken | CST.Document>(item: T): T {
  const copy = { ...item };
  if ('key' in copy && isLarge(copy.key)) copy.key = { ...copy.key, items: [] };
  if (isLarge(copy.value)) copy.value = { ...copy.value, items: [] };
  return copy;
}

/** Returns the node of the value of an item. */
function valueOf(composed: unknown, { sep }: ItemToken): unknown {
  if (isPair(composed)) return composed.value;
  // `[a: b]` has a mapping of one pair.
  const [pair] = sep !== undefined && isCollection(composed) ? composed.items : [];
  return isPair(pair) ? pair.value : composed;
}

function offsetOf({ start, key, sep, value }: ItemToken): number | undefined {
  return (start[0] ?? key ?? sep?.[0] ?? value)?.offset;
}

/** Returns an item before one that starts with a comma. */
function emptyItem({ start, indent }: CST.FlowCollection, offset: number): ItemToken {
  const empty: CST.FlowScalar = { type: 'scalar', offset, indent, source: '' };
  return start.source === '{' ? { start: [], key: empty, sep: [] } : { start: [], value: empty };
}

/** Returns the end of a collection, whether or not it has one. */
function endOf({ start, indent }: CST.FlowCollection, offset: number): CST.SourceToken {
  return start.source === '{'
    ? { type: 'flow-map-end', offset, indent, source: '}' }
    : { type: 'flow-seq-end', offset, indent, source: ']' };
}
