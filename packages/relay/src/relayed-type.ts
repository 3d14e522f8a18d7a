import type { ResourceError, ServedSet, SnapshotResource } from 'grpc-xds/control-plane';
import type { Handle } from '../../../src/util/handle';
import { LayeredMap } from '../../../src/util/layered-map';
import type { ResourceWatcher, XdsClient, OpaqueResource } from 'grpc-xds/internal';
import type { RelayedType } from './opaque-type';
import {
  digestOf,
  PENDING,
  toRelayed,
  type RelayedResource,
  type UpstreamState,
} from './relayed-resource';

/** The resources and errors of a type, of which most are those of the set before. */
interface RelayedSet extends ServedSet {
  readonly byName: LayeredMap<SnapshotResource>;
  readonly errors: LayeredMap<ResourceError>;
}

/** The resources of a type at one moment. */
export interface PublishedType {
  readonly set: RelayedSet;
  /** The names that have no resource. */
  readonly absent: LayeredMap<true>;
}

/** A name that clients refer to, or that was requested and still is. */
export interface ReferredName {
  readonly name: string;
  /** How many clients refer to it. */
  references: number;
}

/** A name that is requested, or is about to be. */
interface WatchedName extends ReferredName {
  /** `undefined` until it is requested. */
  watch: Handle | undefined;
  state: UpstreamState;
  /** What clients receive since it was last published. */
  published: RelayedResource;
}

const UNKNOWN: UpstreamState = { value: undefined, error: undefined };

const EMPTY: PublishedType = {
  set: {
    byName: LayeredMap.empty(),
    errors: LayeredMap.empty(),
    byAlias: new Map(),
    version: toVersion(0n),
  },
  absent: LayeredMap.empty(),
};

/** Constructor options of `RelayedNames`. */
export interface RelayedNamesOptions {
  readonly type: RelayedType;
  readonly client: Pick<XdsClient, 'watch'>;
  /** Called when `publish` has something to do. */
  readonly onChanged: () => void;
}

/** The names of one type that are requested from management servers, and what is known of them. */
export class RelayedNames {
  private readonly names = new Map<string, WatchedName>();
  /** Names that may have changed since they were published, or were released. */
  private readonly changed = new Map<string, RelayedResource>();
  private sum = 0n;
  private current = EMPTY;

  constructor(private readonly options: RelayedNamesOptions) {}

  get size(): number {
    return this.names.size;
  }

  /** What was published last. */
  get published(): PublishedType {
    return this.current;
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /** Whether a name is requested now. */
  isRequested(name: string): boolean {
    return this.names.get(name)?.watch !== undefined;
  }

  /** Whether a name that has no resource may yet have one. */
  isPending(name: string, { absent }: PublishedType): boolean {
    return !absent.has(name);
  }

  /** Returns the last resource of a name as its server sent it. */
  valueOf(name: string): OpaqueResource | undefined {
    return this.names.get(name)?.state.value;
  }

  /** Returns why the servers of a name that has no resource cannot be used; `undefined` if they can, or it has one. */
  failureOf(name: string): string | undefined {
    const { value, error } = this.names.get(name)?.state ?? {};
    if (value !== undefined || error?.kind !== 'unreachable') return undefined;
    return error.cause ?? error.message;
  }

  /** Adds a reference to a name. It counts from now on, and is pending until `request` requests it. */
  acquire(name: string): ReferredName {
    const watched = this.names.get(name) ?? this.create(name);
    watched.references++;
    return watched;
  }

  /** Removes a reference to a name. @returns the name if it was the last one, and the name is still requested. */
  release(name: string): ReferredName | undefined {
    const watched = this.names.get(name);
    if (watched === undefined || watched.references === 0 || --watched.references > 0)
      return undefined;
    if (watched.watch !== undefined) return watched;
    this.remove(name);
    return undefined;
  }

  /** Requests a name that is referred to, unless it is requested. */
  request(name: string): void {
    const watched = this.names.get(name);
    if (watched === undefined || watched.watch !== undefined || watched.references === 0) return;
    const { client, type } = this.options;
    watched.watch = client.watch(type.client, name, this.watcherOf(name));
  }

  /** Ends the request of a name. */
  remove(name: string): void {
    const watched = this.names.get(name);
    if (watched === undefined) return;
    this.names.delete(name);
    watched.watch?.release();
    if (watched.published !== PENDING) this.note(name, watched.published);
  }

  private create(name: string): WatchedName {
    const created: WatchedName = {
      name,
      references: 0,
      watch: undefined,
      state: UNKNOWN,
      published: PENDING,
    };
    this.names.set(name, created);
    return created;
  }

  /** Ends all requests. */
  close(): void {
    for (const { watch } of this.names.values()) watch?.release();
    this.names.clear();
  }

  /** Makes the changes since the last call visible. It takes as long as there are changes, however many names there are. */
  publish(): void {
    const changes: RelayedChange[] = [];
    for (const [name, before] of this.changed) {
      const watched = this.names.get(name);
      const next = watched === undefined ? PENDING : this.relay(name, watched);
      if (next === before) continue;
      if (watched !== undefined) watched.published = next;
      this.sum += BigInt(`0x${digestOf(next)}`) - BigInt(`0x${digestOf(before)}`);
      changes.push({ name, next });
    }
    this.changed.clear();
    const version = toVersion(this.sum);
    if (version !== this.current.set.version) this.current = apply(this.current, changes, version);
  }

  private relay(name: string, { state, published }: WatchedName): RelayedResource {
    return toRelayed(state, { kind: this.options.type.server, name }, published);
  }

  private watcherOf(name: string): ResourceWatcher<OpaqueResource> {
    const show = (change: Partial<UpstreamState>) => {
      const watched = this.names.get(name);
      if (watched === undefined) return;
      watched.state = { ...watched.state, ...change };
      this.note(name, watched.published);
    };
    return {
      onResourceChanged: (update) =>
        show(
          update.ok
            ? { value: update.value, error: undefined }
            : { value: undefined, error: update.error },
        ),
      onAmbientError: (error) => show({ error }),
    };
  }

  /** @param published What clients have received, which stays the same until the change is published. */
  private note(name: string, published: RelayedResource): void {
    if (!this.changed.has(name)) this.changed.set(name, published);
    this.options.onChanged();
  }
}

/** What clients receive for a name from now on. */
interface RelayedChange {
  readonly name: string;
  readonly next: RelayedResource;
}

function apply(
  { set, absent }: PublishedType,
  changes: readonly RelayedChange[],
  version: string,
): PublishedType {
  const changed = <V extends object | true>(
    map: LayeredMap<V>,
    valueOf: (next: RelayedResource) => V | undefined,
  ) => map.with(changes.map(({ name, next }) => [name, valueOf(next)] as const));
  return {
    set: {
      byName: changed(set.byName, (next) => (next.kind === 'resource' ? next.resource : undefined)),
      errors: changed(set.errors, (next) => (next.kind === 'error' ? next.error : undefined)),
      byAlias: set.byAlias,
      version,
      changedSince: changedFrom(
        set.version,
        changes.map(({ name }) => name),
      ),
    },
    absent: changed(absent, (next) => (next.kind === 'absent' ? true : undefined)),
  };
}

/** Returns the names that differ from one version. A function of its own keeps nothing of the set before. */
function changedFrom(version: string, names: readonly string[]) {
  return (previous: ServedSet) => (previous.version === version ? names : undefined);
}

/** Independent of the order of the resources. */
function toVersion(sum: bigint): string {
  return BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
}
