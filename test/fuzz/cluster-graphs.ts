import type { Random } from '../../src/util/random';

/** What a cluster is: the clusters that an aggregate names, a leaf with endpoints by EDS or DNS, or missing. */
export type ClusterSpec = readonly string[] | 'eds' | 'dns' | 'missing';

/** All clusters that a control plane has at one moment, and the clusters that the target uses. */
export interface ClusterGraph {
  /** In the routes. Never empty. */
  readonly roots: readonly string[];
  /** Of running calls. */
  readonly held: readonly string[];
  /** Nothing is said about a cluster that is not here: it is awaited. */
  readonly clusters: ReadonlyMap<string, ClusterSpec>;
}

const MAX_GRAPHS = 6;
const LEAVES = ['eds', 'eds', 'eds', 'dns', 'missing'] as const;
/** Names that mean something to JavaScript. */
const ODD_NAMES = ['constructor', '__proto__', 'toString'];

/** Makes up graphs of clusters, one after the other as a control plane would serve them. */
export class ClusterGraphs {
  constructor(private readonly random: Random) {}

  /** A sequence of graphs as text; see {@link parseGraphs}. */
  make(): string {
    let clusters = this.shape();
    const graphs: string[] = [];
    for (let left = 1 + this.below(MAX_GRAPHS); left > 0; left--) {
      graphs.push(this.print(clusters));
      clusters = this.change(clusters);
    }
    return graphs.join('\n\n');
  }

  private shape(): Map<string, ClusterSpec> {
    switch (this.below(4)) {
      case 0:
        return this.chain(10 + this.below(10));
      case 1:
        return this.layers(2 + this.below(16), 1 + this.below(5));
      case 2:
        return this.tree(1 + this.below(4), 1 + this.below(4));
      default:
        return this.anything(1 + this.below(60));
    }
  }

  /** About as long as a path may be, with ways around and perhaps without an end. */
  private chain(length: number): Map<string, ClusterSpec> {
    const clusters = new Map<string, ClusterSpec>();
    for (let index = 0; index < length; index++) {
      const next = [`n${index + 1}`];
      if (this.below(4) === 0) next.push(`n${this.below(length)}`);
      if (this.below(6) === 0) next.unshift(`n${this.below(length)}`);
      clusters.set(`n${index}`, next);
    }
    return clusters.set(`n${length}`, this.below(3) === 0 ? ['n0'] : 'eds');
  }

  /** Each cluster of a layer names all of the next: there are more paths than could be followed. */
  private layers(depth: number, width: number): Map<string, ClusterSpec> {
    const clusters = new Map<string, ClusterSpec>();
    const layer = (level: number) =>
      Array.from({ length: width }, (_, index) => `n${level * width + index}`);
    for (let level = 0; level < depth; level++) {
      for (const name of layer(level)) {
        clusters.set(name, level + 1 === depth ? 'eds' : layer(level + 1));
      }
    }
    return clusters;
  }

  private tree(depth: number, fanOut: number): Map<string, ClusterSpec> {
    const clusters = new Map<string, ClusterSpec>();
    let level = ['n0'];
    let count = 1;
    for (let left = depth; left > 0; left--) {
      const next: string[] = [];
      for (const name of level) {
        const children = Array.from({ length: fanOut }, () => `n${count++}`);
        clusters.set(name, children);
        next.push(...children);
      }
      level = next;
    }
    for (const name of level) clusters.set(name, this.leaf());
    return clusters;
  }

  private anything(size: number): Map<string, ClusterSpec> {
    const clusters = new Map<string, ClusterSpec>();
    for (let index = 0; index < size; index++) clusters.set(this.name(size), this.spec(size));
    return clusters;
  }

  /** The same with some clusters added, changed or no longer there. */
  private change(before: ReadonlyMap<string, ClusterSpec>): Map<string, ClusterSpec> {
    const clusters = new Map(before);
    for (let left = this.below(6); left > 0; left--) {
      const name = this.pick([...clusters.keys()]) ?? 'n0';
      const kind = this.below(4);
      if (kind === 0) clusters.set(name, 'missing');
      else if (kind === 1) clusters.set(this.name(before.size + 5), this.spec(before.size + 5));
      else clusters.set(name, this.spec(before.size));
    }
    return clusters;
  }

  private print(clusters: ReadonlyMap<string, ClusterSpec>): string {
    const names = [...clusters.keys()];
    const some = (count: number) => Array.from({ length: count }, () => this.pick(names) ?? 'n0');
    const lines = [
      ['roots', 'n0', ...some(this.below(3))].join(' '),
      ['held', ...some(this.below(4) === 0 ? 2 : 0)].join(' '),
    ];
    for (const [name, spec] of clusters) {
      lines.push(typeof spec === 'string' ? `${name} ${spec}` : [name, 'of', ...spec].join(' '));
    }
    return lines.join('\n');
  }

  private spec(size: number): ClusterSpec {
    if (this.below(2) === 0) return this.leaf();
    return Array.from({ length: this.below(7) }, () => this.name(size));
  }

  private leaf(): ClusterSpec {
    return this.pick(LEAVES) ?? 'eds';
  }

  /** Rarely one that nothing is said about. */
  private name(size: number): string {
    if (this.below(40) === 0) return this.pick(ODD_NAMES) ?? 'n0';
    return `n${this.below(size + (this.below(10) === 0 ? 3 : 0))}`;
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

/**
 * Reads a sequence of graphs. They are separated by empty lines; a graph has the lines `roots a b`, `held a`, and one
 * for each cluster: `a of b c`, `a eds`, `a dns` or `a missing`.
 */
export function parseGraphs(text: string): readonly ClusterGraph[] {
  return text.split('\n\n').map((part) => {
    const [[, ...roots] = [], [, ...held] = [], ...rest] = part
      .split('\n')
      .map((line) => line.split(' '));
    const clusters = new Map<string, ClusterSpec>();
    for (const [name = '', kind, ...children] of rest) {
      const isLeaf = kind === 'eds' || kind === 'dns' || kind === 'missing';
      clusters.set(name, isLeaf ? kind : children);
    }
    return { roots, held, clusters };
  });
}
