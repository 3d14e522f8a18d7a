import { StatusCode } from '../../src/util/status-code';
import { Harness, serverConfig } from './harness';
import { TestResourceType, wrapper } from './test-resource';

const SERVER = 'management server xds.test:1 (node "node-1")';

function harness(...features: string[]): Harness {
  return new Harness({
    servers: [serverConfig('xds.test:1', ['grpc_xds_separate_streams', ...features])],
  });
}

function streamOf(h: Harness, method: string) {
  const stream = h.server.streams.findLast((each) => each.method === method);
  if (stream === undefined) throw new Error(`no stream has the method ${method}`);
  return stream;
}

describe('with grpc_xds_separate_streams', () => {
  it.each([
    ['state of the world', [], 'Stream'],
    ['incremental', ['grpc_xds_delta'], 'Delta'],
  ])('every type has a stream of its own on one connection (%s)', (_variant, features, verb) => {
    const h = harness(...features);
    const other = new TestResourceType('Other', false);
    for (const name of ['a', 'b']) {
      h.watch(h.listener, name);
      h.watch(h.endpoints, name);
      h.watch(other, name);
    }
    expect(h.server.streams.map(({ method }) => method)).toEqual([
      `/test.ListenerDiscoveryService/${verb}Listeners`,
      `/test.EndpointDiscoveryService/${verb}Endpoints`,
      // It has no service of its own.
      `/envoy.service.discovery.v3.AggregatedDiscoveryService/${verb}AggregatedResources`,
    ]);
    expect(h.server.openConnections).toBe(1);
    for (const { requests, deltaRequests } of h.server.streams) {
      const all = [...requests, ...deltaRequests];
      expect(new Set(all.map(({ typeUrl }) => typeUrl)).size).toBe(1);
      expect(all.map(({ node }) => node?.id)).toEqual(['node-1', undefined]);
    }
  });

  it('resources come and are acknowledged on the stream of their type', () => {
    const h = harness();
    const a = h.watch(h.listener, 'a');
    const e = h.watch(h.endpoints, 'e');
    const listeners = streamOf(h, '/test.ListenerDiscoveryService/StreamListeners');
    const resources = [h.listener.resource('a', 'one')];
    listeners.respond({ typeUrl: h.listener.typeUrl, versionInfo: '1', resources });
    h.send(h.endpoints, '2', { e: 'two' });
    expect(listeners.request).toMatchObject({ versionInfo: '1', responseNonce: 'n1' });
    expect(h.stream.request).toMatchObject({ versionInfo: '2', responseNonce: 'n1' });
    expect([a.told, e.told]).toEqual([['value one'], ['value two']]);
  });

  // 1. Both streams fail, one after the other. 2. One of them works again. 3. The other one does, too.
  it('the server is down while any of its streams is, which is notified and logged once', () => {
    const h = harness();
    const a = h.watch(h.listener, 'a');
    const e = h.watch(h.endpoints, 'e');
    for (const stream of [...h.server.streams]) stream.end();
    const error = `${SERVER} cannot be reached: connection refused`;
    expect([a.take(), e.take()]).toEqual([
      [`error Listener "a": ${error}`],
      [`error Endpoints "e": ${error}`],
    ]);
    expect(h.logger.errors).toHaveLength(1);
    h.clock.advance(1000);
    h.send(h.endpoints, '1', { e: 'one' });
    expect(e.take()).toEqual(['value one']);
    expect(h.client.snapshot().servers).toMatchObject([
      { lastError: `${error} (failing since 2023-11-14T22:13:20.000Z)` },
    ]);
    expect(h.logger.infos).toEqual([]);
    const resources = [h.listener.resource('a', 'two')];
    streamOf(h, '/test.ListenerDiscoveryService/StreamListeners').respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      resources,
    });
    expect(a.take()).toEqual(['value two']);
    expect(h.client.snapshot().servers).toMatchObject([{ lastError: undefined, state: 'open' }]);
    expect(h.logger.infos).toEqual([`${SERVER} answers again`]);
  });

  it('each stream finds out that there is no incremental variant, and none of them calls it a failure', () => {
    const h = harness('grpc_xds_delta_auto');
    const a = h.watch(h.listener, 'a');
    h.watch(h.endpoints, 'e');
    for (const stream of [...h.server.streams])
      stream.end(StatusCode.UNIMPLEMENTED, 'unknown method');
    expect(h.server.streams.map(({ isDelta }) => isDelta)).toEqual([true, true, false, false]);
    expect([a.told, h.logger.errors]).toEqual([[], []]);
  });

  it('an incremental stream renews its own type only', () => {
    const h = harness('grpc_xds_delta');
    h.watch(h.listener, 'a');
    h.watch(h.endpoints, 'e');
    h.stream.respondDelta({
      typeUrl: h.endpoints.typeUrl,
      resources: [wrapper('e', h.endpoints.resource('e', 'one'), { version: '1' })],
    });
    h.clock.advance(1000);
    h.stream.end();
    expect(h.server.streams).toHaveLength(3);
    expect(h.stream.deltaRequests).toMatchObject([
      { typeUrl: h.endpoints.typeUrl, initialResourceVersions: new Map([['e', '1']]) },
    ]);
  });
});
