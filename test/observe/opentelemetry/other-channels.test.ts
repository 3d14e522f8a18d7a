import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { createObservedChannel } from '../../../src/observe/opentelemetry';
import { echoMethod } from '../../support/echo-backend';
import { HeadersBackend } from '../../support/headers-backend';
import { Mesh, SERVICE, simpleResources } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';

jest.setTimeout(60_000);

const same = (buffer: Buffer) => buffer;
const SERVICE_CONFIG = JSON.stringify({
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.01s',
        maxBackoff: '0.02s',
        backoffMultiplier: 1,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
});

describe.each(WAYS)('metrics of channels that are not xds: with a %s', (way) => {
  let reader: MetricsReader;
  let backend: HeadersBackend;
  const clients: Client[] = [];
  beforeEach(async () => {
    backend = await HeadersBackend.start();
    reader = new MetricsReader(way, {
      enableMetrics: [
        'grpc.client.call.retries',
        'grpc.client.call.transparent_retries',
        'grpc.client.call.retry_delay',
      ],
    });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    backend.stop();
    await reader.stop();
  });

  function connect(target: string): Client {
    const client = new Client(target, credentials.createInsecure(), {
      channelFactoryOverride: createObservedChannel,
      'grpc.service_config': SERVICE_CONFIG,
    });
    clients.push(client);
    return client;
  }

  /** @returns the code of the status. */
  function say(client: Client, deadlineMs = 10_000): Promise<number> {
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        echoMethod.path,
        same,
        same,
        Buffer.from('hello'),
        new Metadata(),
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null) => resolve(error?.code ?? 0),
      );
    });
  }

  it('has each attempt with its status and sizes, and the call', async () => {
    const target = `dns:localhost:${backend.port}`;
    backend.failures = 1;
    expect(await say(connect(target))).toBe(0);
    const call = {
      'grpc.method': 'test.Echo/Say',
      'grpc.target': `dns:///localhost:${backend.port}`,
    };
    const ok = { ...call, 'grpc.status': 'OK' };
    const failed = { ...call, 'grpc.status': 'UNAVAILABLE' };
    expect(await reader.series('grpc.client.attempt.started')).toEqual([
      { labels: call, value: 2, sum: undefined },
    ]);
    expect(await reader.series('grpc.client.attempt.sent_total_compressed_message_size')).toEqual([
      { labels: ok, value: 1, sum: 5 },
      { labels: failed, value: 1, sum: 5 },
    ]);
    expect(await reader.series('grpc.client.attempt.rcvd_total_compressed_message_size')).toEqual([
      { labels: ok, value: 1, sum: 6 },
      { labels: failed, value: 1, sum: 0 },
    ]);
    expect(await reader.series('grpc.client.call.duration')).toEqual([
      { labels: ok, value: 1, sum: expect.any(Number) },
    ]);
    expect(await reader.series('grpc.client.call.retries')).toEqual([
      { labels: call, value: 1, sum: 1 },
    ]);
    const [delay] = await reader.series('grpc.client.call.retry_delay');
    expect(delay?.sum).toBeGreaterThan(0);
    expect(await reader.series('grpc.client.call.transparent_retries')).toEqual([]);
  });

  it('has a call that ends before it is sent', async () => {
    // Nothing listens there.
    const port = backend.port;
    backend.stop();
    const client = connect(`127.0.0.1:${port}`);
    expect(await say(client)).toBe(14);
    const target = `dns:///127.0.0.1:${port}`;
    const failed = {
      'grpc.method': 'test.Echo/Say',
      'grpc.target': target,
      'grpc.status': 'UNAVAILABLE',
    };
    expect(await reader.series('grpc.client.call.duration')).toEqual([
      { labels: failed, value: 1, sum: expect.any(Number) },
    ]);
    expect(await reader.series('grpc.client.attempt.duration')).toEqual([
      { labels: failed, value: 3, sum: expect.any(Number) },
    ]);
  });

  it('counts the calls of an xds: channel once', async () => {
    const mesh = await Mesh.start();
    mesh.serve(simpleResources([backend.port]));
    expect(await say(connect(`xds:///${SERVICE}`))).toBe(0);
    expect((await reader.series('grpc.client.attempt.started')).map(({ value }) => value)).toEqual([
      1,
    ]);
    mesh.stop();
  });
});
