import {
  clusterKind,
  endpointKind,
  Snapshot,
  type ResourceKind,
  type SnapshotInput,
} from '../../src/control-plane';
import { createDeltaSubscriptions } from '../../src/control-plane/ads/delta-subscription';
import { createSotwSubscriptions } from '../../src/control-plane/ads/sotw-subscription';
import type { PlannedResponse } from '../../src/control-plane/ads/subscriptions';
import { digestOf } from '../../src/control-plane/snapshot/resource-set';
import type { Random } from '../../src/util/random';
import { seededRandom } from '../support/seeded-random';

// Clients that do nothing but what they are told, against snapshots that come and go at random: after every step they
// must have exactly what they ask for. Each seed is a story of its own.

const names = ['a', 'b', 'c', 'd', 'e'];
const stepsPerStory = 200;
const seeds = Array.from({ length: 10 }, (_, index) => index + 1);

/** Some of a list, in its order. */
function pickSome<T>(random: Random, list: readonly T[]): readonly T[] {
  return list.filter(() => random() < 0.4);
}

function randomSnapshot(random: Random): Snapshot {
  const resources = ({ typeUrl }: ResourceKind) =>
    pickSome(random, names).map((name) => ({
      typeUrl,
      name,
      value: Buffer.from([Math.floor(random() * 3)]),
    }));
  const input: SnapshotInput = {
    clusters: resources(clusterKind),
    endpoints: resources(endpointKind),
    errors: pickSome(random, pickSome(random, names)).map((name) => ({
      kind: clusterKind,
      name,
      code: 5,
      message: 'gone',
    })),
  };
  return Snapshot.from(input);
}

/** What a client has, by name: the digest of a resource or an error; nothing for what does not exist. */
type Cache = Map<string, string>;

/** What there is for these names. */
function existing(snapshot: Snapshot, kind: ResourceKind, wanted: Iterable<string>): Cache {
  const cache: Cache = new Map();
  for (const name of wanted) {
    const digest = digestOf(snapshot.set(kind), name);
    if (digest !== undefined) cache.set(name, digest);
  }
  return cache;
}

const sorted = (cache: Cache) => [...cache].sort();

/** A client of clusters on incremental streams, one after the other. */
class DeltaModel {
  readonly cache: Cache = new Map();
  private readonly versions = new Map<string, string>();
  private readonly wanted = new Set<string>();
  private wildcard = false;
  private isNewStream = true;
  private stream: ReturnType<typeof createDeltaSubscriptions>;

  constructor(private snapshot: Snapshot) {
    this.stream = createDeltaSubscriptions(snapshot);
  }

  /** The names this has to know about. */
  get asksFor(): Iterable<string> {
    return this.wildcard ? names : this.wanted;
  }

  ask(subscribe: readonly string[], unsubscribe: readonly string[]): void {
    for (const name of unsubscribe) {
      if (name === '*') this.wildcard = false;
      else this.wanted.delete(name);
    }
    for (const name of subscribe) {
      if (name === '*') this.wildcard = true;
      else this.wanted.add(name);
    }
    for (const name of names) {
      if (!this.wildcard && !this.wanted.has(name)) this.forget(name);
    }
    const { response } = this.stream.onRequest({
      typeUrl: clusterKind.typeUrl,
      subscribe,
      unsubscribe,
      initialVersions: this.isNewStream ? this.versions : new Map<string, string>(),
      responseNonce: '',
    });
    this.isNewStream = false;
    this.take(response);
  }

  change(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    for (const response of this.stream.onSnapshot(snapshot)) this.take(response);
  }

  /** Loses the stream, and comes back when there is another snapshot. */
  reconnect(snapshot: Snapshot): void {
    // Without a name, the first request would ask for everything.
    if (!this.wildcard && this.wanted.size === 0) this.ask(['a'], []);
    // Errors are of a stream: the next one tells again of those that still hold.
    for (const name of names) if (!this.versions.has(name)) this.forget(name);
    this.snapshot = snapshot;
    this.stream = createDeltaSubscriptions(snapshot);
    this.isNewStream = true;
    this.ask([...(this.wildcard ? ['*'] : []), ...this.wanted], []);
  }

  check(): void {
    const expected = existing(this.snapshot, clusterKind, this.asksFor);
    expect(sorted(this.cache)).toEqual(sorted(expected));
  }

  private take(response: PlannedResponse | undefined): void {
    if (response === undefined) return;
    for (const { name, digest, version } of response.resources) {
      this.cache.set(name, digest);
      this.versions.set(name, version);
    }
    for (const { name, digest } of response.errors) {
      this.cache.set(name, digest);
      this.versions.delete(name);
    }
    for (const name of response.removed) this.forget(name);
  }

  private forget(name: string): void {
    this.cache.delete(name);
    this.versions.delete(name);
  }
}

/** A client of one type on a state-of-the-world stream. */
class SotwModel {
  private readonly cache: Cache = new Map();
  private wanted: ReadonlySet<string> = new Set();
  private nonce = '';

  constructor(
    private readonly stream: ReturnType<typeof createSotwSubscriptions>,
    private readonly kind: ResourceKind,
  ) {}

  ask(next: ReadonlySet<string>): void {
    this.wanted = next;
    for (const name of names) if (!next.has(name)) this.cache.delete(name);
    const request = { typeUrl: this.kind.typeUrl, resourceNames: [...next] };
    const { response } = this.stream.onRequest({ ...request, responseNonce: this.nonce });
    if (response !== undefined) this.take(response);
  }

  take(response: PlannedResponse): void {
    if (response.typeUrl !== this.kind.typeUrl) return;
    this.nonce = response.nonce;
    if (this.kind.isComplete) this.cache.clear();
    for (const { name, digest } of [...response.resources, ...response.errors]) {
      this.cache.set(name, digest);
    }
  }

  check(snapshot: Snapshot): void {
    const there = existing(snapshot, this.kind, this.wanted);
    const had = new Map(this.cache);
    // Endpoints cannot be taken away, so the client may have more than there is.
    if (!this.kind.isComplete) for (const name of names) if (!there.has(name)) had.delete(name);
    expect(sorted(had)).toEqual(sorted(there));
  }
}

describe.each(seeds)('a client that does what it is told (seed %i)', (seed) => {
  it('has what it asks for on incremental streams', () => {
    const random = seededRandom(seed);
    const client = new DeltaModel(randomSnapshot(random));
    client.ask(['a'], []);
    for (let step = 0; step < stepsPerStory; step++) {
      const dice = random();
      const some = () => pickSome(random, [...names, '*']);
      if (dice < 0.4) client.change(randomSnapshot(random));
      else if (dice < 0.9) client.ask(some(), some());
      else client.reconnect(randomSnapshot(random));
      client.check();
    }
  });

  it('has what it asks for on a state-of-the-world stream', () => {
    const random = seededRandom(seed);
    let snapshot = randomSnapshot(random);
    const stream = createSotwSubscriptions(snapshot);
    const clients = [clusterKind, endpointKind].map((kind) => new SotwModel(stream, kind));
    for (let step = 0; step < stepsPerStory; step++) {
      if (random() < 0.5) {
        snapshot = randomSnapshot(random);
        for (const response of stream.onSnapshot(snapshot)) {
          for (const client of clients) client.take(response);
        }
      } else {
        // Never nothing: for clusters that would be everything at first.
        clients[random() < 0.5 ? 0 : 1]?.ask(new Set(['a', ...pickSome(random, names)]));
      }
      for (const client of clients) client.check(snapshot);
    }
  });
});
