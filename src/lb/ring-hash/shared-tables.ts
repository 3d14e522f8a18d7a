import type { LocalityEndpoints } from '../../resources/endpoints/endpoints';
import type { Steps } from '../../util/time-slices';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { RingLimits } from './counts';
import { MembersListing, type TableRules } from './members';
import type { HashTable } from './ring';

/** A table that is being created, or was. The policies that wait for it do the work in turns. */
export class TableBuild {
  /** What is left to do; `undefined` if nothing is. */
  private work: TableWork | undefined;
  private result: HashTable | { readonly error: unknown } | undefined;

  constructor(
    previous: HashTable,
    private readonly set: EndpointSet,
    private readonly limits: RingLimits,
    rules: TableRules,
  ) {
    const listing = new MembersListing(previous.members, set, rules);
    this.work = { previous, limits, rules, listing };
  }

  /** Whether it is for these localities. */
  isFor({ localities }: EndpointSet, { min, max }: RingLimits): boolean {
    const { limits, set } = this;
    return (
      limits.min === min &&
      limits.max === max &&
      set.localities.length === localities.length &&
      set.localities.every((locality, i) => locality === localities[i])
    );
  }

  /**
   * Does one part of the work, well below a millisecond.
   * @returns The table if nothing is left.
   * @throws What went wrong, to everyone who waits for it.
   */
  advance(): HashTable | undefined {
    if (this.work !== undefined) {
      try {
        this.result = doSome(this.work);
      } catch (error) {
        this.result = { error };
      }
      if (this.result !== undefined) this.work = undefined;
    }
    const { result } = this;
    if (result !== undefined && 'error' in result) throw result.error;
    return result;
  }
}

/** First the members are listed, then the table is created from them. */
interface TableWork {
  readonly previous: HashTable;
  readonly limits: RingLimits;
  readonly rules: TableRules;
  readonly listing: MembersListing;
  steps?: Steps<HashTable>;
}

function doSome(work: TableWork): HashTable | undefined {
  const { limits, listing, previous, rules } = work;
  if (work.steps === undefined && listing.advance()) return undefined;
  work.steps ??= previous.update(listing.finish(), limits, rules);
  const { done, value } = work.steps.next();
  return done === true ? value : undefined;
}

/**
 * The tables of all policies of a kind. A table follows from the localities, whose objects the channels of a target share: the
 * first policy with an update starts to create it, and the others find it.
 */
export class SharedTables {
  /** The newest for each first locality, as long as that is in use. */
  private readonly builds = new WeakMap<LocalityEndpoints, TableBuild>();

  constructor(private readonly rules: TableRules) {}

  /** Finds the table of a set, or starts to create it from a previous one. */
  find(previous: HashTable, set: EndpointSet, limits: RingLimits): TableBuild {
    const [first] = set.localities;
    // A set without some endpoints of its priority belongs to one channel.
    if (first === undefined || set.whole !== undefined) return this.start(previous, set, limits);
    const known = this.builds.get(first);
    if (known?.isFor(set, limits) === true) return known;
    const build = this.start(previous, set, limits);
    this.builds.set(first, build);
    return build;
  }

  private start(previous: HashTable, set: EndpointSet, limits: RingLimits): TableBuild {
    return new TableBuild(previous, set, limits, this.rules);
  }
}
