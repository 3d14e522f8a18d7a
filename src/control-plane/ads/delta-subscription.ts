import type { TypeState } from '../client-state';
import {
  digestOf,
  emptyResourceSet,
  findResourceKind,
  findResource,
  type ResourceError,
  type ServedSet,
  type SnapshotResource,
} from '../resource';
import type { ServedResources, SubscriptionChange, ViewChange } from './resource-view';
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

export interface DeltaRequest extends SubscriptionRequest {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Versions of the resources cached from an earlier stream. */
  readonly initialVersions: ReadonlyMap<string, string>;
}

/** Creates the subscription state of an incremental stream. */
export function createDeltaSubscriptions(resources: ServedResources): Subscriptions<DeltaRequest> {
  return new Subscriptions(resources, (typeUrl) => new DeltaSubscription(typeUrl));
}

/** Differs from every digest, so that the name is sent or removed. */
const outdated = '';

/**
 * The subscription to one type on an incremental stream. Updates hold the changed resources, and the names of subscribed
 * resources that do not exist.
 */
class DeltaSubscription implements TypeSubscription<DeltaRequest> {
  readonly responses = new SentResponses();
  private readonly names = new Set<string>();
  /** Characters of all names. */
  private characters = 0;
  private wildcard = false;
  private isFirst = true;

  /** Digest last sent for each name; undefined if the client received that it does not exist. */
  private readonly sent = new Map<string, string | undefined>();
  /** Names to check in the next update; the client is up to date for all others. */
  private readonly pending = new Set<string>();
  /** Whether an empty update is sent, too: after a wildcard subscription without matching resources. */
  private sendsEmpty = false;

  constructor(readonly typeUrl: string) {}

  findExcess({ subscribe }: Pick<DeltaRequest, 'subscribe'>): string | undefined {
    let { size: count } = this.names;
    let { characters } = this;
    for (const name of subscribe) {
      if (this.names.has(name)) continue;
      count++;
      characters += name.length;
    }
    return findNamesProblem(count, characters);
  }

  /** A request changes the subscription whatever its nonce: it holds changes of names rather than all names. */
  isStale(): boolean {
    return false;
  }

  onRequest(request: DeltaRequest, resources: ServedResources) {
    const subscribed = this.subscribe(request, this.setOf(resources));
    return { subscribed, update: this.update(resources) };
  }

  onChanged(change: ViewChange): TypeUpdate | undefined {
    const { names, wildcard } = this;
    for (const name of change.changedNamesOf(this.typeUrl, { names, wildcard })) {
      this.pending.add(name);
    }
    return this.pending.size > 0 || this.sendsEmpty ? this.update(change.next) : undefined;
  }

  deferRemovals(update: TypeUpdate): DeferredRemoval | undefined {
    const { resources, errors, removed } = update;
    if (removed.length === 0) return undefined;
    return {
      first: resources.length + errors.length === 0 ? undefined : { ...update, removed: [] },
      last: { ...update, resources: [], errors: [] },
    };
  }

  markSent({ version }: TypeUpdate, nonce: string): void {
    this.responses.markSent(nonce, version);
  }

  expiring(resources: ServedResources): readonly SnapshotResource[] {
    const set = this.setOf(resources);
    const found = new Set<SnapshotResource>();
    for (const [name, digest] of this.sent) {
      const resource = findResource(set, name);
      if (resource?.ttlMs !== undefined && resource.digest === digest) found.add(resource);
    }
    return [...found];
  }

  describe(): TypeState {
    const { typeUrl, names, wildcard, responses } = this;
    return { typeUrl, subscribed: [...names], wildcard, ...responses.describe() };
  }

  private setOf(resources: ServedResources): ServedSet {
    return resources.set(this.typeUrl) ?? emptyResourceSet;
  }

  /** Applies the names of a request. @returns what it changed. */
  private subscribe(request: DeltaRequest, set: ServedSet): SubscriptionChange | undefined {
    const { isFirst } = this;
    this.isFirst = false;
    if (isFirst) this.restore(request.initialVersions, set);
    const removed: string[] = [];
    let isChanged = false;
    for (const name of request.unsubscribe) {
      if (!this.remove(name)) continue;
      isChanged = true;
      if (name !== wildcardName) removed.push(name);
    }
    const names: string[] = [];
    for (const name of request.subscribe) {
      if (!this.add(name, set, isFirst)) continue;
      isChanged = true;
      if (name !== wildcardName) names.push(name);
    }
    // A first request without names subscribes to all listeners or clusters, as `*` does.
    if (
      isFirst &&
      request.subscribe.length === 0 &&
      findResourceKind(this.typeUrl)?.isComplete === true
    ) {
      isChanged = this.add(wildcardName, set, isFirst);
    }
    if (isFirst) this.deleteUnsubscribed();
    return isChanged ? { names, removed, wildcard: this.wildcard } : undefined;
  }

  /** Returns what differs from the resources last sent, and marks it as sent; undefined if nothing differs. */
  private update(served: ServedResources): TypeUpdate | undefined {
    const set = this.setOf(served);
    const isPending = (name: string) => served.isPending(this.typeUrl, name);
    const resources = new Set<SnapshotResource>();
    const errors: ResourceError[] = [];
    const removed: string[] = [];
    for (const name of this.pending) {
      const digest = digestOf(set, name);
      if (digest === undefined && isPending(name)) continue;
      this.pending.delete(name);
      if (!this.isOutdated(name, digest, set)) continue;
      const error = set.errors.get(name);
      const resource = findResource(set, name);
      if (error !== undefined) errors.push(error);
      else if (resource !== undefined) resources.add(resource);
      else removed.push(name);
      if (digest !== undefined || this.names.has(name)) this.sent.set(name, digest);
      else this.sent.delete(name);
    }
    const isEmpty = resources.size + removed.length + errors.length === 0;
    if (isEmpty && !(this.sendsEmpty && !isPending(wildcardName))) return undefined;
    this.sendsEmpty = false;
    return { version: set.version, resources: [...resources], removed, errors };
  }

  /** Records the resources cached from an earlier stream. */
  private restore(versions: ReadonlyMap<string, string>, set: ServedSet): void {
    for (const [name, version] of versions) {
      const resource = findResource(set, name);
      const isSame = resource?.version === version && !set.errors.has(name);
      this.sent.set(name, isSame ? resource.digest : outdated);
      this.pending.add(name);
    }
  }

  private add(name: string, set: ServedSet, isFirst: boolean): boolean {
    if (name === wildcardName) return this.addWildcard(set, isFirst);
    const isNew = !this.names.has(name);
    if (isNew) this.characters += name.length;
    this.names.add(name);
    // A name that is subscribed to again is sent again:
    // https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#subscribing-to-resources
    if (!isFirst) this.sent.delete(name);
    this.pending.add(name);
    return isNew;
  }

  private addWildcard(set: ServedSet, isFirst: boolean): boolean {
    const isNew = !this.wildcard;
    this.wildcard = true;
    this.sendsEmpty = true;
    for (const map of [set.byName, set.errors]) {
      for (const name of map.keys()) {
        if (!isFirst) this.sent.delete(name);
        this.pending.add(name);
      }
    }
    return isNew;
  }

  private remove(name: string): boolean {
    if (name === wildcardName) {
      if (!this.wildcard) return false;
      this.wildcard = false;
      this.deleteUnsubscribed();
      return true;
    }
    const wasSubscribed = this.names.delete(name);
    if (wasSubscribed) this.characters -= name.length;
    if (!this.wildcard) this.sent.delete(name);
    else if (wasSubscribed) {
      // Sent or removed explicitly: the client does not know whether the wildcard includes the name.
      this.sent.set(name, outdated);
      this.pending.add(name);
    }
    return wasSubscribed;
  }

  private isOutdated(name: string, digest: string | undefined, set: ServedSet): boolean {
    const isPlainName = set.byName.has(name) || set.errors.has(name) || this.sent.has(name);
    if (!this.names.has(name) && !(this.wildcard && isPlainName)) return false;
    return !this.sent.has(name) || this.sent.get(name) !== digest;
  }

  private deleteUnsubscribed(): void {
    if (this.wildcard) return;
    for (const name of this.sent.keys()) {
      if (!this.names.has(name)) this.sent.delete(name);
    }
  }
}
