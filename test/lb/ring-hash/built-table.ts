import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import { combinedWeigher, type Weigher } from '../../../src/lb/endpoints/endpoint-weights';
import type { RingLimits } from '../../../src/lb/ring-hash/counts';
import { Ring, type HashTable } from '../../../src/lb/ring-hash/ring';
import { SharedTables, type TableBuild } from '../../../src/lb/ring-hash/shared-tables';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import type { XxHash64 } from '../../../src/util/hashes';

interface BuiltTableOptions {
  readonly empty?: HashTable;
  readonly usesHashKeys?: boolean;
  readonly weigher?: Weigher;
}

/** Does all that is left of a build. */
export function finish(build: TableBuild): HashTable {
  for (;;) {
    const table = build.advance();
    if (table !== undefined) return table;
  }
}

/** A ring, or another table, that is updated at once. */
export class BuiltTable {
  private readonly tables: SharedTables;
  table: HashTable;

  constructor(hash: Pick<XxHash64, 'hash'>, options: BuiltTableOptions = {}) {
    const { empty = Ring.empty, usesHashKeys = true, weigher = combinedWeigher } = options;
    this.tables = new SharedTables({ hash, usesHashKeys, weigher });
    this.table = empty;
  }

  update(set: EndpointSet, limits: RingLimits): this {
    this.table = finish(this.tables.find(this.table, set, limits));
    return this;
  }

  /** The endpoint at each position. */
  get endpoints(): readonly XdsEndpoint[] {
    const { table } = this;
    return Array.from({ length: table.size }, (_, position) => {
      const endpoint = table.members.endpoints[table.memberAt(position)];
      if (endpoint === undefined) throw new Error(`There is no endpoint at ${position}`);
      return endpoint;
    });
  }

  /** The identity of the endpoint at each position. */
  get keys(): readonly string[] {
    return this.endpoints.map(endpointKey);
  }

  /** All endpoints, in the order of the last list. */
  get listed(): readonly XdsEndpoint[] {
    const { endpoints, listed } = this.table.members;
    return [...new Set(listed)].flatMap((member) => endpoints[member] ?? []);
  }

  /** All endpoints, in the order in which entries are assigned. */
  get sorted(): readonly XdsEndpoint[] {
    const { endpoints, sorted } = this.table.members;
    return sorted.flatMap((member) => endpoints[member] ?? []);
  }
}
