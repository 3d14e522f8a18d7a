import type { XdsClient } from '../../src/xds-client/xds-client';
import { DiagnosticRecorder } from '../support/diagnostic-recorder';
import { Harness, RecordingWatcher, serverConfig, type HarnessOptions } from './harness';
import { seconds, wrap, type TestResourceType } from './test-resource';

const PRIMARY = 'management server primary (node "node-1")';
const DOWN = `${PRIMARY} cannot be reached: connection refused`;

/** Two targets of one bootstrap with a primary server and one to fall back to. */
class Targets extends Harness {
  readonly x: XdsClient;
  readonly y: XdsClient;

  constructor(options: HarnessOptions = {}) {
    super({ servers: [serverConfig('primary'), serverConfig('second')], ...options });
    this.x = this.clientOf('xds:///x');
    this.y = this.clientOf('xds:///y');
  }

  get primary() {
    return this.network.server('primary');
  }

  get second() {
    return this.network.server('second');
  }

  watchBy(client: XdsClient, name: string, type = this.endpoints) {
    return this.watch(type, name, new RecordingWatcher(), client);
  }

  reply(
    server: 'primary' | 'second',
    version: string,
    values: Record<string, string>,
    type: TestResourceType = this.endpoints,
  ) {
    this.network.server(server).stream.respond({
      typeUrl: type.typeUrl,
      versionInfo: version,
      resources: Object.entries(values).map(([name, value]) => type.resource(name, value)),
    });
  }

  /** Ends the stream to the primary after it has answered, and the one that replaces it. */
  losePrimary(): void {
    this.clock.advance(1000);
    this.primary.stream.end();
    this.primary.stream.end();
  }
}

const namesOf = (client: XdsClient) => client.snapshot().resources.map(({ name }) => name);
const serversOf = (client: XdsClient) =>
  client.snapshot().servers.map(({ serverUri }) => serverUri);

describe('the clients of several targets', () => {
  it('share one stream and decode a resource once', () => {
    const h = new Targets();
    const watchers = Array.from({ length: 200 }, (_, i) =>
      h.watchBy(h.clientOf(`xds:///${i}`), 'a'),
    );
    h.reply('primary', '1', { a: 'one' });
    h.reply('primary', '2', { a: 'two' });
    expect(h.primary.streams).toHaveLength(1);
    expect(h.primary.openConnections).toBe(1);
    expect(h.endpoints.decoded).toEqual(['a', 'a']);
    for (const watcher of watchers) expect(watcher.told).toEqual(['value one', 'value two']);
    expect(new Set(watchers.map(({ values }) => values[1])).size).toBe(1);
  });

  it('get what is received already from the cache, without a request', () => {
    const h = new Targets();
    h.watchBy(h.x, 'a');
    h.watchBy(h.x, 'bad');
    h.reply('primary', '1', { a: 'one', bad: '!bad' });
    h.primary.stream.clearRequests();
    const [a, bad] = [h.watchBy(h.y, 'a'), h.watchBy(h.y, 'bad')];
    expect(a.told).toEqual(['value one']);
    expect(bad.errors[0]?.kind).toBe('invalid');
    expect(h.primary.stream.requests).toEqual([]);
    expect(h.endpoints.decoded).toEqual(['a', 'bad']);
    expect(h.y.snapshot().resources).toEqual(h.x.snapshot().resources);
  });

  it('share the time limit of a request, and its outcome', () => {
    const h = new Targets();
    const early = h.watchBy(h.x, 'a');
    h.clock.advance(10_000);
    const late = h.watchBy(h.y, 'a');
    h.clock.advance(5000);
    const latest = h.watchBy(h.clientOf('xds:///z'), 'a');
    expect(early.errors).toHaveLength(1);
    expect(late.told).toEqual(early.told);
    expect(latest.told).toEqual(early.told);
  });

  it('list and watch their own resources only', () => {
    const h = new Targets();
    h.watchBy(h.x, 'a');
    h.watchBy(h.x, 'both');
    h.watchBy(h.y, 'both');
    h.watchBy(h.y, 'b');
    expect(namesOf(h.x)).toEqual(['a', 'both']);
    expect(namesOf(h.y)).toEqual(['both', 'b']);
    expect(h.x.waitingFor()).toHaveLength(2);
    h.x.close();
    expect(h.primary.stream.request.resourceNames).toEqual(['both', 'b']);
    expect(namesOf(h.x)).toEqual([]);
    h.y.close();
    expect(h.network.openConnections).toBe(0);
  });

  it('keep a resource that one of them gives up', () => {
    const h = new Targets();
    const gone = h.watchBy(h.x, 'a');
    const kept = h.watchBy(h.y, 'a');
    h.reply('primary', '1', { a: 'one' });
    gone.release();
    h.reply('primary', '2', { a: 'two' });
    expect(kept.told).toEqual(['value one', 'value two']);
    expect(gone.told).toEqual(['value one']);
    expect(h.primary.stream.request.resourceNames).toEqual(['a']);
  });

  it('are all notified of a deletion', () => {
    const h = new Targets();
    const watchers = [h.x, h.y].map((client) => h.watchBy(client, 'a', h.listener));
    h.reply('primary', '1', { a: 'one' }, h.listener);
    h.reply('primary', '2', {}, h.listener);
    for (const { errors } of watchers) expect(errors[0]?.kind).toBe('does-not-exist');
  });

  // 1. The value comes with a time to live. 2. Another target joins while it runs. 3. It ends for both.
  it('share a time to live', () => {
    const h = new Targets();
    const early = h.watchBy(h.x, 'a');
    h.primary.stream.respond({
      typeUrl: h.endpoints.typeUrl,
      versionInfo: '1',
      resources: [wrap('a', h.endpoints.resource('a', 'one'), { ttl: seconds(10) })],
    });
    h.clock.advance(6000);
    const late = h.watchBy(h.y, 'a');
    h.clock.advance(3999);
    expect([early.told, late.told]).toEqual([['value one'], ['value one']]);
    h.clock.advance(1);
    const latest = h.watchBy(h.clientOf('xds:///z'), 'a');
    for (const { errors } of [early, late, latest]) expect(errors[0]?.kind).toBe('does-not-exist');
    expect(latest.values).toEqual([]);
  });

  it('report a long wait for the same resource once in the log', () => {
    const h = new Targets();
    h.watchBy(h.x, 'a');
    h.watchBy(h.y, 'a');
    h.clock.advance(5000);
    expect(h.logger.errors).toEqual([expect.stringContaining('Endpoints "a": waiting for 5.0 s')]);
  });
});

describe('fallback of one of several targets (gRFC A71)', () => {
  it('leaves a target whose resources are all cached with the first server', () => {
    const h = new Targets();
    const cached = h.watchBy(h.y, 'shared');
    h.reply('primary', '1', { shared: 'from primary' });
    h.losePrimary();
    const shared = h.watchBy(h.x, 'shared');
    const lacking = h.watchBy(h.x, 'new');
    h.reply('second', '9', { shared: 'from second', new: 'also' });
    expect(lacking.told).toEqual(['value also']);
    expect(shared.values.at(-1)?.text).toBe('from second');
    expect(cached.told).toEqual(['value from primary', `ambient Endpoints "shared": ${DOWN}`]);
    expect([serversOf(h.x), serversOf(h.y)]).toEqual([['primary', 'second'], ['primary']]);
    const versionOf = (client: XdsClient) => client.snapshot().resources[0]?.accepted?.version;
    expect([versionOf(h.x), versionOf(h.y)]).toEqual(['9', '1']);
  });

  it('does not begin for a new target whose resources other targets have cached', () => {
    const h = new Targets();
    h.watchBy(h.y, 'a');
    h.reply('primary', '1', { a: 'one' });
    h.losePrimary();
    const a = h.watchBy(h.x, 'a');
    expect(a.told).toEqual(['value one', `ambient Endpoints "a": ${DOWN}`]);
    expect(h.second.streams).toEqual([]);
  });

  it('ends with the first answer of the first server, whose resources are used by all again', () => {
    const h = new Targets();
    const y = h.watchBy(h.y, 'shared');
    h.reply('primary', '1', { shared: 'from primary' });
    h.losePrimary();
    const x = h.watchBy(h.x, 'shared');
    h.watchBy(h.x, 'new');
    h.reply('second', '9', { shared: 'from second', new: 'also' });
    h.clock.advance(2000);
    x.take();
    y.take();
    h.reply('primary', '1', { shared: 'from primary', new: 'own' });
    expect(x.told).toEqual(['value from primary']);
    expect(y.told).toEqual(['ambient over']);
    expect(h.second.openConnections).toBe(0);
  });

  it('shares the channel of the second server, and what it has sent', () => {
    const h = new Targets();
    h.watchBy(h.x, 'a');
    h.primary.stream.end();
    h.reply('second', '9', { a: 'from second' });
    h.second.stream.clearRequests();
    const late = h.watchBy(h.y, 'a');
    expect(late.told).toEqual(['value from second']);
    expect(h.second.stream.requests).toEqual([]);
    expect(h.second.openConnections).toBe(1);
    h.x.close();
    expect(h.second.openConnections).toBe(1);
    h.y.close();
    expect(h.network.openConnections).toBe(0);
  });

  it('is published with the target', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:fallback');
    const h = new Targets();
    h.watchBy(h.x, 'a');
    h.primary.stream.end();
    expect(recorder.take()).toMatchObject([
      ['grpc-xds:fallback', { target: 'xds:///x', direction: 'down', toServerUri: 'second' }],
    ]);
  });
});
