import { serverConfig, Harness } from './harness';
import { seconds, wrap, wrapper, type TestResourceType } from './test-resource';

const SERVER = 'management server xds.test:1 (node "node-1")';

interface Sent {
  readonly name: string;
  /** `undefined` in a heartbeat. */
  readonly value: string | undefined;
  readonly ttl?: number;
  readonly version?: string;
}

/** A client of one variant of the protocol, and what a server sends it. */
interface Variant {
  readonly name: string;
  readonly features: readonly string[];
  send(h: Harness, type: TestResourceType, resources: readonly Sent[]): void;
}

function resourceOf(type: TestResourceType, { name, value }: Sent) {
  return value === undefined ? undefined : type.resource(name, value);
}

function extraOf({ ttl, version = '1' }: Sent) {
  return { version, ttl: ttl === undefined ? undefined : seconds(ttl) };
}

const VARIANTS: readonly Variant[] = [
  {
    name: 'state of the world',
    features: [],
    send: (h, type, resources) =>
      h.stream.respond({
        typeUrl: type.typeUrl,
        versionInfo: '1',
        resources: resources.map((sent) => wrap(sent.name, resourceOf(type, sent), extraOf(sent))),
      }),
  },
  {
    name: 'incremental',
    features: ['grpc_xds_delta'],
    send: (h, type, resources) =>
      h.stream.respondDelta({
        typeUrl: type.typeUrl,
        resources: resources.map((sent) =>
          wrapper(sent.name, resourceOf(type, sent), extraOf(sent)),
        ),
      }),
  },
];

describe.each(VARIANTS)('a time to live ($name)', ({ features, send }) => {
  const harness = (extra: readonly string[] = []) =>
    new Harness({ servers: [serverConfig('xds.test:1', [...features, ...extra])] });

  it('ends the use of a resource that is not renewed, and notifies its watchers', () => {
    const h = harness();
    const watcher = h.watch(h.endpoints, 'a');
    send(h, h.endpoints, [{ name: 'a', value: 'one', ttl: 2.5 }]);
    h.clock.advance(2499);
    expect(watcher.take()).toEqual(['value one']);
    h.clock.advance(1);
    expect(watcher.take()).toEqual([
      `error Endpoints "a": no such resource: ${SERVER} has not renewed it within its time to live of 2.5 s: see its log`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('does-not-exist');
    expect(h.client.snapshot().resources).toMatchObject([
      { status: 'DOES_NOT_EXIST', accepted: undefined },
    ]);
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('begins anew with every heartbeat, which decodes nothing and notifies no watcher', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    const other = h.watch(h.listener, 'without');
    send(h, h.listener, [
      { name: 'a', value: 'one', ttl: 10 },
      { name: 'without', value: 'two' },
    ]);
    for (let round = 0; round < 5; round++) {
      h.clock.advance(9999);
      send(h, h.listener, [{ name: 'a', value: undefined, ttl: 10 }]);
    }
    h.clock.advance(9999);
    expect(watcher.told).toEqual(['value one']);
    expect(h.listener.decoded).toEqual(['a', 'without']);
    h.clock.advance(1);
    expect(watcher.errors).toHaveLength(1);
    // What a heartbeat leaves out is not thereby deleted.
    expect(other.told).toEqual(['value two']);
  });

  it('may be another one after a heartbeat, and stays as it is if that has none', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    send(h, h.listener, [{ name: 'a', value: undefined, ttl: 20 }]);
    h.clock.advance(15_000);
    send(h, h.listener, [{ name: 'a', value: undefined }]);
    h.clock.advance(4_999);
    expect(watcher.errors).toEqual([]);
    h.clock.advance(1);
    expect(watcher.errors).toHaveLength(1);
  });

  it('begins anew when the resource is sent again, and ends when it is sent without', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(9000);
    send(h, h.listener, [{ name: 'a', value: 'two', ttl: 10 }]);
    h.clock.advance(9000);
    send(h, h.listener, [{ name: 'a', value: 'two' }]);
    h.clock.advance(100_000);
    expect(watcher.told).toEqual(['value one', 'value two']);
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('goes on while newer versions are rejected', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(9000);
    send(h, h.listener, [{ name: 'a', value: '!bad', ttl: 10 }]);
    h.clock.advance(1000);
    expect(watcher.told.at(-1)).toMatch(/^error .* time to live of 10 s: see its log$/);
  });

  it('that is longer than timers know is none', () => {
    const h = new Harness({ servers: [serverConfig('xds.test:1', features)] });
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 2 ** 33 }]);
    const days = 24 * 60 * 60 * 1000;
    h.clock.advance(30 * days);
    expect(watcher.told).toEqual(['value one']);
  });

  it('of zero is none', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 0 }]);
    h.clock.advance(100_000);
    expect(watcher.told).toEqual(['value one']);
  });

  it('counts even if the deletions of the server are ignored', () => {
    const h = harness(['ignore_resource_deletion']);
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(10_000);
    expect(watcher.errors).toHaveLength(1);
  });

  it('is released with the resource', () => {
    const h = harness();
    h.watch(h.endpoints, 'other');
    send(h, h.endpoints, [{ name: 'other', value: 'one' }]);
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    watcher.release();
    expect(h.clock.pendingTimers).toBe(0);
  });

  // 1. It expires. 2. The server goes on sending heartbeats, of which each may have crossed the request. 3. It comes.
  it('that is over makes the client request again what the server believes to be cached', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'a');
    h.watch(h.listener, 'b');
    send(h, h.listener, [
      { name: 'a', value: 'one', ttl: 10 },
      { name: 'b', value: 'two' },
    ]);
    h.clock.advance(10_000);
    watcher.take();
    h.stream.clearRequests();
    for (let round = 0; round < 5; round++) {
      send(h, h.listener, [{ name: 'a', value: undefined, ttl: 10 }]);
    }
    const asked = h.stream.requests.map(({ resourceNames }) => resourceNames.join());
    const askedDelta = h.stream.deltaRequests.flatMap((each) => each.resourceNamesSubscribe);
    expect(features.length === 0 ? asked : askedDelta).toEqual(
      features.length === 0 ? ['b', 'a,b', 'b', 'a,b', 'b', 'a,b', 'a,b', 'a,b'] : ['a'],
    );
    send(h, h.listener, [
      { name: 'a', value: 'one', ttl: 10 },
      { name: 'b', value: 'two' },
    ]);
    expect(watcher.take()).toEqual(['value one']);
  });

  it('ends while no server can be reached, which is a reason to fall back', () => {
    const servers = [serverConfig('xds.test:1', features), serverConfig('xds.test:2', features)];
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    h.server.isReachable = false;
    expect(h.network.openConnections).toBe(1);
    h.clock.advance(9000);
    expect(h.network.openConnections).toBe(2);
    expect(watcher.errors).toHaveLength(1);
  });
});

describe('a heartbeat on an incremental stream', () => {
  it('counts for the version in use only', () => {
    const [, delta] = VARIANTS;
    const h = new Harness({ servers: [serverConfig('xds.test:1', ['grpc_xds_delta'])] });
    const watcher = h.watch(h.listener, 'a');
    delta?.send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(5000);
    delta?.send(h, h.listener, [{ name: 'a', value: undefined, ttl: 10, version: '2' }]);
    h.clock.advance(5000);
    expect(watcher.errors).toHaveLength(1);
  });

  it('may leave the version away', () => {
    const [, delta] = VARIANTS;
    const h = new Harness({ servers: [serverConfig('xds.test:1', ['grpc_xds_delta'])] });
    const watcher = h.watch(h.listener, 'a');
    delta?.send(h, h.listener, [{ name: 'a', value: 'one', ttl: 10 }]);
    h.clock.advance(5000);
    delta?.send(h, h.listener, [{ name: 'a', value: undefined, ttl: 10, version: '' }]);
    h.clock.advance(5000);
    expect(watcher.errors).toHaveLength(0);
  });
});
