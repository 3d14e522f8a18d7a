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
import { digestOf } from '../../src/control-plane/resource';
import { serveSnapshot } from '../../src/control-plane/snapshot/snapshot-store';
import type { Random } from '../../src/util/random';
import { seededRandom } from '../support/seeded-random';

// Clients that apply responses literally, against random snapshots: after every step, the cache of a client must hold
// exactly the subscribed resources. Each seed is an independent sequence.

const names = ['a', 'b', 'c', 'd', 'e'];
const stepsPerSeed = 200;
const seeds = Array.from({ length: 10 }, (_, index) => index + 1);

/** Returns a random subset of a list, in its order. */
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
      message: 'no',
    })),
  };
  return Snapshot.from(input);
}

/** The cache of a client: the digests of resources and errors, by name. */
type Cache = Map<string, string>;

/** Returns the digests of these names in a snapshot. */
function existing(snapshot: Snapshot, kind: ResourceKind, subscribed: Iterable<string>): Cache {
  const cache: Cache = new Map();
  for (const name of subscribed) {
    const digest = digestOf(snapshot.set(kind), name);
    if (digest !== undefined) cache.set(name, digest);
  }
  return cache;
}

const sorted = (cache: Cache) => [...cache].sort();

/** A client of clusters on successive incremental streams. */
class DeltaModel {
  readonly cache: Cache = new Map();
  private readonly versions = new Map<string, string>();
  private readonly names = new Set<string>();
  private wildcard = false;
  private isNewStream = true;
  private stream: ReturnType<typeof createDeltaSubscriptions>;

  constructor(private snapshot: Snapshot) {
    this.stream = createDeltaSubscriptions(serveSnapshot(snapshot));
  }

  /** The names whose state the client must know. */
  get subscribed(): Iterable<string> {
    return this.wildcard ? names : this.names;
  }

  request(subscribe: readonly string[], unsubscribe: readonly string[]): void {
    for (const name of unsubscribe) {
      if (name === '*') this.wildcard = false;
      else this.names.delete(name);
    }
    for (const name of subscribe) {
      if (name === '*') this.wildcard = true;
      else this.names.add(name);
    }
    for (const name of names) {
      if (!this.wildcard && !this.names.has(name)) this.forget(name);
    }
    const { response } = this.stream.onRequest({
      typeUrl: clusterKind.typeUrl,
      subscribe,
      unsubscribe,
      initialVersions: this.isNewStream ? this.versions : new Map<string, string>(),
      responseNonce: '',
    });
    this.isNewStream = false;
    this.apply(response);
  }

  change(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    for (const response of this.stream.onChanged(serveSnapshot(snapshot))) this.apply(response);
  }

  /** Reconnects after the snapshot has changed. */
  reconnect(snapshot: Snapshot): void {
    // A first request without names would be a wildcard subscription.
    if (!this.wildcard && this.names.size === 0) this.request(['a'], []);
    // Errors belong to a stream: the next stream sends those that still apply.
    for (const name of names) if (!this.versions.has(name)) this.forget(name);
    this.snapshot = snapshot;
    this.stream = createDeltaSubscriptions(serveSnapshot(snapshot));
    this.isNewStream = true;
    this.request([...(this.wildcard ? ['*'] : []), ...this.names], []);
  }

  check(): void {
    const expected = existing(this.snapshot, clusterKind, this.subscribed);
    expect(sorted(this.cache)).toEqual(sorted(expected));
  }

  private apply(response: PlannedResponse | undefined): void {
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
  private names: ReadonlySet<string> = new Set();
  private nonce = '';

  constructor(
    private readonly stream: ReturnType<typeof createSotwSubscriptions>,
    private readonly kind: ResourceKind,
  ) {}

  request(next: ReadonlySet<string>): void {
    this.names = next;
    for (const name of names) if (!next.has(name)) this.cache.delete(name);
    const request = { typeUrl: this.kind.typeUrl, resourceNames: [...next] };
    const { response } = this.stream.onRequest({ ...request, responseNonce: this.nonce });
    if (response !== undefined) this.apply(response);
  }

  apply(response: PlannedResponse): void {
    if (response.typeUrl !== this.kind.typeUrl) return;
    this.nonce = response.nonce;
    if (this.kind.isComplete) this.cache.clear();
    for (const { name, digest } of [...response.resources, ...response.errors]) {
      this.cache.set(name, digest);
    }
  }

  check(snapshot: Snapshot): void {
    const expected = existing(snapshot, this.kind, this.names);
    const cached = new Map(this.cache);
    // Endpoints cannot be removed in this variant, so the cache may hold more than the snapshot.
    if (!this.kind.isComplete)
      for (const name of names) if (!expected.has(name)) cached.delete(name);
    expect(sorted(cached)).toEqual(sorted(expected));
  }
}

describe.each(seeds)('a client that applies every response (seed %i)', (seed) => {
  it('caches exactly the subscribed resources on incremental streams', () => {
    const random = seededRandom(seed);
    const client = new DeltaModel(randomSnapshot(random));
    client.request(['a'], []);
    for (let step = 0; step < stepsPerSeed; step++) {
      const dice = random();
      const some = () => pickSome(random, [...names, '*']);
      if (dice < 0.4) client.change(randomSnapshot(random));
      else if (dice < 0.9) client.request(some(), some());
      else client.reconnect(randomSnapshot(random));
      client.check();
    }
  });

  it('caches exactly the subscribed resources on a state-of-the-world stream', () => {
    const random = seededRandom(seed);
    let snapshot = randomSnapshot(random);
    const stream = createSotwSubscriptions(serveSnapshot(snapshot));
    const clients = [clusterKind, endpointKind].map((kind) => new SotwModel(stream, kind));
    for (let step = 0; step < stepsPerSeed; step++) {
      if (random() < 0.5) {
        snapshot = randomSnapshot(random);
        for (const response of stream.onChanged(serveSnapshot(snapshot))) {
          for (const client of clients) client.apply(response);
        }
      } else {
        // Never an empty request: it would be a wildcard subscription to clusters.
        clients[random() < 0.5 ? 0 : 1]?.request(new Set(['a', ...pickSome(random, names)]));
      }
      for (const client of clients) client.check(snapshot);
    }
  });
});
