// Streams over real connections: to a server of grpc-js, and to one that does as it likes.

import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { CallCredentials, Metadata, Status } from '../../../src/grpc-js';
import type { Subchannel } from '../../../src/grpc-js';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import {
  authorityOf,
  openOobStream,
  type OobStreamListener,
  type OobStreamStatus,
} from '../../../src/lb/orca/oob-stream';
import { registerRegistry } from '../../support/register-registry';
import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import { systemClock, type Clock } from '../../../src/util/clock';
import { createHandle, type Handle } from '../../../src/util/handle';
import { silentLogger } from '../../../src/util/logger';
import { systemRandom } from '../../../src/util/random';
import { EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { encodeReport, ReportingBackend, type ReportStream } from './reporting-backend';

// A policy that does nothing with its connections but to show them here.
const connections: Subchannel[] = [];
const policies = new LbPolicyRegistry({
  policies: createWeightedRoundRobinPolicyTypes({
    customMetrics: false,
    oobReports: {
      subscribe(subchannel) {
        connections.push(subchannel);
        return createHandle(() => {});
      },
    },
  }),
});
registerRegistry(policies, () => ({
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  policies,
}));

const serviceConfig = JSON.stringify({
  loadBalancingConfig: [{ weighted_round_robin_experimental: { enableOobLoadReport: true } }],
});

/** What a stream tells. */
class Recording {
  readonly reports: number[] = [];
  readonly ends: OobStreamStatus[] = [];
  readonly unusable: string[] = [];
  private readonly stream: Handle;

  constructor(subchannel: Subchannel, intervalMs = 10_000, clock: Clock = systemClock) {
    const listener: OobStreamListener = {
      onReport: ({ rpsFractional }) => this.reports.push(rpsFractional),
      onUnusable: (reason) => this.unusable.push(reason),
      onEnd: (status) => this.ends.push(status),
    };
    this.stream = openOobStream(subchannel, intervalMs, listener, clock);
  }

  close(): void {
    this.stream.release();
  }

  async ended(): Promise<OobStreamStatus> {
    await eventually(
      () => this.ends.length,
      (count) => count > 0,
    );
    expect(this.ends.length).toBe(1);
    return this.ends[0] ?? { code: -1, details: '' };
  }
}

describe('an out-of-band stream', () => {
  const cleanup: (() => void)[] = [];

  afterEach(() => {
    for (const clean of cleanup.splice(0)) clean();
    connections.length = 0;
  });

  /** A connection to the port of this machine. */
  async function connect(port: number): Promise<{ subchannel: Subchannel; client: EchoClient }> {
    const client = new EchoClient(`ipv4:127.0.0.1:${port}`, {
      'grpc.service_config': serviceConfig,
    });
    cleanup.push(() => client.close());
    await client.say().catch(() => '');
    const [subchannel] = connections;
    if (subchannel === undefined) throw new Error('Not connected');
    return { subchannel, client };
  }

  async function startBackend(onStream?: (stream: ReportStream) => void) {
    const backend = await new ReportingBackend('a', onStream).listen();
    cleanup.push(() => backend.stop());
    return { backend, ...(await connect(backend.port)) };
  }

  it('delivers every report, and ends when the backend ends it', async () => {
    const { subchannel, backend } = await startBackend((stream) => {
      for (const rpsFractional of [1, 2, 3]) stream.write(encodeReport({ rpsFractional }));
      stream.end();
    });
    const recording = new Recording(subchannel, 12_345.5);
    expect(await recording.ended()).toEqual({ code: Status.OK, details: 'OK' });
    expect(recording.reports).toEqual([1, 2, 3]);
    expect(backend.intervals).toEqual([12_345.5]);
    expect(backend.authorities).toEqual([`127.0.0.1:${backend.port}`]);
  });

  it('ends with UNIMPLEMENTED where there is no such service', async () => {
    const { subchannel } = await startBackend();
    const { code } = await new Recording(subchannel).ended();
    expect(code).toBe(Status.UNIMPLEMENTED);
  });

  it('reports nothing after it was closed, and is cancelled at the backend', async () => {
    const { subchannel, backend } = await startBackend((stream) =>
      stream.write(encodeReport({ rpsFractional: 1 })),
    );
    const recording = new Recording(subchannel);
    await eventually(
      () => recording.reports.length,
      (count) => count === 1,
    );
    recording.close();
    recording.close();
    await eventually(
      () => backend.streams.size,
      (size) => size === 0,
    );
    expect(recording.ends).toEqual([]);
  });

  it('reads ten reports of a flood in a second, and the backend is stopped by flow control', async () => {
    const sent = 20_000;
    let isBlocked = false;
    const { subchannel, client } = await startBackend((stream) => {
      for (let i = 1; i <= sent; i++) stream.write(encodeReport({ rpsFractional: i }));
      isBlocked = stream.writableNeedDrain;
    });
    const clock = new FakeClock();
    const recording = new Recording(subchannel, 10_000, clock);
    await eventually(
      () => recording.reports.length,
      (count) => count === 1,
    );
    for (let second = 0; second < 2; second++) {
      for (let i = 0; i < 10; i++) {
        const before = recording.reports.length;
        clock.advance(100);
        await eventually(
          () => recording.reports.length,
          (count) => count > before,
        );
      }
      await client.say();
    }
    expect(recording.reports).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
    expect(isBlocked).toBe(true);
    recording.close();
  });

  it('ends with a report of a megabyte, and says why', async () => {
    const load = { namedMetrics: new Map([['n'.repeat(2 ** 20), 1]]) };
    const { subchannel } = await startBackend((stream) => stream.write(encodeReport(load)));
    const recording = new Recording(subchannel);
    expect((await recording.ended()).code).toBe(Status.CANCELLED);
    expect(recording.unusable).toEqual([expect.stringMatching(/more than 16384 bytes/)]);
    expect(recording.reports).toEqual([]);
  });

  it('leaves nothing behind when it is closed at once', async () => {
    const { subchannel, backend, client } = await startBackend(() => {});
    const recording = new Recording(subchannel);
    recording.close();
    await client.say();
    expect(backend.streams.size).toBe(0);
    expect(recording.ends).toEqual([]);
  });

  it('ends when the connection is lost, and does not start without one', async () => {
    const { subchannel, backend } = await startBackend(() => {});
    const recording = new Recording(subchannel);
    await eventually(
      () => backend.streams.size,
      (size) => size === 1,
    );
    backend.stop();
    await recording.ended();
    expect(await new Recording(subchannel).ended()).toEqual({
      code: Status.UNAVAILABLE,
      details: 'Cannot create call, subchannel not READY',
    });
  });

  it('carries the call credentials of the connection', async () => {
    const { subchannel, backend } = await startBackend((stream) => stream.end());
    const credentials = CallCredentials.createFromMetadataGenerator((options, callback) => {
      const metadata = new Metadata();
      metadata.set('token', options.service_url);
      callback(null, metadata);
    });
    const withCredentials = Object.create(subchannel, {
      getCallCredentials: { value: () => credentials },
    }) as Subchannel;
    await new Recording(withCredentials).ended();
    expect(backend.headers[0]?.get('token')).toEqual([
      `https://127.0.0.1:${backend.port}/xds.service.orca.v3.OpenRcaService`,
    ]);
  });

  it('ends with UNAUTHENTICATED if there are no call credentials to be had', async () => {
    const { subchannel } = await startBackend((stream) => stream.end());
    const credentials = CallCredentials.createFromMetadataGenerator((_options, callback) =>
      callback(new Error('token expired')),
    );
    const withoutCredentials = Object.create(subchannel, {
      getCallCredentials: { value: () => credentials },
    }) as Subchannel;
    expect(await new Recording(withoutCredentials).ended()).toEqual({
      code: Status.UNAUTHENTICATED,
      details: 'No call credentials: token expired',
    });
  });

  it.each([
    ['is malformed', Buffer.from([0, 0, 0, 0, 2, 0x31, 1])],
    ['claims to be compressed', Buffer.from([1, 0, 0, 0, 3, 1, 2, 3])],
  ])('ends, and the process does not, on a message that %s', async (_, message) => {
    const server = http2.createServer();
    const cancelled: string[] = [];
    server.on('stream', (stream, headers) => {
      const path = String(headers[':path']);
      stream.on('close', () => cancelled.push(`${path} ${stream.rstCode}`));
      stream.respond({
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-encoding': 'gzip',
      });
      if (path.endsWith('StreamCoreMetrics')) stream.write(message);
      else stream.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanup.push(() => server.close());
    const { subchannel } = await connect((server.address() as AddressInfo).port);
    expect(await new Recording(subchannel).ended()).toEqual({
      code: Status.CANCELLED,
      details: 'The backend sent an unusable load report',
    });
    const path = '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics';
    await eventually(
      () => cancelled,
      (list) => list.includes(`${path} ${http2.constants.NGHTTP2_CANCEL}`),
    );
  });
});

describe('authorityOf', () => {
  it.each([
    ['xds:///service', 'service'],
    ['xds:///service:443', 'service:443'],
    ['xds://authority/service/path', 'service/path'],
    ['xds:service', 'service'],
    ['dns:host:50051', 'host:50051'],
    ['dns://8.8.8.8/host:50051', 'host:50051'],
    ['ipv4:10.0.0.1:80,10.0.0.2:80', '10.0.0.1:80'],
    ['ipv6:[::1]:80', '[::1]:80'],
    ['unix:/tmp/socket', 'localhost'],
    ['', ''],
  ])('of %s is %s', (target, authority) => {
    expect(authorityOf(target)).toBe(authority);
  });
});
