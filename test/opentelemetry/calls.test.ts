import { Metadata } from '@grpc/grpc-js';
import { Mesh, simpleResources, SERVICE } from '../support/mesh';
import { MetricsReader, WAYS } from '../support/metrics-reader';

jest.setTimeout(60_000);

const TARGET = `xds:///${SERVICE}`;
const call = { 'grpc.method': 'test.Echo/Say', 'grpc.target': TARGET };

describe.each(WAYS)('metrics of calls with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
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
    await mesh.client().say();
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      {
        labels: {
          ...call,
          'grpc.status': 'OK',
          'grpc.lb.locality': '{region="test", zone="a", sub_zone=""}',
          'grpc.lb.backend_service': 'echo',
          'grpc.client.call.custom': '',
        },
        value: 1,
        sum: expect.any(Number),
      },
    ]);
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: { ...call, 'grpc.client.call.custom': '' }, value: 1, sum: undefined },
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

  it('records calls that have no route, or end before they are picked', async () => {
    reader = new MetricsReader(way);
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port], {});
    mesh.serve({ ...resources, endpoints: [] });
    const metadata = new Metadata({ waitForReady: true });
    await expect(mesh.client().say({ deadlineMs: 200, metadata })).rejects.toMatchObject({
      code: 4,
    });
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
    second.handle.release();
    await client.say();
    expect((await second.series('grpc.client.attempt.started'))[0]?.value).toBe(1);
    await second.stop();
  });
});
