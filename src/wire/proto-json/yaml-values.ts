import { isAlias, isMap, isNode, isScalar, isSeq, type Alias, type Pair } from 'yaml';
import { setMember } from '../../util/bounded-json';
import { isArray, isObject } from '../../util/json-fields';
import { MAX_JSON_MEMBERS, MAX_JSON_VALUES } from '../../util/limits';
import { MAX_VIOLATION_TEXTS } from '../../util/violations';

/** A value that aliases may stand for. */
interface Anchored {
  readonly node: unknown;
  readonly value: unknown;
  /** Values in it, with itself; 0 before its end. */
  readonly size: number;
}

/** Reads the values of a document as `JSON.parse` would return them. What aliases stand for is one value, however many there are. */
export class ValueReader {
  readonly problems: YamlProblem[] = [];
  /** What each alias stands for. */
  readonly targets = new Map<Alias, unknown>();
  private readonly anchors = new Map<string, Anchored>();
  private count = 0;

  /**
   * Reads a node and what is in it.
   * @throws YamlLimitError for more values than there may be.
   */
  read(node: unknown): unknown {
    if (!isMap(node) && !isSeq(node)) return this.readSimple(node);
    const before = this.count;
    const value: Record<string, unknown> | unknown[] = isMap(node) ? {} : [];
    this.add(1, node);
    if (node.anchor !== undefined) this.anchors.set(node.anchor, { node, value, size: 0 });
    if (isArray(value)) for (const item of node.items) value.push(this.read(item));
    else if (isMap(node)) this.readMembers(value, node.items);
    if (node.anchor !== undefined) {
      this.anchors.set(node.anchor, { node, value, size: this.count - before });
    }
    return value;
  }

  private readMembers(into: Record<string, unknown>, pairs: readonly Pair[]): void {
    const keys = new Set<unknown>();
    let count = 0;
    for (const { key, value } of pairs) {
      if (this.problems.length > MAX_VIOLATION_TEXTS) return;
      const name = this.readSimple(key);
      const json = this.read(value);
      if (typeof name === 'symbol') {
        count += this.merge(into, json, key);
      } else {
        if (keys.has(name)) this.addProblem(key, 'Map keys must be unique');
        keys.add(name);
        count++;
        setMember(into, nameOf(name), json);
      }
      if (count > MAX_JSON_MEMBERS) {
        throw new YamlLimitError(offsetOf(key), `a mapping of more than ${MAX_JSON_MEMBERS} keys`);
      }
    }
  }

  /** Adds the members that an object does not have, for the key `<<`. @returns how many. */
  private merge(into: Record<string, unknown>, json: unknown, key: unknown): number {
    let count = 0;
    for (const source of isArray(json) ? json : [json]) {
      if (!isObject(source)) {
        this.addProblem(key, 'Merge sources must be maps or map aliases');
        continue;
      }
      for (const [name, value] of Object.entries(source)) {
        if (Object.hasOwn(into, name)) continue;
        setMember(into, name, value);
        count++;
      }
    }
    return count;
  }

  /** Reads a scalar, or an alias. */
  private readSimple(node: unknown): unknown {
    if (isAlias(node)) return this.resolve(node);
    this.add(1, node);
    if (node === null) return null;
    if (!isScalar(node)) {
      this.addProblem(node, 'a mapping or a list in the place of a key');
      return undefined;
    }
    const { anchor, value } = node;
    if (anchor !== undefined) this.anchors.set(anchor, { node, value, size: 1 });
    return value;
  }

  private resolve(alias: Alias): unknown {
    const anchored = this.anchors.get(alias.source);
    if (anchored === undefined || anchored.size === 0) {
      const reason =
        anchored === undefined
          ? 'the anchor must be set before the alias'
          : 'it is in its own value';
      this.addProblem(alias, `Unresolved alias (${reason}): ${alias.source}`);
      return undefined;
    }
    this.add(anchored.size, alias);
    this.targets.set(alias, anchored.node);
    return anchored.value;
  }

  private add(values: number, node: unknown): void {
    this.count += values;
    if (this.count > MAX_JSON_VALUES) {
      const reason = `more than ${MAX_JSON_VALUES} values, those that aliases stand for included`;
      throw new YamlLimitError(offsetOf(node), reason);
    }
  }

  private addProblem(node: unknown, message: string): void {
    this.problems.push({ pos: [offsetOf(node)], message });
  }
}

function offsetOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? 0;
}

/** Returns the name of the member of a key. */
function nameOf(key: unknown): string {
  if (typeof key === 'string') return key;
  return key === null || key === undefined ? '' : JSON.stringify(key);
}

/** A mistake, in the form of the parser. */
export interface YamlProblem {
  readonly pos: readonly [offset: number, ...others: number[]];
  readonly message: string;
}

/** Thrown for a text that exceeds a bound, which ends the reading. */
export class YamlLimitError extends Error {
  constructor(
    readonly offset: number,
    reason: string,
  ) {
    super(reason);
  }
}
