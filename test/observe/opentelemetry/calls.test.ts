import { createServer, constants, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Metadata } from '@grpc/grpc-js';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { withCallLabel } from '../../../src/observe/opentelemetry';
import { eventually } from '../../support/eventually';
import { Mesh, simpleResources, SERVICE } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { ObedientBackend, ObedientClient } from '../../support/obedient-backend';

jest.setTimeout(60_000);

const TARGET = `xds:///${SERVICE}`;
const call = { 'grpc.method': 'test.Echo/Say', 'grpc.target': TARGET };

/** A real server that refuses its first stream, before any application has seen it, and answers the others. */
class RefusingBackend {
  private readonly sessions = new Set<ServerHttp2Session>();
  private streams = 0;

  private constructor(private readonly server: Http2Server) {
    server.on('session', (session) => this.sessions.add(session));
    server.on('stream', (stream) => {
      if (this.streams++ === 0) {
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 0]));
    });
  }

  static async start(): Promise<RefusingBackend> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new RefusingBackend(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }
}

describe.each(WAYS)('metrics of calls with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
  beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());
  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(async () => {
    mesh.stop();
    await reader.stop();
  });

  it('records the five instruments that are on by default, and no others', async () => {
    reader = new MetricsReader(way);
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    await client.say();
    expect([...(await reader.metrics()).keys()].sort()).toEqual([
      'grpc.client.attempt.duration',
      'grpc.client.attempt.rcvd_total_compressed_message_size',
      'grpc.client.attempt.sent_total_compressed_message_size',
      'grpc.client.attempt.started',
      'grpc.client.call.duration',
    ]);
    const ok = { ...call, 'grpc.status': 'OK' };
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: call, value: 2, sum: undefined },
    ]);
    // `hello` is sent, and the name of the backend answered, each twice.
    expect(await reader.series('grpc.client.attempt.sent_total_compressed_message_size')).toEqual([
      { labels: ok, value: 2, sum: 10 },
    ]);
    expect(await reader.series('grpc.client.attempt.rcvd_total_compressed_message_size')).toEqual([
      { labels: ok, value: 2, sum: 6 },
    ]);
    const [attempts] = await reader.series('grpc.client.attempt.duration');
    const [calls] = await reader.series('grpc.client.call.duration');
    expect(attempts).toEqual({ labels: ok, value: 2, sum: expect.any(Number) });
    expect(calls).toEqual({ labels: ok, value: 2, sum: expect.any(Number) });
    expect(calls?.sum).toBeGreaterThanOrEqual(attempts?.sum ?? NaN);
    expect(attempts?.sum).toBeGreaterThan(0);
  });

  it('adds the cluster, the locality and the label of the application where they are enabled', async () => {
    reader = new MetricsReader(way, {
      optionalLabels: ['grpc.lb.locality', 'grpc.lb.backend_service', 'grpc.client.call.custom'],
    });
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const labelled = withCallLabel(context.active(), 'checkout');
    await context.with(labelled, () => mesh.client().say());
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      {
        labels: {
          ...call,
          'grpc.status': 'OK',
          'grpc.lb.locality': '{region="test", zone="a", sub_zone=""}',
          'grpc.lb.backend_service': 'echo',
          'grpc.client.call.custom': 'checkout',
        },
        value: 1,
        sum: expect.any(Number),
      },
    ]);
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: { ...call, 'grpc.client.call.custom': 'checkout' }, value: 1, sum: undefined },
    ]);
  });

  it('records retries, their delay and each attempt with its own status', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: ['grpc.client.call.retries', 'grpc.client.call.retry_delay'],
    });
    const gone = await mesh.backend('gone');
    gone.stop();
    mesh.serve(
      simpleResources([gone.port], {
        retry_policy: {
          retry_on: 'unavailable',
          num_retries: 2,
          retry_back_off: { base_interval: '0.01s', max_interval: '0.02s' },
        },
      }),
    );
    await expect(mesh.client().say()).rejects.toMatchObject({ code: 14 });
    const failed = { ...call, 'grpc.status': 'UNAVAILABLE' };
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: call, value: 3, sum: undefined },
    ]);
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      { labels: failed, value: 3, sum: expect.any(Number) },
    ]);
    expect(await reader.series('grpc.client.call.retries')).toEqual([
      { labels: call, value: 1, sum: 2 },
    ]);
    const [delay] = await reader.series('grpc.client.call.retry_delay');
    expect(delay).toMatchObject({ labels: call, value: 1 });
    expect(delay?.sum).toBeGreaterThan(0);
  });

  it('records a call that ends before it is picked, without an attempt', async () => {
    reader = new MetricsReader(way);
    const backend = await mesh.backend('one');
    mesh.serve({ ...simpleResources([backend.port]), routes: [] });
    const metadata = new Metadata({ waitForReady: true });
    await mesh.client().failure({ deadlineMs: 200, metadata });
    expect(await reader.series('grpc.client.attempt.started')).toEqual([]);
    const [ended, ...others] = await reader.series('grpc.client.call.duration');
    expect(others).toEqual([]);
    expect(ended?.labels).toEqual({ ...call, 'grpc.status': 'DEADLINE_EXCEEDED' });
    // The deadline began before the call did. In milliseconds it would be out of this range.
    expect(ended?.sum).toBeGreaterThan(0);
    expect(ended?.sum).toBeLessThan(60);
  });

  it('ends the attempt of a cancelled call with the status of the call', async () => {
    reader = new MetricsReader(way);
    const backend = await ObedientBackend.start();
    mesh.serve(simpleResources([backend.port]));
    const client = new ObedientClient(TARGET);
    const running = client.call('hold');
    await eventually(
      () => backend.held.length,
      (count) => count === 1,
    );
    running.cancel();
    await running.outcome;
    const cancelled = { ...call, 'grpc.status': 'CANCELLED' };
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      { labels: cancelled, value: 1, sum: expect.any(Number) },
    ]);
    expect(await reader.series('grpc.client.call.duration')).toEqual([
      { labels: cancelled, value: 1, sum: expect.any(Number) },
    ]);
    client.close();
    backend.stop();
  });

  it('records a dropped call as an attempt, with its cluster', async () => {
    reader = new MetricsReader(way, { optionalLabels: ['grpc.lb.backend_service'] });
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port]);
    const policy = {
      drop_overloads: [{ category: 'all', drop_percentage: { numerator: 100 } }],
    };
    mesh.serve({ ...resources, endpoints: resources.endpoints.map((e) => ({ ...e, policy })) });
    const { details } = await mesh.client().failure();
    expect(details).toContain('dropped');
    const dropped = {
      ...call,
      'grpc.status': 'UNAVAILABLE',
      'grpc.lb.backend_service': 'echo',
    };
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      { labels: dropped, value: 1, sum: expect.any(Number) },
    ]);
    expect(await reader.series('grpc.client.attempt.sent_total_compressed_message_size')).toEqual([
      { labels: dropped, value: 1, sum: 0 },
    ]);
  });

  it('counts a retry of a stream that a server has refused as transparent', async () => {
    reader = new MetricsReader(way, {
      enableMetrics: ['grpc.client.call.transparent_retries', 'grpc.client.call.retries'],
    });
    const backend = await RefusingBackend.start();
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: call, value: 2, sum: undefined },
    ]);
    expect(await reader.series('grpc.client.call.transparent_retries')).toEqual([
      { labels: call, value: 1, sum: 1 },
    ]);
    expect(await reader.series('grpc.client.call.retries')).toEqual([]);
    backend.stop();
  });

  it('lists methods by name only where the filter says so', async () => {
    reader = new MetricsReader(way, {
      methodAttributeFilter: (method) => method !== 'test.Echo/Say',
    });
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: { ...call, 'grpc.method': 'other' }, value: 1, sum: undefined },
    ]);
  });

  it('records nothing of other channels than the filter chooses, and nothing after its release', async () => {
    reader = new MetricsReader(way, { channelFilter: (target) => target !== TARGET });
    const second = new MetricsReader(way);
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    expect((await reader.metrics()).size).toBe(0);
    expect((await second.series('grpc.client.attempt.started'))[0]?.value).toBe(1);
    second.handle.close();
    await client.say();
    expect((await second.series('grpc.client.attempt.started'))[0]?.value).toBe(1);
    await second.stop();
  });
});
