import { StatusCode } from '../../src/util/status-code';
import { DeltaHarness, RecordingWatcher, serverConfig, Harness } from './harness';
import { wrapper } from './test-resource';

const SERVER = 'management server xds.test:1 (node "node-1")';
const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService';

describe('an incremental stream', () => {
  it('requests what is watched, and passes on and acknowledges what is received', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    expect(h.stream.method).toBe(`${ADS}/DeltaAggregatedResources`);
    expect(h.stream.deltaRequest).toMatchObject({
      typeUrl: h.listener.typeUrl,
      resourceNamesSubscribe: ['a'],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: new Map(),
      responseNonce: '',
      node: { id: 'node-1' },
    });
    h.sendDelta(h.listener, '1', { a: 'one' });
    expect(h.stream.deltaRequest).toMatchObject({
      typeUrl: h.listener.typeUrl,
      resourceNamesSubscribe: [],
      responseNonce: 'n1',
      errorDetail: undefined,
      node: undefined,
    });
    expect(watcher.told).toEqual(['value one']);
    expect(h.client.snapshot().resources[0]?.accepted?.version).toBe('1');
  });

  it('leaves alone what a response does not mention', () => {
    const h = new DeltaHarness();
    const a = h.watch(h.listener, 'a');
    const b = h.watch(h.listener, 'b');
    h.sendDelta(h.listener, '1', { a: 'one', b: 'two' });
    h.sendDelta(h.listener, '2', { b: 'three' });
    expect([a.told, b.told]).toEqual([['value one'], ['value two', 'value three']]);
    expect(h.client.snapshot().resources.map(({ accepted }) => accepted?.version)).toEqual([
      '1',
      '2',
    ]);
  });

  it('uses the good resources of a response that it rejects, and keeps the last good one of the others', () => {
    const h = new DeltaHarness();
    const a = h.watch(h.endpoints, 'a');
    const b = h.watch(h.endpoints, 'b');
    h.sendDelta(h.endpoints, '1', { a: 'one', b: 'two' });
    h.sendDelta(h.endpoints, '2', { a: '!bad', b: 'three' });
    expect(h.stream.deltaRequest).toMatchObject({
      responseNonce: 'n2',
      errorDetail: { code: 3, message: 'Endpoints "a": bad' },
    });
    expect(a.told).toEqual([
      'value one',
      `ambient Endpoints "a": update from ${SERVER} rejected (NACK): bad`,
    ]);
    expect(b.told).toEqual(['value two', 'value three']);
  });

  it('does not decode again what has only got another version', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' });
    h.sendDelta(h.listener, '2', { a: 'one' });
    expect(h.listener.decoded).toEqual(['a']);
    expect(watcher.told).toEqual(['value one']);
    expect(h.client.snapshot().resources[0]?.accepted?.version).toBe('2');
  });

  it('takes the name beside a resource for its name', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      resources: [wrapper('a', h.listener.resource('inner', 'one'))],
    });
    expect(watcher.told).toEqual(['value one']);
  });

  it('takes the name in a resource if there is none beside it', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      resources: [wrapper('', h.listener.resource('a', 'one'))],
    });
    expect(watcher.told).toEqual(['value one']);
  });

  it('passes on a resource that was requested by an alias', () => {
    const h = new DeltaHarness();
    const own = h.watch(h.listener, 'a');
    const alias = h.watch(h.listener, 'alias');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      resources: [
        wrapper('a', h.listener.resource('a', 'one'), { aliases: ['alias', 'unknown', 'a'] }),
      ],
    });
    expect([own.told, alias.told]).toEqual([['value one'], ['value one']]);
    expect(h.stream.deltaRequest).toMatchObject({ responseNonce: 'n1', errorDetail: undefined });
  });

  it('sends added and removed names in one request', () => {
    const h = new DeltaHarness();
    const a = h.watch(h.listener, 'a');
    h.stream.clearRequests();
    h.client.run(() => {
      h.client.watch(h.listener, 'b', new RecordingWatcher());
      a.release();
    });
    h.clock.flush();
    expect(h.stream.deltaRequests).toMatchObject([
      { resourceNamesSubscribe: ['b'], resourceNamesUnsubscribe: ['a'] },
    ]);
  });
});

describe('a resource that an incremental server has removed', () => {
  it('is gone at once, and back when it is sent again', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' });
    h.sendDelta(h.listener, '2', {}, ['a', 'unknown']);
    h.sendDelta(h.listener, '3', { a: 'one' });
    expect(watcher.told).toEqual([
      'value one',
      `error Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
      'value one',
    ]);
    expect(watcher.errors[0]?.kind).toBe('does-not-exist');
  });

  // 1. The server moves to another set of resources. 2. And back, which is told in the order of the types.
  it('stays in use if it is part of something else, because it may be on its way back', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.endpoints, 'a');
    h.sendDelta(h.endpoints, '1', { a: 'one' });
    h.sendDelta(h.endpoints, '2', {}, ['a']);
    expect(h.watch(h.endpoints, 'a').values).toHaveLength(1);
    h.sendDelta(h.endpoints, '3', { a: 'two' });
    expect(watcher.told).toEqual([
      'value one',
      `ambient Endpoints "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
      'value two',
    ]);
  });

  it('is known to be missing without any wait if it never came', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.endpoints, 'a');
    h.sendDelta(h.endpoints, '1', {}, ['a']);
    expect(watcher.told).toEqual([
      `error Endpoints "a": no such resource: ${SERVER} does not have it: check the name, and that the server has it for this node`,
    ]);
    expect(h.clock.pendingTimers).toBe(0);
    expect(h.client.snapshot().resources[0]?.status).toBe('DOES_NOT_EXIST');
  });

  it('may be named in the longer form', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.endpoints, 'a');
    h.stream.respondDelta({
      typeUrl: h.endpoints.typeUrl,
      removedResourceNames: [{ name: 'a' }],
    });
    expect(watcher.errors).toHaveLength(1);
  });

  it('is there if the same response has it', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' }, ['a']);
    expect(watcher.told).toEqual(['value one']);
  });
});

describe('a resource that an incremental server does not send', () => {
  it('is concluded to be missing after 15 s, for servers that do not say so', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(15_000);
    expect(watcher.told).toHaveLength(1);
  });

  it('may be one the server reports an error for', () => {
    const h = new DeltaHarness({ dataErrorHandling: true });
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      resourceErrors: [
        { resourceName: { name: 'a' }, errorDetail: { code: 7, message: 'no', details: [] } },
      ],
    });
    expect(watcher.told).toEqual([`error Listener "a": ${SERVER} reports PERMISSION_DENIED: no`]);
  });
});

describe('an incremental stream that replaces another one', () => {
  // a is there, b is known to be missing, c was rejected, d was given up.
  it('sends the versions of the resources that are still watched', () => {
    const h = new DeltaHarness();
    for (const name of ['a', 'b', 'c']) h.watch(h.listener, name);
    const d = h.watch(h.listener, 'd');
    h.sendDelta(h.listener, '1', { a: 'one', c: '!bad', d: 'four' }, ['b']);
    d.release();
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.deltaRequests).toMatchObject([
      {
        resourceNamesSubscribe: ['a', 'b', 'c'],
        resourceNamesUnsubscribe: [],
        initialResourceVersions: new Map([['a', '1']]),
        responseNonce: '',
        node: { id: 'node-1' },
      },
    ]);
  });

  // A server that has the cached version again, and knows it to be cached, would not send it: the failure would last for ever.
  it.each<[string, (h: DeltaHarness) => void]>([
    ['rejected a later version', (h) => h.sendDelta(h.listener, '2', { a: '!bad' })],
    ['received its removal', (h) => h.sendDelta(h.listener, '2', {}, ['a'])],
    [
      'received an error of the server',
      (h) =>
        h.stream.respondDelta({
          typeUrl: h.listener.typeUrl,
          nonce: '2',
          resourceErrors: [
            { resourceName: { name: 'a' }, errorDetail: { code: 7, message: 'no', details: [] } },
          ],
        }),
    ],
  ])('sends no version of a resource of which it has %s', (_, act) => {
    const h = new DeltaHarness({ dataErrorHandling: true });
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' });
    act(h);
    expect(watcher.take()).toEqual(['value one', expect.stringMatching(/^ambient Listener "a"/)]);
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.deltaRequest.initialResourceVersions).toEqual(new Map());
    h.sendDelta(h.listener, '1', { a: 'one' });
    expect(watcher.take()).toEqual(['ambient over']);
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.deltaRequest.initialResourceVersions).toEqual(new Map([['a', '1']]));
  });

  // 1. The server is down for a while. 2. It comes back and has nothing new. 3. It ends the stream after a minute without
  // a response, which is an error however long the stream lived (gRFC A57).
  it('means that the server is well if it has nothing to say', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' });
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    expect(watcher.take()).toEqual([
      'value one',
      `ambient Listener "a": ${SERVER} cannot be reached: connection refused`,
    ]);
    h.clock.advance(1000);
    h.clock.advance(4999);
    expect(watcher.take()).toEqual([]);
    h.clock.advance(1);
    expect(watcher.take()).toEqual(['ambient over']);
    expect(h.logger.infos.at(-1)).toBe(`${SERVER} answers again`);

    h.clock.advance(60_000);
    h.stream.end(0, '');
    expect(watcher.take()).toEqual([
      `ambient Listener "a": ${SERVER} closed the stream without answering: see its log`,
    ]);
    expect(h.server.streams).toHaveLength(3);
    h.clock.advance(1600);
    expect(h.server.streams).toHaveLength(4);
    h.clock.advance(5000);
    expect(watcher.take()).toEqual(['ambient over']);
  });

  it('means nothing of the kind while something is missing', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.watch(h.listener, 'b');
    h.sendDelta(h.listener, '1', { a: 'one' });
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    watcher.take();
    h.clock.advance(10_000);
    expect(watcher.take()).toEqual([]);
  });

  it('requests everything from the primary after a fallback', () => {
    const servers = [
      serverConfig('xds.test:1', ['grpc_xds_delta']),
      serverConfig('xds.test:2', ['grpc_xds_delta']),
    ];
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    const send = (uri: string, value: string) =>
      h.network.server(uri).stream.respondDelta({
        typeUrl: h.listener.typeUrl,
        resources: [wrapper('a', h.listener.resource('a', value), { version: '1' })],
      });
    send('xds.test:1', 'one');
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    h.watch(h.listener, 'b');
    expect(h.network.openConnections).toBe(2);
    h.clock.advance(1000);
    expect(h.stream.deltaRequest.initialResourceVersions).toEqual(new Map());
    send('xds.test:2', 'two');
    send('xds.test:1', 'three');
    expect(watcher.values.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
    expect(h.network.openConnections).toBe(1);
  });
});

describe('grpc_xds_delta', () => {
  it('uses the incremental variant with istiod, too', () => {
    const h = new DeltaHarness({ metadata: new Map([['GENERATOR', 'grpc']]) });
    h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      controlPlane: { identifier: '{"Component":"istiod"}' },
    });
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true]);
  });
});

describe('grpc_xds_delta_auto', () => {
  const servers = [serverConfig('xds.test:1', ['grpc_xds_delta_auto'])];

  it('uses the incremental variant with a server that implements it', () => {
    const h = new Harness({ servers });
    h.watch(h.listener, 'a');
    expect(h.stream.isDelta).toBe(true);
    h.stream.end(14, 'down');
    h.clock.advance(10_000);
    expect(h.stream.isDelta).toBe(true);
  });

  it('turns to state of the world at once when the server does not have it, and for good', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.stream.end(StatusCode.UNIMPLEMENTED, 'unknown method');
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true, false]);
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.request).toMatchObject({ versionInfo: '1', resourceNames: ['a'] });
    watcher.release();
    h.watch(h.listener, 'a');
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true, false, false, false]);
    expect([watcher.told, h.logger.errors]).toEqual([['value one'], []]);
  });

  // The metadata that makes istiod generate resources for gRPC.
  it('uses state of the world from the start with the node metadata of istiod', () => {
    const h = new Harness({ servers, metadata: new Map([['GENERATOR', 'grpc']]) });
    h.watch(h.listener, 'a');
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([false]);
  });

  it.each<[string, ReadonlyMap<string, string | number>]>([
    ['another generator', new Map([['GENERATOR', 'event']])],
    ['a generator that is no text', new Map([['GENERATOR', 1]])],
    ['other metadata', new Map([['generator', 'grpc']])],
  ])('uses the incremental variant with %s', (_what, metadata) => {
    const h = new Harness({ servers, metadata });
    h.watch(h.listener, 'a');
    expect(h.stream.isDelta).toBe(true);
  });

  it('turns to state of the world, for good, when a response names istiod', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      controlPlane: { identifier: '{"Component":"istiod","ID":"istiod-5f","Info":{}}' },
      resources: [wrapper('a', h.listener.resource('a', 'incremental'), { version: '1' })],
    });
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true, false]);
    expect(h.stream.request).toMatchObject({ versionInfo: '', resourceNames: ['a'] });
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.isDelta).toBe(false);
    expect([watcher.told, h.logger.errors]).toEqual([['value one'], []]);
  });

  it('uses the incremental variant with a server of any other name', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      controlPlane: { identifier: 'not istiod' },
      resources: [wrapper('a', h.listener.resource('a', 'one'), { version: '1' })],
    });
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true]);
    expect(watcher.told).toEqual(['value one']);
  });

  it('reports a server that has neither variant', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.stream.end(StatusCode.UNIMPLEMENTED, 'unknown method');
    h.stream.end(StatusCode.UNIMPLEMENTED, 'unknown method');
    expect(watcher.told).toEqual([
      `error Listener "a": ${SERVER} ended the stream with UNIMPLEMENTED: unknown method: check that server_uri is an xDS management server`,
    ]);
  });

  it('insists on what grpc_xds_delta says', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.end(StatusCode.UNIMPLEMENTED, 'unknown method');
    h.clock.advance(1000);
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true, true]);
    expect(watcher.told).toHaveLength(1);
  });
});
