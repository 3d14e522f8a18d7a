import type { FakeServer, FakeStream } from '../support/fake-transport';
import { authorityConfig, Harness, serverConfig, type HarnessOptions } from './harness';
import { seconds, wrapper } from './test-resource';

const PRIMARY = 'management server primary (node "node-1")';
const SECOND = 'management server second (node "node-1")';
const THIRD = 'management server third (node "node-1")';
const servers = ['primary', 'second', 'third'].map((uri) => serverConfig(uri));

class FallbackHarness extends Harness {
  constructor(options: HarnessOptions = { servers: servers.slice(0, 2) }) {
    super(options);
  }

  get primary() {
    return this.network.server('primary');
  }

  get second() {
    return this.network.server('second');
  }

  get third() {
    return this.network.server('third');
  }

  reply(server: 'primary' | 'second' | 'third', version: string, values: Record<string, string>) {
    this.network.server(server).stream.respond({
      typeUrl: this.endpoints.typeUrl,
      versionInfo: version,
      resources: Object.entries(values).map(([name, v]) => this.endpoints.resource(name, v)),
    });
  }
}

describe('fallback (gRFC A71)', () => {
  it('uses the first server only, as long as it can be reached', () => {
    const h = new FallbackHarness();
    h.watch(h.endpoints, 'a');
    h.clock.advance(60_000);
    expect(h.second.streams).toEqual([]);
  });

  it('uses the second server at startup, without an error, and requests everything from it', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    const b = h.watch(h.listener, 'b');
    h.primary.stream.end();
    expect(h.second.stream.requests).toMatchObject([
      { typeUrl: h.endpoints.typeUrl, resourceNames: ['a'], node: { id: 'node-1' } },
      { typeUrl: h.listener.typeUrl, resourceNames: ['b'] },
    ]);
    h.reply('second', '1', { a: 'from second' });
    expect(a.told).toEqual(['value from second']);
    expect(b.told).toEqual([]);
  });

  it('keeps trying the first server, and drops the second with the first answer', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    h.reply('second', '1', { a: 'from second' });
    h.clock.advance(1000);
    expect(h.primary.streams).toHaveLength(2);
    expect(h.primary.stream.request.resourceNames).toEqual(['a']);
    expect(h.second.openConnections).toBe(1);
    h.reply('primary', '1', { a: 'from primary' });
    expect(h.second.openConnections).toBe(0);
    expect(a.told).toEqual(['value from second', 'value from primary']);
  });

  it('stays with what is cached when nothing is missing, and says that it may be outdated', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    expect(h.second.streams).toEqual([]);
    expect(a.told).toEqual([
      'value one',
      `ambient Endpoints "a": ${PRIMARY} cannot be reached: connection refused`,
    ]);
  });

  it('takes a resource known to be missing for cached', () => {
    const h = new FallbackHarness();
    h.watch(h.endpoints, 'a');
    h.clock.advance(15_000);
    h.primary.stream.end();
    expect(h.second.streams).toEqual([]);
  });

  it('takes a resource that was rejected for uncached unless it has an earlier value', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: 'one' });
    h.reply('primary', '2', { a: '!bad' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    expect(h.second.streams).toEqual([]);
    h.clock.advance(1000);
    const b = h.watch(h.endpoints, 'b');
    h.second.stream.end();
    h.reply('primary', '3', { a: 'three', b: '!bad' });
    h.clock.advance(1000);
    const before = h.second.streams.length;
    h.primary.stream.end();
    h.primary.stream.end();
    expect(h.second.streams.length).toBe(before + 1);
    h.reply('second', '1', { a: 'own', b: 'good' });
    expect([a.values.at(-1), b.values.at(-1)]).toEqual([{ text: 'own' }, { text: 'good' }]);
  });

  it('begins when a new resource is watched while the server is down', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.reply('primary', '1', { a: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    const b = h.watch(h.endpoints, 'b');
    expect(h.second.stream.request.resourceNames).toEqual(['a', 'b']);
    h.reply('second', '1', { a: 'one', b: 'two' });
    expect(b.told).toEqual(['value two']);
    expect(a.told).toEqual([
      'value one',
      `ambient Endpoints "a": ${PRIMARY} cannot be reached: connection refused`,
      'ambient over',
      'value one',
    ]);
  });

  it('notifies of an error only when every server is down, with the reason of each', () => {
    const h = new FallbackHarness({ servers });
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end(14, 'refused by primary');
    h.second.stream.end(14, 'refused by second');
    expect(a.told).toEqual([]);
    h.third.stream.end(14, 'refused by third');
    expect(a.told).toEqual([
      `error Endpoints "a": ${PRIMARY} cannot be reached: refused by primary; ` +
        `${SECOND} cannot be reached: refused by second; ` +
        `${THIRD} cannot be reached: refused by third`,
    ]);
  });

  it('goes back one server at a time', () => {
    const h = new FallbackHarness({ servers });
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    h.second.stream.end();
    h.reply('third', '1', { a: 'from third' });
    h.clock.advance(1000);
    h.reply('second', '1', { a: 'from second' });
    expect([h.primary, h.second, h.third].map((s) => s.openConnections)).toEqual([1, 1, 0]);
    h.reply('primary', '1', { a: 'from primary' });
    expect([h.primary, h.second, h.third].map((s) => s.openConnections)).toEqual([1, 0, 0]);
    expect(a.told).toEqual(['value from third', 'value from second', 'value from primary']);
  });

  it('skips a server known to be down', () => {
    const h = new FallbackHarness({ servers });
    h.second.refusal = 'no credentials';
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    expect(h.third.stream.request.resourceNames).toEqual(['a']);
    h.reply('third', '1', { a: 'from third' });
    expect(a.told).toEqual(['value from third']);
  });

  it('happens in the middle of an update: what the first server has sent stays until there is more', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    const b = h.watch(h.endpoints, 'b');
    h.reply('primary', '1', { a: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    expect([a.told, b.told]).toEqual([['value one'], []]);
    h.reply('second', '9', { b: 'two' });
    expect([a.told, b.told]).toEqual([['value one'], ['value two']]);
  });

  // It would otherwise see no reason to send what it believes is still held.
  it('does not send its version to the first server again', () => {
    const h = new FallbackHarness();
    h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.reply('primary', '5', { a: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    expect(h.primary.stream.request.versionInfo).toBe('5');
    h.primary.stream.end();
    h.reply('second', '9', { a: 'other', b: 'two' });
    h.clock.advance(1000);
    expect(h.primary.stream.request).toMatchObject({ versionInfo: '', resourceNames: ['a', 'b'] });
  });

  it('decodes the same bytes again when they come from another server', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.reply('primary', '1', { a: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    h.reply('second', '1', { a: 'one' });
    expect(h.endpoints.lastServerUri).toBe('second');
    expect(a.told).toEqual(['value one', 'value one']);
  });

  it('with fallback_on_reachability_only needs no other reason (gRFC A95)', () => {
    const authorities = new Map([['x', authorityConfig(servers.slice(0, 2), true)]]);
    const h = new FallbackHarness({ authorities });
    const name = `xdstp://x/test.Endpoints/a`;
    const a = h.watch(h.endpoints, name);
    h.reply('primary', '1', { [name]: 'one' });
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    expect(h.second.stream.request.resourceNames).toEqual([name]);
    expect(a.told).toEqual(['value one']);
  });

  it('of one authority leaves another one where it is', () => {
    const authorities = new Map([['x', authorityConfig(servers.slice(0, 2))]]);
    const h = new FallbackHarness({
      servers: [servers[0] ?? serverConfig('primary')],
      authorities,
    });
    const name = `xdstp://x/test.Endpoints/a`;
    const plain = h.watch(h.endpoints, 'plain');
    const inX = h.watch(h.endpoints, name);
    h.primary.stream.end();
    expect(plain.told).toEqual([
      `error Endpoints "plain": ${PRIMARY} cannot be reached: connection refused`,
    ]);
    expect(inX.told).toEqual([]);
    expect(h.second.stream.request.resourceNames).toEqual([name]);
  });

  // 1. Authority x falls back to the server that the other names live on. 2. It returns to its own.
  // 3. What the other server has to say is none of its business any more.
  it('to a server of others leaves no trace there when it is over', () => {
    const [primary, second] = [serverConfig('primary'), serverConfig('second')];
    const authorities = new Map([['x', authorityConfig([primary, second])]]);
    const h = new FallbackHarness({ servers: [second], authorities });
    const name = `xdstp://x/test.Listener/a`;
    const plain = h.watch(h.listener, 'plain');
    const inX = h.watch(h.listener, name);
    h.primary.stream.end();
    expect(h.second.streams).toHaveLength(1);
    expect(h.second.stream.request.resourceNames).toEqual(['plain', name]);
    h.clock.advance(1000);
    h.primary.stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      resources: [h.listener.resource(name, 'own')],
    });
    expect(h.second.stream.request.resourceNames).toEqual(['plain']);
    h.second.stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      resources: [h.listener.resource('plain', 'other')],
    });
    expect(inX.told).toEqual(['value own']);
    expect(plain.told).toEqual(['value other']);
  });

  it('keeps the error up to date for each server', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end(14, 'first reason');
    h.second.stream.end(14, 'down');
    h.clock.advance(1000);
    a.take();
    h.primary.stream.end(14, 'second reason');
    expect(a.told).toEqual([
      `error Endpoints "a": ${PRIMARY} cannot be reached: second reason; ` +
        `${SECOND} cannot be reached: down`,
    ]);
  });

  it('stops with the last watch', () => {
    const h = new FallbackHarness();
    const a = h.watch(h.endpoints, 'a');
    h.primary.stream.end();
    a.release();
    expect(h.network.openConnections).toBe(0);
    expect(h.clock.pendingTimers).toBe(0);
  });

  // 1. The first server is back, received the version of "a", and has nothing to send. 2. Before it is known to be
  // well, something new is requested, and the second server sends "a", too. 3. The first server must send it again.
  it.each([
    ['state of the world', []],
    ['incremental', ['grpc_xds_delta']],
  ])(
    'does not keep the resources of the second server after a silent reconnect (%s)',
    (_, features) => {
      const h = new FallbackHarness({
        servers: [serverConfig('primary', features), serverConfig('second')],
      });
      const isDelta = features.length > 0;
      const send = (values: Record<string, string>) => {
        if (!isDelta) h.reply('primary', '5', values);
        else {
          h.primary.stream.respondDelta({
            typeUrl: h.endpoints.typeUrl,
            resources: Object.entries(values).map(([name, v]) =>
              wrapper(name, h.endpoints.resource(name, v), { version: '5' }),
            ),
          });
        }
      };
      const claims = () =>
        isDelta
          ? [...h.primary.stream.deltaRequest.initialResourceVersions.values()].join()
          : h.primary.stream.request.versionInfo;
      const a = h.watch(h.endpoints, 'a');
      send({ a: 'one' });
      h.clock.advance(1000);
      h.primary.stream.end();
      h.primary.stream.end();
      h.clock.advance(1000);
      expect(claims()).toBe('5');
      const silent = h.primary.stream;

      const b = h.watch(h.endpoints, 'b');
      h.reply('second', '9', { a: 'from second', b: 'two' });
      expect(a.values.at(-1)?.text).toBe('from second');
      // On the stream on which it received the version, it would not send "a" again.
      expect(silent.isOpen).toBe(false);
      expect(claims()).toBe('');
      h.clock.advance(60_000);
      expect(h.second.openConnections).toBe(1);

      a.take();
      b.take();
      send({ a: 'one', b: 'own' });
      expect([a.take(), b.take()]).toEqual([['value one'], ['value own']]);
      expect(h.second.openConnections).toBe(0);
    },
  );

  // 1. The stream of one type fails, the one of the other type works. 2. The second server sends both types. 3. When the
  // first server is well again, its working stream must send its type again.
  it('does not keep the resources of the second server whose stream of the first never failed', () => {
    const h = new FallbackHarness({
      servers: [serverConfig('primary', ['grpc_xds_separate_streams']), serverConfig('second')],
    });
    const listener = h.watch(h.listener, 'l');
    const answer = (version: string, text: string) =>
      streamOf(h.primary, 'test.ListenerDiscoveryService').respond({
        typeUrl: h.listener.typeUrl,
        versionInfo: version,
        resources: [h.listener.resource('l', text)],
      });
    answer('1', 'own');
    h.watch(h.endpoints, 'e');
    streamOf(h.primary, 'test.EndpointDiscoveryService').end();
    h.second.stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '9',
      resources: [h.listener.resource('l', 'from second')],
    });
    expect(listener.take()).toEqual(['value own', 'value from second']);
    h.clock.advance(1000);
    streamOf(h.primary, 'test.EndpointDiscoveryService').respond({
      typeUrl: h.endpoints.typeUrl,
      versionInfo: '1',
      resources: [h.endpoints.resource('e', 'own')],
    });
    expect(h.second.openConnections).toBe(0);
    expect(streamOf(h.primary, 'test.ListenerDiscoveryService').request.versionInfo).toBe('');
    answer('1', 'own');
    expect(listener.take()).toEqual(['value own']);
  });

  // 1. The second server has sent a value. 2. The first server is back, and renews the one that it sent before.
  it('returns to the value of the first server that a heartbeat renews', () => {
    const h = new FallbackHarness({
      servers: [serverConfig('primary', ['grpc_xds_delta']), serverConfig('second')],
    });
    const respond = (name: string, value: string | undefined) =>
      h.primary.stream.respondDelta({
        typeUrl: h.endpoints.typeUrl,
        resources: [
          wrapper(name, value === undefined ? undefined : h.endpoints.resource(name, value), {
            version: '1',
            ttl: seconds(100),
          }),
        ],
      });
    const a = h.watch(h.endpoints, 'a');
    respond('a', 'own');
    h.clock.advance(1000);
    h.primary.stream.end();
    h.primary.stream.end();
    h.watch(h.endpoints, 'b');
    h.reply('second', '9', { a: 'from second', b: 'two' });
    a.take();
    h.clock.advance(2000);
    respond('a', undefined);
    expect(a.take()).toEqual(['value own']);
    h.clock.advance(100_000);
    expect(a.errors).toHaveLength(1);
  });
});

/** The newest stream of a service. */
function streamOf(server: FakeServer, service: string): FakeStream {
  const stream = server.streams.findLast(({ method }) => method.startsWith(`/${service}/`));
  if (stream === undefined) throw new Error(`there is no stream of ${service}`);
  return stream;
}
