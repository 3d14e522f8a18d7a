import type { TypeState } from './client-state';
import type { ResourceError } from './resource-error';
import { findResourceKind, type ResourceKind } from './resource-kind';
import {
  digestOf,
  emptyResourceSet,
  type ResourceSet,
  type SnapshotResource,
} from './resource-set';
import { ResponseLedger } from './response-ledger';
import type { Snapshot } from './snapshot';

/** What a client has to be sent of one type, before it gets a nonce. */
export interface Answer {
  readonly version: string;
  readonly resources: readonly SnapshotResource[];
  readonly errors: readonly ResourceError[];
}

const wildcardName = '*';

/** One type on one stream: what the client asked for, what it was sent and what it said to that. */
export class TypeSubscription {
  readonly responses = new ResponseLedger();
  private names: ReadonlySet<string> = new Set();
  private wildcard = false;
  private namedBefore = false;

  /**
   * Digest of what the client was told of each name; undefined for one it knows not to exist.
   * Forgets names that are unsubscribed, so that asking again gets an answer again.
   */
  private readonly told = new Map<string, string | undefined>();

  constructor(readonly typeUrl: string) {}

  /** Undefined as long as this server has never held a resource of the type. */
  get kind(): ResourceKind | undefined {
    return findResourceKind(this.typeUrl);
  }

  /**
   * Whether a request was written before the client saw the last response. Its names must not be
   * read: the client will say them again when it answers that response.
   */
  isStale(nonce: string): boolean {
    const { lastNonce } = this.responses;
    return lastNonce !== undefined && nonce !== lastNonce;
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

  /** What the client has to be told to be up to date with a snapshot; undefined when it is. */
  answer(snapshot: Snapshot): Answer | undefined {
    const set = this.setOf(snapshot);
    if (this.isComplete) return this.needsComplete(set) ? this.completeAnswer(set) : undefined;
    const answer = this.answerFor(this.wildcard ? namesIn(set) : this.names, set, (name) => {
      const digest = digestOf(set, name);
      return digest !== undefined && this.told.get(name) !== digest;
    });
    return answer.resources.length + answer.errors.length === 0 ? undefined : answer;
  }

  /** Everything there is of what the client has subscribed to, whether or not it is news. */
  answerAll(snapshot: Snapshot): Answer {
    return this.completeAnswer(this.setOf(snapshot));
  }

  /** Resources the client uses that this answer takes away. */
  removedBy(answer: Answer, previous: Snapshot): readonly SnapshotResource[] {
    const kept = new Set([...answer.resources, ...answer.errors].map(({ name }) => name));
    const removed: SnapshotResource[] = [];
    for (const [name, digest] of this.told) {
      if (digest === undefined || kept.has(name)) continue;
      const resource = this.setOf(previous).byName.get(name);
      if (resource !== undefined) removed.push(resource);
    }
    return removed;
  }

  /** Whether an answer holds anything the client does not know. */
  hasNews(answer: Answer): boolean {
    return answer.resources.some(({ name, digest }) => this.told.get(name) !== digest);
  }

  /** Records that an answer was sent. */
  markSent(answer: Answer, nonce: string): void {
    this.responses.markSent(nonce, answer.version);
    if (this.isComplete) {
      this.told.clear();
      for (const name of this.names) this.told.set(name, undefined);
    }
    for (const list of [answer.resources, answer.errors]) {
      for (const { name, digest } of list) this.told.set(name, digest);
    }
  }

  /** The resources the client has that expire. */
  expiring(snapshot: Snapshot): readonly SnapshotResource[] {
    const set = this.setOf(snapshot);
    const found: SnapshotResource[] = [];
    for (const [name, digest] of this.told) {
      const resource = set.byName.get(name);
      if (resource?.ttlMs !== undefined && resource.digest === digest) found.push(resource);
    }
    return found;
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

  private get isComplete(): boolean {
    return this.kind?.isComplete ?? false;
  }

  private setOf(snapshot: Snapshot): ResourceSet {
    return this.kind === undefined ? emptyResourceSet : snapshot.set(this.kind);
  }

  private needsComplete(set: ResourceSet): boolean {
    if (this.wildcard) return this.responses.sentVersion !== set.version;
    for (const name of this.names) {
      if (!this.told.has(name) || this.told.get(name) !== digestOf(set, name)) return true;
    }
    return false;
  }

  private completeAnswer(set: ResourceSet): Answer {
    return this.answerFor(this.wildcard ? namesIn(set) : this.names, set, () => true);
  }

  /** What there is to tell of some names. An error takes the place of the resource. */
  private answerFor(
    names: Iterable<string>,
    set: ResourceSet,
    isWanted: (name: string) => boolean,
  ): Answer {
    const resources: SnapshotResource[] = [];
    const errors: ResourceError[] = [];
    for (const name of names) {
      if (!isWanted(name)) continue;
      const error = set.errors.get(name);
      const resource = set.byName.get(name);
      if (error !== undefined) errors.push(error);
      else if (resource !== undefined) resources.push(resource);
    }
    return { version: set.version, resources, errors };
  }

  private forgetUnsubscribed(): void {
    for (const name of this.told.keys()) {
      if (!this.names.has(name)) this.told.delete(name);
    }
  }
}

/** Every name the set has something to say about. */
function namesIn({ byName, errors }: ResourceSet): Iterable<string> {
  return errors.size === 0 ? byName.keys() : new Set([...byName.keys(), ...errors.keys()]);
}

function equalSets(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((item) => b.has(item));
}
