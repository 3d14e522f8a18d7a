import type { TypeState } from './client-state';
import { findResourceKind, type ResourceKind } from './resource-kind';
import type { ResourceError } from './resource-error';
import {
  digestOf,
  emptyResourceSet,
  findResource,
  type ResourceSet,
  type SnapshotResource,
} from './resource-set';
import { ResponseLedger } from './response-ledger';
import type { Snapshot } from './snapshot';

/** What a client has to be sent of one type, before it gets a nonce. */
export interface DeltaAnswer {
  /** Version of the whole type, for people. */
  readonly version: string;
  readonly resources: readonly SnapshotResource[];
  /** Names the client is to forget, or that do not exist. */
  readonly removed: readonly string[];
  readonly errors: readonly ResourceError[];
}

/** The names in an incremental request. */
export interface DeltaNames {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Version of each resource the client has from an earlier stream. */
  readonly initialVersions: ReadonlyMap<string, string>;
}

const wildcardName = '*';
/** Equals no digest: of such a name, the client has to be told whatever there is to tell. */
const somethingElse = '';

/** One type on one incremental stream: what the client asked for and what it has. */
export class DeltaTypeSubscription {
  readonly responses = new ResponseLedger();
  private readonly names = new Set<string>();
  private wildcard = false;
  private asked = false;

  /** Digest of what the client has of each name; undefined where it knows that there is nothing. */
  private readonly told = new Map<string, string | undefined>();
  /** Names to look at for the next answer. For all others the client is up to date. */
  private readonly due = new Set<string>();
  /** Whether even an empty answer has to be sent: it says that "everything" is nothing. */
  private mustAnswer = false;

  constructor(readonly typeUrl: string) {}

  /** Undefined as long as this server has never held a resource of the type. */
  get kind(): ResourceKind | undefined {
    return findResourceKind(this.typeUrl);
  }

  /** Records the names of a request. @returns whether the subscription is another than before. */
  subscribe(request: DeltaNames, snapshot: Snapshot): boolean {
    const set = this.setOf(snapshot);
    const isFirst = !this.asked;
    this.asked = true;
    if (isFirst) this.recall(request.initialVersions, set);
    let changed = false;
    for (const name of request.unsubscribe) changed = this.remove(name) || changed;
    for (const name of request.subscribe) changed = this.add(name, set, isFirst) || changed;
    // Naming nothing at first means everything; this subscription ends as that to "*" does.
    if (isFirst && request.subscribe.length === 0 && this.kind?.isComplete === true) {
      changed = this.add(wildcardName, set, isFirst);
    }
    if (isFirst) this.forgetUnwanted();
    return changed;
  }

  /** Has these names looked at for the next answer. */
  markDue(names: readonly string[]): void {
    for (const name of names) this.due.add(name);
  }

  /** Has everything the client has subscribed to sent with the next answer, whether or not it is news. */
  resend(snapshot: Snapshot): void {
    const { byName, errors } = this.setOf(snapshot);
    const names = this.wildcard ? [...this.names, ...byName.keys(), ...errors.keys()] : this.names;
    for (const name of names) {
      this.told.delete(name);
      this.due.add(name);
    }
  }

  /** What the client has to be told to be up to date with a snapshot; undefined when it is. Counts as told. */
  answer(snapshot: Snapshot): DeltaAnswer | undefined {
    const set = this.setOf(snapshot);
    const resources = new Set<SnapshotResource>();
    const errors: ResourceError[] = [];
    const removed: string[] = [];
    for (const name of this.due) {
      const digest = digestOf(set, name);
      if (!this.isNews(name, digest, set)) continue;
      const error = set.errors.get(name);
      const resource = findResource(set, name);
      if (error !== undefined) errors.push(error);
      else if (resource !== undefined) resources.add(resource);
      else removed.push(name);
      if (digest !== undefined || this.names.has(name)) this.told.set(name, digest);
      else this.told.delete(name);
    }
    this.due.clear();
    const isEmpty = resources.size + removed.length + errors.length === 0;
    if (isEmpty && !this.mustAnswer) return undefined;
    this.mustAnswer = false;
    return { version: set.version, resources: [...resources], removed, errors };
  }

  /** The resources the client has that expire. */
  expiring(snapshot: Snapshot): readonly SnapshotResource[] {
    const set = this.setOf(snapshot);
    const found = new Set<SnapshotResource>();
    for (const [name, digest] of this.told) {
      const resource = findResource(set, name);
      if (resource?.ttlMs !== undefined && resource.digest === digest) found.add(resource);
    }
    return [...found];
  }

  /** A copy of this state for people to look at. */
  describe(): TypeState {
    return {
      typeUrl: this.typeUrl,
      subscribed: [...this.names],
      wildcard: this.wildcard,
      ...this.responses.describe(),
    };
  }

  private setOf(snapshot: Snapshot): ResourceSet {
    return this.kind === undefined ? emptyResourceSet : snapshot.set(this.kind);
  }

  /** Takes over what the client has from an earlier stream; what has gone since has to be removed. */
  private recall(versions: ReadonlyMap<string, string>, set: ResourceSet): void {
    for (const [name, version] of versions) {
      const resource = findResource(set, name);
      const isSame = resource?.version === version && !set.errors.has(name);
      this.told.set(name, isSame ? resource.digest : somethingElse);
      this.due.add(name);
    }
  }

  private add(name: string, set: ResourceSet, isFirst: boolean): boolean {
    if (name === wildcardName) return this.addWildcard(set, isFirst);
    const isNew = !this.names.has(name);
    this.names.add(name);
    // Asking again means: send it again, even if the server believes that the client has it.
    if (!isFirst) this.told.delete(name);
    this.due.add(name);
    return isNew;
  }

  private addWildcard(set: ResourceSet, isFirst: boolean): boolean {
    const isNew = !this.wildcard;
    this.wildcard = true;
    this.mustAnswer = true;
    for (const map of [set.byName, set.errors]) {
      for (const name of map.keys()) {
        if (!isFirst) this.told.delete(name);
        this.due.add(name);
      }
    }
    return isNew;
  }

  private remove(name: string): boolean {
    if (name === wildcardName) {
      if (!this.wildcard) return false;
      this.wildcard = false;
      this.forgetUnwanted();
      return true;
    }
    const wasThere = this.names.delete(name);
    if (!this.wildcard) this.told.delete(name);
    else if (wasThere) {
      // The client cannot know whether "everything" includes the name: it has to be told.
      this.told.set(name, somethingElse);
      this.due.add(name);
    }
    return wasThere;
  }

  private isNews(name: string, digest: string | undefined, set: ResourceSet): boolean {
    const isPlainName = set.byName.has(name) || set.errors.has(name) || this.told.has(name);
    if (!this.names.has(name) && !(this.wildcard && isPlainName)) return false;
    return !this.told.has(name) || this.told.get(name) !== digest;
  }

  private forgetUnwanted(): void {
    if (this.wildcard) return;
    for (const name of this.told.keys()) {
      if (!this.names.has(name)) this.told.delete(name);
    }
  }
}
