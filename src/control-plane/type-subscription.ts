import type { Rejection, TypeState } from './client-state';
import { findResourceKind, type ResourceKind } from './resource-kind';
import { emptyResourceSet, type ResourceSet, type SnapshotResource } from './resource-set';
import type { Snapshot } from './snapshot';

/** What a client has to be sent of one type, before it gets a nonce. */
export interface Answer {
  readonly version: string;
  readonly resources: readonly SnapshotResource[];
}

/** What a request said about an earlier response. */
export type Verdict =
  | { readonly kind: 'acked'; readonly version: string }
  | { readonly kind: 'nacked'; readonly version: string; readonly message: string };

const wildcardName = '*';

/** One type on one stream: what the client asked for, what it was sent and what it said to that. */
export class TypeSubscription {
  readonly kind: ResourceKind | undefined;
  private names: ReadonlySet<string> = new Set();
  private wildcard = false;
  private namedBefore = false;

  /**
   * Version of each resource the client knows about; undefined for one it knows not to exist.
   * Forgets names that are unsubscribed, so that asking again gets an answer again.
   */
  private readonly told = new Map<string, string | undefined>();
  /** Version of each response that still waits for the client's verdict, by nonce, oldest first. */
  private readonly unanswered = new Map<string, string>();
  private lastNonce: string | undefined;
  private sentVersion: string | undefined;
  private ackedVersion: string | undefined;
  private rejection: Rejection | undefined;

  constructor(readonly typeUrl: string) {
    this.kind = findResourceKind(typeUrl);
  }

  /**
   * Whether a request was written before the client saw the last response. Its names must not be
   * read: the client will say them again when it answers that response.
   */
  isStale(nonce: string): boolean {
    return this.lastNonce !== undefined && nonce !== this.lastNonce;
  }

  /** Records the names of a request that is not stale. @returns whether they are others than before. */
  subscribe(names: readonly string[]): boolean {
    const next = new Set(names);
    // Naming nothing means everything, but only until the client has named something.
    const nextWildcard =
      next.delete(wildcardName) || (next.size === 0 && !this.namedBefore && this.isComplete);
    if (names.length > 0) this.namedBefore = true;
    const changed = nextWildcard !== this.wildcard || !equalSets(next, this.names);
    this.names = next;
    this.wildcard = nextWildcard;
    if (changed && !nextWildcard) this.forgetUnsubscribed();
    return changed;
  }

  /** Records what a request says about the response it answers, the first time it says it. */
  judge(nonce: string, errorMessage: string | undefined): Verdict | undefined {
    const version = this.unanswered.get(nonce);
    if (version === undefined) return undefined;
    for (const older of this.unanswered.keys()) {
      this.unanswered.delete(older);
      if (older === nonce) break;
    }
    if (errorMessage !== undefined) {
      this.rejection = { version, message: errorMessage };
      return { kind: 'nacked', version, message: errorMessage };
    }
    this.ackedVersion = version;
    this.rejection = undefined;
    return { kind: 'acked', version };
  }

  /** What the client has to be told to be up to date with a snapshot; undefined when it is. */
  answer(snapshot: Snapshot): Answer | undefined {
    const set = this.setOf(snapshot);
    if (this.isComplete) return this.needsComplete(set) ? this.completeAnswer(set) : undefined;
    const resources: SnapshotResource[] = [];
    for (const name of this.wildcard ? set.byName.keys() : this.names) {
      const resource = set.byName.get(name);
      if (resource === undefined || this.told.get(name) === resource.version) continue;
      resources.push(resource);
    }
    return resources.length === 0 ? undefined : { version: set.version, resources };
  }

  /** Resources the client uses that this answer takes away. */
  removedBy(answer: Answer, previous: Snapshot): readonly SnapshotResource[] {
    const kept = new Set(answer.resources.map(({ name }) => name));
    const removed: SnapshotResource[] = [];
    for (const [name, version] of this.told) {
      if (version === undefined || kept.has(name)) continue;
      const resource = this.setOf(previous).byName.get(name);
      if (resource !== undefined) removed.push(resource);
    }
    return removed;
  }

  /** Whether an answer holds anything the client does not know. */
  hasNews(answer: Answer): boolean {
    return answer.resources.some(({ name, version }) => this.told.get(name) !== version);
  }

  /** Records that an answer was sent. */
  markSent(answer: Answer, nonce: string): void {
    this.lastNonce = nonce;
    this.sentVersion = answer.version;
    this.unanswered.set(nonce, answer.version);
    if (this.isComplete) {
      this.told.clear();
      for (const name of this.names) this.told.set(name, undefined);
    }
    for (const { name, version } of answer.resources) this.told.set(name, version);
  }

  /** A copy of this state for people to look at. */
  describe(): TypeState {
    return {
      typeUrl: this.typeUrl,
      subscribed: [...this.names],
      wildcard: this.wildcard,
      sentVersion: this.sentVersion,
      ackedVersion: this.ackedVersion,
      rejection: this.rejection,
    };
  }

  private get isComplete(): boolean {
    return this.kind?.isComplete ?? false;
  }

  private setOf(snapshot: Snapshot): ResourceSet {
    return this.kind === undefined ? emptyResourceSet : snapshot.set(this.kind);
  }

  private needsComplete(set: ResourceSet): boolean {
    if (this.wildcard) return this.sentVersion !== set.version;
    if (this.names.size === 0) return false;
    for (const name of this.names) {
      if (!this.told.has(name) || this.told.get(name) !== set.byName.get(name)?.version)
        return true;
    }
    return false;
  }

  private completeAnswer(set: ResourceSet): Answer {
    if (this.wildcard) return { version: set.version, resources: [...set.byName.values()] };
    const resources: SnapshotResource[] = [];
    for (const name of this.names) {
      const resource = set.byName.get(name);
      if (resource !== undefined) resources.push(resource);
    }
    return { version: set.version, resources };
  }

  private forgetUnsubscribed(): void {
    for (const name of this.told.keys()) {
      if (!this.names.has(name)) this.told.delete(name);
    }
  }
}

function equalSets(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item));
}
