import type { TypeState } from '../client-state';
import {
  digestOf,
  emptyResourceSet,
  findResourceKind,
  type ResourceError,
  type ServedSet,
  type SnapshotResource,
} from '../resource';
import type { ServedResources, ViewChange } from './resource-view';
import {
  findNamesProblem,
  SentResponses,
  Subscriptions,
  wildcardName,
  type DeferredRemoval,
  type SubscriptionRequest,
  type TypeSubscription,
  type TypeUpdate,
} from './subscriptions';

/** A state-of-the-world request. */
export interface SotwRequest extends SubscriptionRequest {
  readonly resourceNames: readonly string[];
}

/** Creates the subscription state of a state-of-the-world stream. */
export function createSotwSubscriptions(resources: ServedResources): Subscriptions<SotwRequest> {
  return new Subscriptions(resources, (typeUrl) => new SotwSubscription(typeUrl));
}

/**
 * The subscription to one type on a state-of-the-world stream. Updates of listeners and clusters hold every subscribed
 * resource, those of other types only the changed ones.
 */
class SotwSubscription implements TypeSubscription<SotwRequest> {
  readonly responses = new SentResponses();
  private names: ReadonlySet<string> = new Set();
  private wildcard = false;
  private isFirst = true;
  private hasNamedBefore = false;
  /** Whether the client has subscribed to all resources since a response, of which it has had some at most. */
  private isWidened = false;
  /** The names of a first request with a version, which the client has accepted before: it may have their resources. */
  private restored: ReadonlySet<string> = new Set();

  /**
   * Digest last sent for each name; undefined if the client received that it does not exist. Unsubscribed names are
   * deleted, so that subscribing again sends the resource again.
   */
  private readonly sent = new Map<string, string | undefined>();

  constructor(readonly typeUrl: string) {}

  findExcess({ resourceNames }: Pick<SotwRequest, 'resourceNames'>): string | undefined {
    let characters = 0;
    for (const name of resourceNames) characters += name.length;
    return findNamesProblem(resourceNames.length, characters);
  }

  /** The client repeats the names of a stale request when it acknowledges the last response. */
  isStale(nonce: string): boolean {
    const { lastNonce } = this.responses;
    return lastNonce !== undefined && nonce !== lastNonce;
  }

  onRequest({ resourceNames, versionInfo = '' }: SotwRequest, resources: ServedResources) {
    const { names: before } = this;
    const isChanged = this.subscribe(resourceNames);
    if (this.isFirst && versionInfo !== '') this.restored = this.names;
    const update = isChanged || this.isFirst ? this.update(resources) : undefined;
    this.isFirst = false;
    const { names, wildcard } = this;
    const removed = isChanged ? [...before].filter((name) => !names.has(name)) : [];
    return { subscribed: isChanged ? { names: [...names], removed, wildcard } : undefined, update };
  }

  onChanged(change: ViewChange): TypeUpdate | undefined {
    const { previous, next } = change;
    const set = this.setOf(next);
    if (set === this.setOf(previous)) return undefined;
    if (this.isComplete) {
      return set.version === this.setOf(previous).version ? undefined : this.update(next);
    }
    const { names, wildcard } = this;
    return this.partialUpdate(set, change.changedNamesOf(this.typeUrl, { names, wildcard }));
  }

  /** The first update holds the resources to remove, too; the last one leaves them out. */
  deferRemovals(update: TypeUpdate, previous: ServedResources): DeferredRemoval | undefined {
    const removed = this.isComplete ? this.removedBy(update, previous) : [];
    if (removed.length === 0) return undefined;
    const hasChanges = update.resources.some(({ name, digest }) => this.sent.get(name) !== digest);
    const first: TypeUpdate = {
      ...update,
      version: `${this.setOf(previous).version}..${update.version}`,
      resources: [...update.resources, ...removed],
    };
    return { first: hasChanges ? first : undefined, last: update };
  }

  markSent(update: TypeUpdate, nonce: string): void {
    this.responses.markSent(nonce, update.version);
    this.isWidened = false;
    if (this.isComplete) {
      this.sent.clear();
      for (const name of this.names) this.sent.set(name, undefined);
    }
    for (const list of [update.resources, update.errors]) {
      for (const { name, digest } of list) this.sent.set(name, digest);
    }
  }

  expiring(resources: ServedResources): readonly SnapshotResource[] {
    const set = this.setOf(resources);
    const found: SnapshotResource[] = [];
    for (const [name, digest] of this.sent) {
      const resource = set.byName.get(name);
      if (resource?.ttlMs !== undefined && resource.digest === digest) found.push(resource);
    }
    return found;
  }

  describe(): TypeState {
    const { typeUrl, names, wildcard, responses } = this;
    return { typeUrl, subscribed: [...names], wildcard, ...responses.describe() };
  }

  private get isComplete(): boolean {
    return findResourceKind(this.typeUrl)?.isComplete === true;
  }

  private setOf(resources: ServedResources): ServedSet {
    return resources.set(this.typeUrl) ?? emptyResourceSet;
  }

  /** Replaces the subscribed names. @returns whether they changed. */
  private subscribe(names: readonly string[]): boolean {
    const next = new Set(names);
    // A request without names subscribes to all resources until the first request with names:
    // https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#how-the-client-specifies-what-resources-to-return
    const nextWildcard =
      next.delete(wildcardName) || (next.size === 0 && !this.hasNamedBefore && this.isComplete);
    if (names.length > 0) this.hasNamedBefore = true;
    const isChanged = nextWildcard !== this.wildcard || !areEqual(next, this.names);
    if (nextWildcard && !this.wildcard) this.isWidened = true;
    this.names = next;
    this.wildcard = nextWildcard;
    if (isChanged && !nextWildcard) {
      for (const name of this.sent.keys()) if (!next.has(name)) this.sent.delete(name);
    }
    return isChanged;
  }

  private update(resources: ServedResources): TypeUpdate | undefined {
    const set = this.setOf(resources);
    if (this.isComplete) {
      const isPending = (name: string) =>
        digestOf(set, name) === undefined && resources.isPending(this.typeUrl, name);
      if (this.isHeldBack(isPending) || !this.isOutdated(set, isPending)) return undefined;
      return this.completeUpdate(set);
    }
    return this.partialUpdate(set, this.namesIn(set));
  }

  /** Returns those of some names for which the client has something else; `undefined` if there are none. */
  private partialUpdate(set: ServedSet, names: Iterable<string>): TypeUpdate | undefined {
    const outdated = [...names].filter((name) => {
      const digest = digestOf(set, name);
      return digest !== undefined && this.sent.get(name) !== digest;
    });
    const update = updateOf(set, outdated);
    return update.resources.length + update.errors.length === 0 ? undefined : update;
  }

  /**
   * Whether a pending resource holds back the others. To the client, a resource that a response leaves out does not exist any
   * more if it has one. If it has none, it waits for it (gRFC A57), and the others need not wait.
   */
  private isHeldBack(isPending: (name: string) => boolean): boolean {
    if (this.wildcard && isPending(wildcardName)) return true;
    const { sent, restored } = this;
    const mayHave = (name: string) =>
      sent.has(name) ? sent.get(name) !== undefined : restored.has(name);
    return [...this.names].some((name) => mayHave(name) && isPending(name));
  }

  private isOutdated(set: ServedSet, isPending: (name: string) => boolean): boolean {
    if (this.wildcard) return this.isWidened || this.responses.sentVersion !== set.version;
    return [...this.names].some(
      (name) =>
        (!this.sent.has(name) || this.sent.get(name) !== digestOf(set, name)) && !isPending(name),
    );
  }

  private completeUpdate(set: ServedSet): TypeUpdate {
    return updateOf(set, this.namesIn(set));
  }

  private namesIn(set: ServedSet): Iterable<string> {
    return this.wildcard ? namesIn(set) : this.names;
  }

  /** Returns the resources last sent that are absent from an update. */
  private removedBy(update: TypeUpdate, previous: ServedResources): readonly SnapshotResource[] {
    const kept = new Set([...update.resources, ...update.errors].map(({ name }) => name));
    const removed: SnapshotResource[] = [];
    for (const [name, digest] of this.sent) {
      if (digest === undefined || kept.has(name)) continue;
      const resource = this.setOf(previous).byName.get(name);
      // What was sent may be an error in its place.
      if (resource?.digest === digest) removed.push(resource);
    }
    return removed;
  }
}

/** Returns the resources of some names. An error takes the place of its resource. */
function updateOf(set: ServedSet, names: Iterable<string>): TypeUpdate {
  const resources: SnapshotResource[] = [];
  const errors: ResourceError[] = [];
  for (const name of names) {
    const error = set.errors.get(name);
    const resource = set.byName.get(name);
    if (error !== undefined) errors.push(error);
    else if (resource !== undefined) resources.push(resource);
  }
  return { version: set.version, resources, removed: [], errors };
}

function namesIn({ byName, errors }: ServedSet): Iterable<string> {
  return errors.size === 0 ? byName.keys() : new Set([...byName.keys(), ...errors.keys()]);
}

function areEqual(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item));
}
