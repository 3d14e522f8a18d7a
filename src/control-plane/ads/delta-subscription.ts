import type { TypeState } from '../client-state';
import { findNamesProblem } from '../limits';
import { findResourceKind, type ResourceKind } from '../snapshot/resource-kind';
import {
  digestOf,
  emptyResourceSet,
  findResource,
  type ResourceError,
  type ResourceSet,
  type SnapshotResource,
} from '../snapshot/resource-set';
import type { Snapshot } from '../snapshot/snapshot';
import type { SnapshotChange } from '../snapshot/snapshot-change';
import {
  SentResponses,
  Subscriptions,
  type DeferredRemoval,
  type ImitatedServer,
  type SubscriptionChange,
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
export function createDeltaSubscriptions(
  snapshot: Snapshot,
  imitate?: ImitatedServer,
): Subscriptions<DeltaRequest> {
  return new Subscriptions(snapshot, {
    createType: (typeUrl) => new DeltaSubscription(typeUrl),
    imitate,
    restartsWithoutNonce: false,
  });
}

const wildcardName = '*';
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

  get kind(): ResourceKind | undefined {
    return findResourceKind(this.typeUrl);
  }

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

  onRequest(request: DeltaRequest, snapshot: Snapshot) {
    const subscribed = this.subscribe(request, this.setOf(snapshot));
    return { subscribed, update: this.update(this.setOf(snapshot)) };
  }

  onSnapshot(change: SnapshotChange, resendAll: boolean): TypeUpdate | undefined {
    const set = this.setOf(change.next);
    if (resendAll) this.resend(set);
    const names = this.kind === undefined ? [] : change.changedNames(this.kind);
    for (const name of names) this.pending.add(name);
    return this.pending.size === 0 ? undefined : this.update(set);
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

  expiring(snapshot: Snapshot): readonly SnapshotResource[] {
    const set = this.setOf(snapshot);
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

  private setOf(snapshot: Snapshot): ResourceSet {
    return this.kind === undefined ? emptyResourceSet : snapshot.set(this.kind);
  }

  /** Applies the names of a request. @returns what it changed. */
  private subscribe(request: DeltaRequest, set: ResourceSet): SubscriptionChange | undefined {
    const { isFirst } = this;
    this.isFirst = false;
    if (isFirst) this.restore(request.initialVersions, set);
    let isChanged = false;
    for (const name of request.unsubscribe) isChanged = this.remove(name) || isChanged;
    const names: string[] = [];
    for (const name of request.subscribe) {
      if (!this.add(name, set, isFirst)) continue;
      isChanged = true;
      if (name !== wildcardName) names.push(name);
    }
    // A first request without names subscribes to all listeners or clusters, as `*` does.
    if (isFirst && request.subscribe.length === 0 && this.kind?.isComplete === true) {
      isChanged = this.add(wildcardName, set, isFirst);
    }
    if (isFirst) this.deleteUnsubscribed();
    return isChanged ? { names, wildcard: this.wildcard } : undefined;
  }

  /** Marks every subscribed resource as not sent. */
  private resend(set: ResourceSet): void {
    const { byName, errors } = set;
    const names = this.wildcard ? [...this.names, ...byName.keys(), ...errors.keys()] : this.names;
    for (const name of names) {
      this.sent.delete(name);
      this.pending.add(name);
    }
  }

  /** Returns what differs from the resources last sent, and marks it as sent; undefined if nothing differs. */
  private update(set: ResourceSet): TypeUpdate | undefined {
    const resources = new Set<SnapshotResource>();
    const errors: ResourceError[] = [];
    const removed: string[] = [];
    for (const name of this.pending) {
      const digest = digestOf(set, name);
      if (!this.isOutdated(name, digest, set)) continue;
      const error = set.errors.get(name);
      const resource = findResource(set, name);
      if (error !== undefined) errors.push(error);
      else if (resource !== undefined) resources.add(resource);
      else removed.push(name);
      if (digest !== undefined || this.names.has(name)) this.sent.set(name, digest);
      else this.sent.delete(name);
    }
    this.pending.clear();
    const isEmpty = resources.size + removed.length + errors.length === 0;
    if (isEmpty && !this.sendsEmpty) return undefined;
    this.sendsEmpty = false;
    return { version: set.version, resources: [...resources], removed, errors };
  }

  /** Records the resources cached from an earlier stream. */
  private restore(versions: ReadonlyMap<string, string>, set: ResourceSet): void {
    for (const [name, version] of versions) {
      const resource = findResource(set, name);
      const isSame = resource?.version === version && !set.errors.has(name);
      this.sent.set(name, isSame ? resource.digest : outdated);
      this.pending.add(name);
    }
  }

  private add(name: string, set: ResourceSet, isFirst: boolean): boolean {
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

  private addWildcard(set: ResourceSet, isFirst: boolean): boolean {
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

  private isOutdated(name: string, digest: string | undefined, set: ResourceSet): boolean {
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
