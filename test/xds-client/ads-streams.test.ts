import { StatusCode } from '../../src/util/status-code';
import { createHandle } from '../../src/util/handle';
import { Harness, RecordingWatcher } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

describe('requests', () => {
  it('sends the node in the first request of a stream only', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.watch(h.endpoints, 'e');
    h.send(h.listener, '1', { a: 'one' });
    const nodes = () => h.stream.requests.map(({ node }) => node?.id);
    expect(nodes()).toEqual(['node-1', undefined, undefined]);
    expect(h.stream.requests[0]?.node).toMatchObject({
      cluster: 'c1',
      userAgentName: 'test-agent',
      clientFeatures: [
        'envoy.lb.does_not_support_overprovisioning',
        'xds.config.resource-in-sotw',
        'xds.config.supports-resource-in-sotw',
        'xds.config.supports-resource-ttl',
      ],
    });

    h.clock.advance(5000);
    h.stream.end();
    expect(h.server.streams).toHaveLength(2);
    expect(nodes()).toEqual(['node-1', undefined]);
  });

  it('opens one stream for any number of watchers, names and types', () => {
    const h = new Harness();
    for (const name of ['a', 'b', 'a', 'c', 'a']) h.watch(h.listener, name);
    h.watch(h.endpoints, 'a');
    expect(h.server.openConnections).toBe(1);
    expect(h.server.streams).toHaveLength(1);
    expect(h.stream.method).toBe(
      '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
    );
    expect(h.stream.requests.map(({ resourceNames }) => resourceNames)).toEqual([
      ['a'],
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a'],
    ]);
  });

  it('connects to nothing before the first watch', () => {
    const h = new Harness();
    h.client.run(() => {});
    expect(h.network.openConnections).toBe(0);
    expect(h.client.snapshot()).toEqual({ servers: [], resources: [], changes: [] });
  });

  it('puts every change made in one go into one request per type', () => {
    const h = new Harness();
    h.client.run(() => {
      for (const name of ['a', 'b', 'c']) {
        h.client.watch(h.listener, name, new RecordingWatcher());
        h.client.watch(h.endpoints, name, new RecordingWatcher());
      }
      expect(h.server.streams).toEqual([]);
    });
    h.clock.flush();
    expect(h.stream.requests.map(({ resourceNames }) => resourceNames)).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  it('sends the next request only when the last one is out, with everything that came up since', () => {
    const h = new Harness();
    h.server.isReachable = false;
    h.watch(h.listener, 'a');
    h.watch(h.listener, 'b');
    h.watch(h.listener, 'c');
    expect(h.stream.requests).toHaveLength(1);
    h.stream.confirmSent();
    expect(h.stream.requests.map(({ resourceNames }) => resourceNames)).toEqual([
      ['a'],
      ['a', 'b', 'c'],
    ]);
  });

  it('takes a name off the list when its last watcher goes, and sends the empty list for the last name', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'e');
    const first = h.watch(h.listener, 'a');
    const second = h.watch(h.listener, 'a');
    const other = h.watch(h.listener, 'b');
    h.stream.clearRequests();
    first.release();
    first.release();
    expect(h.stream.requests).toEqual([]);
    second.release();
    other.release();
    expect(h.stream.requests.map(({ resourceNames }) => resourceNames)).toEqual([['b'], []]);
  });

  it('never begins a type with an empty list, which would mean everything', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'e');
    h.client.run(() => h.client.watch(h.listener, 'a', new RecordingWatcher()).release());
    h.clock.flush();
    expect(h.stream.requests.map(({ typeUrl }) => typeUrl)).toEqual([h.endpoints.typeUrl]);
  });

  it('sends no request when a watch is replaced by another one of the same name', () => {
    const h = new Harness();
    h.watch(h.listener, 'other');
    const before = h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one' });
    h.stream.clearRequests();
    const after = new RecordingWatcher();
    h.client.run(() => {
      before.release();
      h.client.watch(h.endpoints, 'e', after);
    });
    h.clock.flush();
    h.send(h.endpoints, '2', { e: 'two' });
    expect(h.stream.requests.map(({ versionInfo }) => versionInfo)).toEqual(['2']);
    expect(after.told).toEqual(['value one', 'value two']);
    expect(before.told).toEqual(['value one']);
  });

  // A server sends a resource again only if it sees its name leave the list and return.
  it('sends a removed name as removed even if it is watched again before the request was sent', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'stays');
    const gone = h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one', stays: 'here' });
    h.stream.clearRequests();

    h.server.isReachable = false;
    h.watch(h.endpoints, 'other');
    gone.release();
    const back = h.watch(h.endpoints, 'e');
    h.stream.confirmSent();
    h.stream.confirmSent();
    h.stream.confirmSent();
    expect(h.stream.requests.map(({ resourceNames }) => resourceNames)).toEqual([
      ['stays', 'e', 'other'],
      ['stays', 'other'],
      ['stays', 'other', 'e'],
    ]);
    h.send(h.endpoints, '1', { e: 'one' });
    expect(back.told).toEqual(['value one']);
  });
});

describe('a stream that ends before any response', () => {
  it('is an error for every pending resource, and is retried with growing delays', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    const delays: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      const { length } = h.server.streams;
      h.stream.end();
      const failedAtMs = h.clock.monotonicMs();
      while (h.server.streams.length === length) h.clock.advance(1);
      delays.push(h.clock.monotonicMs() - failedAtMs);
    }
    expect(delays).toEqual([1000, 1600, 2560, 4096]);
    expect(watcher.told).toEqual([
      `error Listener "a": ${SERVER} cannot be reached: connection refused`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('unreachable');
  });

  it('is notified and logged once, again for another reason, and once more when it is over', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.end();
    h.clock.advance(1000);
    h.stream.end();
    h.clock.advance(1600);
    h.stream.end(StatusCode.UNIMPLEMENTED, 'no such method');
    h.clock.advance(2560);
    h.send(h.listener, '1', { a: 'one' });
    expect(h.logger.errors).toEqual([
      `${SERVER} cannot be reached: connection refused; next attempt in 1.0 s`,
      `${SERVER} ended the stream with UNIMPLEMENTED: no such method: check that server_uri is an xDS management server, and add grpc_xds_delta to server_features if it only serves the incremental variant; next attempt in 2.6 s`,
    ]);
    expect(h.logger.infos).toEqual([
      expect.stringContaining('Listener "a": waiting for 5.0 s'),
      `${SERVER} answers again`,
    ]);
    expect(watcher.told).toEqual([
      `error Listener "a": ${SERVER} cannot be reached: connection refused`,
      `error Listener "a": ${SERVER} ended the stream with UNIMPLEMENTED: no such method: check that server_uri is an xDS management server, and add grpc_xds_delta to server_features if it only serves the incremental variant`,
      'value one',
    ]);
  });

  it('leaves a cached value in use, with an ambient error that ends when the server answers', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one' });
    h.clock.advance(2000);
    h.stream.end();
    h.stream.end();
    expect(watcher.take()).toEqual([
      'value one',
      `ambient Endpoints "e": ${SERVER} cannot be reached: connection refused`,
    ]);
    h.clock.advance(1000);
    h.send(h.endpoints, '1', { e: 'one' });
    expect(watcher.take()).toEqual(['ambient over']);
  });

  it('is none the first four times if an agent displaces it', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    for (const delayMs of [1000, 2000, 4000, 8000]) {
      h.stream.end(0, '', 1);
      h.clock.advance(delayMs);
    }
    expect(watcher.told).toEqual([]);
    h.stream.end(0, '', 1);
    expect(watcher.told).toHaveLength(1);
    expect(h.client.snapshot().servers[0]?.retryInMs).toBe(8000);
  });

  it('names a stream that is closed without an error', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.end(0, '');
    expect(watcher.told).toEqual([
      `error Listener "a": ${SERVER} closed the stream without answering: see its log`,
    ]);
  });

  it.each([
    ['with an error', 14, 0],
    ['a while after it was opened', 0, 12_000],
  ])('is at once one that is closed without a response %s', (_, code, ageMs) => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(ageMs);
    h.stream.end(code, '', 1);
    expect(watcher.told).toHaveLength(1);
  });

  it('is what a connection that cannot even be made is', () => {
    const h = new Harness();
    h.server.refusal = 'unknown credentials "x"';
    const watcher = h.watch(h.listener, 'a');
    expect(watcher.take()).toEqual([
      `error Listener "a": ${SERVER} cannot be used: unknown credentials "x"`,
    ]);
    h.server.refusal = undefined;
    h.clock.advance(1000);
    h.send(h.listener, '1', { a: 'one' });
    expect(watcher.take()).toEqual(['value one']);
  });

  it('is what a response that cannot be decoded is, because it cannot be rejected', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.stream.respondBytes(new Uint8Array([0x0a, 0xff, 0x01, 0x41]));
    expect(h.stream.isOpen).toBe(false);
    expect(watcher.take()).toEqual([
      `error Listener "a": ${SERVER} sent a response that cannot be decoded: premature EOF`,
    ]);
    h.clock.advance(1000);
    expect(h.server.streams).toHaveLength(2);
    h.send(h.listener, '1', { a: 'one' });
    expect(watcher.take()).toEqual(['value one']);
  });
});

describe('a stream that ends after a response', () => {
  it('is no error and is replaced at once', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(1000);
    h.stream.end();
    expect(h.server.streams).toHaveLength(2);
    expect(watcher.told).toEqual(['value one']);
    expect(h.logger.errors).toEqual([]);
  });

  it('ends when the transport notifies that a stream can be opened', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    let ready: (() => void) | undefined;
    const retryWhen = (onReady: () => void) => {
      ready = onReady;
      return createHandle(() => (ready = undefined));
    };
    h.stream.endBy({ code: StatusCode.UNAVAILABLE, details: 'no relay', retryWhen });
    expect(h.server.streams).toHaveLength(1);
    ready?.();
    h.clock.flush();
    expect(h.server.streams).toHaveLength(2);
    expect(ready).toBeUndefined();
    h.clock.advance(120_000);
    expect(h.server.streams).toHaveLength(2);
  });

  it('begins the backoff anew, however often the server has failed before', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    for (const delayMs of [1000, 1600, 2560]) {
      h.stream.end();
      h.clock.advance(delayMs);
    }
    for (let round = 0; round < 3; round++) {
      h.send(h.listener, '1', { a: 'one' });
      h.clock.advance(15_000);
      h.stream.end();
      const { length } = h.server.streams;
      h.stream.end();
      h.clock.advance(999);
      expect(h.server.streams).toHaveLength(length);
      h.clock.advance(1);
      expect(h.server.streams).toHaveLength(length + 1);
    }
  });

  it('requests every resource again, with the last version and without a nonce', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.watch(h.listener, 'b');
    h.watch(h.endpoints, 'e');
    h.send(h.listener, '7', { a: 'one', b: 'two' });
    h.send(h.listener, '8', { a: '!bad', b: 'two' });
    h.clock.advance(1000);
    h.stream.end();
    expect(h.stream.requests).toMatchObject([
      {
        typeUrl: h.listener.typeUrl,
        resourceNames: ['a', 'b'],
        versionInfo: '7',
        responseNonce: '',
        errorDetail: undefined,
      },
      {
        typeUrl: h.endpoints.typeUrl,
        resourceNames: ['e'],
        versionInfo: '',
        responseNonce: '',
        errorDetail: undefined,
      },
    ]);
  });

  it('does not claim to have a version of what it no longer keeps', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'e');
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '7', { a: 'one' });
    watcher.release();
    h.clock.advance(1000);
    h.stream.end();
    h.watch(h.listener, 'a');
    expect(h.stream.request).toMatchObject({ typeUrl: h.listener.typeUrl, versionInfo: '' });
  });

  // A server in a crash loop must not be asked as fast as both sides can run.
  it('is replaced no sooner than a second after it was opened', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.clock.advance(300);
    h.send(h.listener, '1', { a: 'one' });
    h.stream.end();
    h.clock.advance(699);
    expect(h.server.streams).toHaveLength(1);
    h.clock.advance(1);
    expect(h.server.streams).toHaveLength(2);
    expect(h.logger.errors).toEqual([]);
  });

  it('keeps watching across any number of breaks', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'e');
    for (let round = 1; round <= 5; round++) {
      h.send(h.endpoints, `${round}`, { e: `value ${round}` });
      // Longer than a stream that was cut.
      h.clock.advance(30_000);
      h.stream.end();
    }
    expect(watcher.told).toEqual([1, 2, 3, 4, 5].map((round) => `value value ${round}`));
  });
});

describe('what a replaced stream still says', () => {
  it('is ignored', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    const old = h.stream;
    h.stream.respondBytes(new Uint8Array([0xff]));
    h.clock.advance(1000);
    watcher.take();
    old.callLate();
    h.clock.flush();
    expect(h.server.streams).toHaveLength(2);
    expect(watcher.told).toEqual([]);
    expect(h.client.snapshot().servers[0]?.state).toBe('open');
  });
});
