import { LayeredMap, type Lookup } from '../../../src/util/layered-map';
import type { ResourceError, ServedSet, SnapshotResource } from 'grpc-xds/control-plane';
import { audienceKey, type Audience } from './translate/audience';
import { digestOfText } from './translate/plan';
import type { VariedResource } from './varied-resource';

/** Clients may say anything of where they are; beyond this number their sets are created again. */
export const MAX_AUDIENCES = 10_000;

/** The resources of one type for all audiences. It is immutable, and has all but what changed in common with the one before. */
export class VariedSet {
  /** Returns the set before the resources are known. */
  static unknown(): VariedSet {
    return new VariedSet(LayeredMap.empty(), false, 0n, 0n, []);
  }

  /** By the keys of audiences. */
  private readonly sets = new Map<string, AudienceSet>();

  private constructor(
    readonly byName: LayeredMap<VariedResource>,
    /** Whether a name that is not in the set has no resource. */
    readonly isComplete: boolean,
    /** Of the digests of all resources, so that it does not depend on their order, nor on what was before. */
    readonly sum: bigint,
    /** The sum of the set before, from which `changed` has the differences. */
    private readonly since: bigint,
    private readonly changed: readonly string[],
  ) {}

  /** Returns the complete set with other resources of some names; `undefined` removes one. The same set if nothing differs. */
  with(changes: ReadonlyMap<string, VariedResource | undefined>): VariedSet {
    const changed: [string, VariedResource | undefined][] = [];
    let { sum } = this;
    for (const [name, next] of changes) {
      const previous = this.byName.get(name);
      if (next === previous) continue;
      sum += numberOf(next) - numberOf(previous);
      changed.push([name, next]);
    }
    if (changed.length === 0 && this.isComplete) return this;
    const names = changed.map(([name]) => name);
    return new VariedSet(this.byName.with(changed), true, sum, this.sum, names);
  }

  /** Returns the set as an audience receives it: the same object each time. */
  for(audience: KnownAudience): AudienceSet {
    let found = this.sets.get(audience.key);
    if (found === undefined) {
      if (this.sets.size >= MAX_AUDIENCES) this.sets.clear();
      found = new AudienceSet(this, audience);
      this.sets.set(audience.key, found);
    }
    return found;
  }

  /** Returns the names whose resources differ from those of an earlier set, without encoding any. */
  changedSince(earlier: VariedSet): readonly string[] {
    if (earlier.sum === this.sum) return [];
    if (earlier.sum === this.since) return this.changed;
    const { byName } = this;
    const names = [...byName].filter(([name, each]) => earlier.byName.get(name) !== each);
    const removed = [...earlier.byName].filter(([name]) => !byName.has(name));
    return [...names, ...removed].map(([name]) => name);
  }
}

function numberOf(resource: VariedResource | undefined): bigint {
  return resource === undefined ? 0n : BigInt(`0x${resource.plan.digest}`);
}

/** An audience with what versions and maps know it by. */
export interface KnownAudience extends Audience {
  /** See `audienceKey`. */
  readonly key: string;
  /** What it adds to the versions of its sets: 0 if nothing is known of it. */
  readonly number: bigint;
}

/** Returns an audience with its key. */
export function toKnown(audience: Audience, key = audienceKey(audience)): KnownAudience {
  return { ...audience, key, number: key === '' ? 0n : BigInt(`0x${digestOfText(key)}`) };
}

const NO_ERRORS: ReadonlyMap<string, ResourceError> = new Map();
const NO_ALIASES: ReadonlyMap<string, SnapshotResource> = new Map();

/** The resources of one type as an audience receives them. */
export class AudienceSet implements ServedSet {
  readonly errors = NO_ERRORS;
  readonly byAlias = NO_ALIASES;
  readonly byName: Lookup<SnapshotResource>;
  private knownVersion: string | undefined;

  constructor(
    private readonly set: VariedSet,
    private readonly audience: KnownAudience,
  ) {
    this.byName = new AudienceResources(set.byName, audience);
  }

  /** It is written when it is first sent: most sets that an audience had were never. */
  get version(): string {
    return (this.knownVersion ??= this.writeVersion());
  }

  changedSince(previous: ServedSet): readonly string[] | undefined {
    if (!(previous instanceof AudienceSet)) return undefined;
    const names = this.set.changedSince(previous.set);
    if (previous.audience.key === this.audience.key) return names;
    const { audience } = this;
    const others = [...this.set.byName].filter(
      ([, each]) => !each.isSame(previous.audience, audience),
    );
    return [...new Set([...names, ...others.map(([name]) => name)])];
  }

  private writeVersion(): string {
    const { set, audience } = this;
    const sum = set.sum + audience.number + (set.isComplete ? 1n : 0n);
    return BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
  }
}

class AudienceResources implements Lookup<SnapshotResource> {
  constructor(
    private readonly resources: LayeredMap<VariedResource>,
    private readonly audience: Audience,
  ) {}

  get size(): number {
    if (this.audience.visible === undefined) return this.resources.size;
    return [...this.keys()].length;
  }

  get(name: string): SnapshotResource | undefined {
    return this.resources.get(name)?.for(this.audience);
  }

  has(name: string): boolean {
    return this.resources.get(name)?.isVisible(this.audience) === true;
  }

  *keys(): IterableIterator<string> {
    for (const [name, each] of this.resources) if (each.isVisible(this.audience)) yield name;
  }

  *[Symbol.iterator](): IterableIterator<readonly [string, SnapshotResource]> {
    for (const [name, each] of this.resources) {
      const resource = each.for(this.audience);
      if (resource !== undefined) yield [name, resource];
    }
  }
}
