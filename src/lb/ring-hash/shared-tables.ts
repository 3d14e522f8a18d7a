import type { LocalityEndpoints } from '../../resources/endpoints/endpoints';
import type { Steps } from '../../util/steps';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { Weigher } from '../endpoints/endpoint-weights';
import type { RingLimits } from './counts';
import type { HashTable, TableOptions } from './hash-table';
import { updateMembers } from './members';

/** A table that is being created, or was. The policies that wait for it take its steps in turns. */
class TableBuild {
  private result: { readonly table: HashTable } | { readonly error: unknown } | undefined;

  constructor(
    private readonly localities: readonly LocalityEndpoints[],
    private readonly limits: RingLimits,
    private readonly steps: Steps<HashTable>,
  ) {}

  /** Whether it is that of these localities. */
  isOf(localities: readonly LocalityEndpoints[], { min, max }: RingLimits): boolean {
    return (
      this.limits.min === min &&
      this.limits.max === max &&
      this.localities.length === localities.length &&
      this.localities.every((locality, i) => locality === localities[i])
    );
  }

  *finish(): Steps<HashTable> {
    for (;;) {
      if (this.result === undefined) this.advance();
      const { result } = this;
      if (result === undefined) yield;
      else if ('table' in result) return result.table;
      else throw result.error;
    }
  }

  /** A failed generator says that it is done when it is asked again. */
  private advance(): void {
    try {
      const { done, value } = this.steps.next();
      if (done === true) this.result = { table: value };
    } catch (error) {
      this.result = { error };
    }
  }
}

/**
 * Creates the tables of all policies of a process. A table follows from the localities, whose objects the channels of a target
 * share: the first policy with an update creates it, and the others find it.
 */
export class SharedTables {
  /** The newest with a first locality: it stays as long as that is in use. */
  private readonly builds = new WeakMap<LocalityEndpoints, TableBuild>();

  constructor(
    private readonly options: TableOptions,
    private readonly weigher: Weigher,
  ) {}

  /** Returns the table of a set, created from a previous one. */
  *create(previous: HashTable, set: EndpointSet, limits: RingLimits): Steps<HashTable> {
    const { localities, whole } = set;
    const [first] = localities;
    // A set without some endpoints of a priority is that of one channel.
    if (first === undefined || whole !== undefined) return yield* this.steps(previous, set, limits);
    const known = this.builds.get(first);
    if (known?.isOf(localities, limits) === true) return yield* known.finish();
    const build = new TableBuild(localities, limits, this.steps(previous, set, limits));
    this.builds.set(first, build);
    return yield* build.finish();
  }

  private *steps(previous: HashTable, set: EndpointSet, limits: RingLimits): Steps<HashTable> {
    const { options, weigher } = this;
    const { usesHashKeys } = options;
    const update = yield* updateMembers(previous.members, set, { usesHashKeys, weigher });
    return yield* previous.update(update, limits, options);
  }
}
