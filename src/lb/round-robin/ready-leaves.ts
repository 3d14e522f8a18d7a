import type { EndpointLeaf } from '../endpoint-leaf';

/**
 * The leaves that are READY, in no particular order. Adding and removing take constant time, whatever the
 * number of leaves.
 */
export class ReadyLeaves {
  private readonly list: EndpointLeaf[] = [];
  private readonly indexes = new Map<EndpointLeaf, number>();

  get size(): number {
    return this.list.length;
  }

  /** The leaf at an index from 0 up to, not including, the size. */
  at(index: number): EndpointLeaf | undefined {
    return this.list[index];
  }

  /** Does nothing if it is there already. */
  add(leaf: EndpointLeaf): void {
    if (this.indexes.has(leaf)) return;
    this.indexes.set(leaf, this.list.length);
    this.list.push(leaf);
  }

  /** Does nothing if it is not there. The last leaf takes its place. */
  remove(leaf: EndpointLeaf): void {
    const index = this.indexes.get(leaf);
    const last = this.list.at(-1);
    if (index === undefined || last === undefined) return;
    this.list[index] = last;
    this.indexes.set(last, index);
    this.list.pop();
    this.indexes.delete(leaf);
  }
}
