import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Server } from '@grpc/grpc-js';
import { RawAdsServer, type RawCall } from '../../packages/cli/src/record/recorder';
import { Cluster } from '../../src/wire/generated/envoy/config/cluster/v3/cluster';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { ClientStatusResponse } from '../../src/wire/generated/envoy/service/status/v3/csds';
import { AdsClient } from '../control-plane/ads-client';
import { OfficialClient } from '../control-plane/official-client';
import { CDS, LDS } from '../control-plane/resources';
import { edsClusterJson, listenerJson } from '../support/xds-json';
import { simpleResources } from '../support/mesh';
import { DoctorWorld } from './doctor-world';
import { bytesCodec } from '../support/bytes-codec';
import { bind } from '../support/listen';

// Every text of a file, a server or a client tries to forge a line, to control the terminal, to reverse what follows, and to
// colour or hide it.
const HOSTILE = 'x\nFORGED \x1b[2J\x1b[8m\x9b1A\u202e\u2028\r\tend';
const HUGE = `${HOSTILE}${'\n\x1b\u202e'.repeat(70_000)}`;

const target = 'xds:///svc';

describe('what the command line prints of others', () => {
  let world: DoctorWorld;
  const running: Promise<number>[] = [];
  const stops: (() => unknown)[] = [];
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(async () => {
    world.io.pressCtrlC();
    await Promise.all(running.splice(0));
    for (const stop of stops.splice(0)) stop();
    await world.close();
  });

  /** What was printed: every line begins as the command line begins it, and controls nothing. */
  function expectHarmless({ maxLength = 200_000 } = {}): void {
    const { out, errors, screen } = world.io;
    const lines = [...out, ...errors, ...screen];
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => /^\s*FORGED/.test(line))).toEqual([]);
    expect(lines.filter((line) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(line))).toEqual([]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(maxLength);
  }

  /** Runs commands one after the other. */
  async function run(...commands: readonly (readonly string[])[]): Promise<void> {
    for (const command of commands) await world.io.run(...command);
  }

  const files: readonly (readonly [string, object | string])[] = [
    [
      'names and values',
      {
        listeners: [listenerJson(HOSTILE, HOSTILE)],
        routes: [{ name: HOSTILE, virtual_hosts: [{ name: HOSTILE, domains: [HOSTILE] }] }],
        clusters: [edsClusterJson(HOSTILE, { alt_stat_name: HOSTILE, lb_policy: 'MAGLEV' })],
        endpoints: [
          {
            cluster_name: HOSTILE,
            endpoints: [{ locality: { region: HOSTILE }, lb_endpoints: [] }],
          },
        ],
      },
    ],
    ['a key', { clusters: [{ name: 'a', [HOSTILE]: HOSTILE }] }],
    ['a top-level key', { [HOSTILE]: [] }],
    ['an enum', { clusters: [{ name: 'a', lb_policy: HOSTILE, type: HOSTILE }] }],
    ['a type', { resources: [{ '@type': `type.googleapis.com/${HOSTILE}` }] }],
    ['no JSON', HOSTILE],
    ['a name of 210 kB', { clusters: [{ name: HUGE, type: 'EDS' }], [HUGE]: 1 }],
  ];
  it.each(files)('is harmless: %s of a file', async (_case, content) => {
    const path = world.write('hostile.json', content);
    const other = world.write('other.json', simpleResources([1]));
    await run(
      ['check', path],
      ['check', path, '--json'],
      ['dump', path],
      ['dump', other, '--diff', path],
    );
    await run(['explain', target, '/s/m', '-f', path], ['doctor', path, '--no-connect']);
    for (const format of ['table', 'svg', 'yaml']) {
      await run(['graph', target, '-f', path, '-o', format]);
      await run(['graph', `xds:///${HOSTILE}`, '-f', path, '-o', format]);
    }
    await run(['serve', path, '--port', '-1'], ['replay', path, '--port', '0', '--once']);
    expectHarmless({ maxLength: Infinity });
  });

  it.each(['json', 'yaml', 'table'])('is harmless: a dump as %s', async (format) => {
    const path = world.write('hostile.json', files[0]?.[1] ?? {});
    await run(['dump', path, '-o', format]);
    expectHarmless();
  });

  it('is harmless: a client of serve', async () => {
    const file = world.write('good.json', simpleResources([1]));
    running.push(world.io.run('serve', file, '--port', '0', '--loads'));
    const address = (await world.io.until(/^Serving /)).split(' ').at(-1) ?? '';
    const client = new AdsClient(address);
    const loads = new OfficialClient(address);
    stops.push(
      () => client.close(),
      () => loads.close(),
    );
    const stream = client.open();
    stream.subscribe(CDS, [], { node: { id: HOSTILE } });
    stream.nack(await stream.next(), [], HOSTILE, HOSTILE);
    stream.subscribe(LDS, [HOSTILE]);
    stream.subscribe(`type.googleapis.com/${HOSTILE}`, [HOSTILE]);
    await world.io.until(/REJECTED/);
    await world.io.until(/does not have$/);
    const reports = loads.call<object>(
      'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
    );
    reports.send({ node: { id: HOSTILE } });
    await reports.next();
    const locality = { region: HOSTILE, zone: HOSTILE, sub_zone: HOSTILE };
    const counts = { locality, total_issued_requests: 1, total_successful_requests: 1 };
    reports.send({
      cluster_stats: [
        {
          cluster_name: HOSTILE,
          cluster_service_name: HOSTILE,
          upstream_locality_stats: [counts],
          dropped_requests: [{ category: HOSTILE, dropped_count: 1 }],
          total_dropped_requests: 1,
        },
      ],
    });
    await world.io.until(/reports its calls/);
    world.io.pressCtrlC();
    await Promise.all(running.splice(0));
    expectHarmless();
  });

  /** Starts a control plane whose every text is hostile. @returns its address. */
  async function hostileServer(respond: (call: RawCall, request: DiscoveryRequest) => void) {
    const server = new RawAdsServer(world.io, (_method, call) => {
      call.on('error', () => {});
      call.on('data', (bytes: Buffer) => respond(call, DiscoveryRequest.decode(bytes)));
    });
    stops.push(() => server.close());
    return `127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  }

  const badCluster = Cluster.encode(Cluster.create({ name: HOSTILE }));
  const servers: readonly (readonly [string, (call: RawCall, r: DiscoveryRequest) => void])[] = [
    [
      'rejected resources',
      (call, { typeUrl }) => {
        const resource = { typeUrl: CDS, value: badCluster.finish() };
        const response = DiscoveryResponse.create({
          typeUrl,
          versionInfo: HOSTILE,
          nonce: HOSTILE,
          resources: [resource],
        });
        call.write(Buffer.from(DiscoveryResponse.encode(response).finish()));
      },
    ],
    [
      'another type',
      (call) => {
        const response = DiscoveryResponse.create({ typeUrl: HOSTILE, versionInfo: HOSTILE });
        call.write(Buffer.from(DiscoveryResponse.encode(response).finish()));
      },
    ],
    ['no message', (call) => call.write(Buffer.from(HOSTILE))],
    ['a status', (call) => call.emit('error', { code: 14, details: HOSTILE })],
  ];
  it.each(servers)('is harmless: %s of a control plane', async (_case, respond) => {
    const address = await hostileServer(respond);
    const timeout = ['--timeout', '0.2'];
    const bootstrap = world.write('b.json', {
      xds_servers: [{ server_uri: address, channel_creds: [{ type: 'insecure' }] }],
      node: { id: HOSTILE },
    });
    await run(
      ['dump', '--control-plane', address, ...timeout],
      ['dump', '--control-plane', address, '-t', target, ...timeout],
      ['dump', `ads:${address}`, '--diff', `ads:${address}`, ...timeout],
      ['explain', target, '/s/m', '--control-plane', address, ...timeout],
      ['graph', target, '--control-plane', address, ...timeout],
      ['watch', target, '--control-plane', address, ...timeout],
      ['watch', target, '--bootstrap', bootstrap, '--json', ...timeout],
      ['doctor', bootstrap, '-t', target, ...timeout],
    );
    world.io.isTerminal = true;
    await run(['watch', target, '--control-plane', address, ...timeout]);
    world.io.isTerminal = false;
    running.push(world.io.run('record', '-u', address, `${world.folder}/recording`, '--port', '0'));
    const recorder = (await world.io.until(/^Recording /)).split(' ').at(-1) ?? '';
    const client = new AdsClient(recorder);
    stops.push(() => client.close());
    client.open().subscribe(CDS, [], { node: { id: HOSTILE } });
    await world.io.until(/<-|was ended/);
    world.io.pressCtrlC();
    await Promise.all(running.splice(0));
    world.io.screen = world.io.screen.map((line) => line.replace(COLOURS, ''));
    expectHarmless();
  });
  // eslint-disable-next-line no-control-regex -- those of the command line
  const COLOURS = /\x1b\[\d{1,2}m/g;

  it('is harmless: the admin services of a process', async () => {
    const config = {
      typeUrl: HOSTILE,
      name: HOSTILE,
      versionInfo: HOSTILE,
      clientStatus: 4 as const,
      errorState: { details: HOSTILE, versionInfo: HOSTILE },
      lastUpdated: { seconds: 2n ** 60n, nanos: -1 },
      xdsConfig: { typeUrl: HOSTILE, value: badCluster.finish() },
    };
    const response = ClientStatusResponse.create({
      config: [{ node: { id: HOSTILE }, genericXdsConfigs: [config], clientScope: HOSTILE }],
    });
    const server = new Server();
    const path = '/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus';
    server.addService(
      {
        fetch: {
          path,
          requestStream: false,
          responseStream: false,
          ...bytesCodec,
        },
      },
      {
        fetch: (_call: unknown, answer: (error: null, bytes: Buffer) => void) =>
          answer(null, Buffer.from(ClientStatusResponse.encode(response).finish())),
      },
    );
    stops.push(() => server.forceShutdown());
    const address = `127.0.0.1:${await bind(server)}`;
    await run(['dump', '--admin', address], ['dump', '--admin', address, '-o', 'yaml']);
    expect(world.io.errors).toEqual([]);
    expectHarmless();
  });

  it.each([200, 500])('is harmless: a live page with status %d', async (status) => {
    const server = createServer((_request, response) => response.writeHead(status).end(HUGE));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stops.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    await run(['dump', '--page', `http://127.0.0.1:${port}/#token=a`]);
    expectHarmless();
  });
  it('is bounded: a live page that is small until it is decompressed', async () => {
    const page = gzipSync(Buffer.alloc(2 ** 20));
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      for (let mebibytes = 0; mebibytes <= 256; mebibytes++) response.write(page);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stops.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    await run(['dump', '--page', `http://127.0.0.1:${port}/#token=a`, '--timeout', '60']);
    expect(world.io.errors.join()).toContain('more than 268435456 bytes');
  });
});
