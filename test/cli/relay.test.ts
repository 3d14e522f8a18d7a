import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { createMetricProducer, observe } from '../../src/observe/opentelemetry';
import { allInstruments } from '../../src/observe/stats/instrument-table';
import { PACKAGE_VERSION } from '../../src/util/version';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, echo } from '../control-plane/resources';
import { listenByGrpc } from '../relay/share/strangers';
import { readPage } from '../support/page-reader';
import { eventually } from '../support/eventually';
import { FakeIo } from './fake-io';

/** What a client says that it is. */
const agent = { user_agent_name: 'gRPC Go', user_agent_version: '1.75.0' };

/** A relay has the clock of the system. */
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/;

describe('grpc-xds relay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cli-relay-'));
  const path = join(folder, 'xds.sock');
  let controlPlane: ControlPlane;
  /** The address of the control plane. */
  let server: string;
  let io: FakeIo;

  beforeEach(async () => {
    controlPlane = new ControlPlane({ snapshot: Snapshot.from(echo) });
    const { bootstrap, address } = await controlPlane.start();
    server = address;
    io = new FakeIo();
    io.env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) };
  });
  afterEach(() => {
    io.pressCtrlC();
    void controlPlane.close({ force: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['a socket', `unix:${path}`, `unix:${path}`],
    ['a port', '127.0.0.1:0', /^127\.0\.0\.1:\d+$/],
  ])('serves clients on %s until it is interrupted', async (_kind, listen, expected) => {
    const running = io.run('relay', '--listen', listen);
    const address = (await io.until(/^Relaying on /)).split(' ').at(-1) ?? '';
    expect(address).toMatch(expected);
    if (listen.startsWith('unix:')) expect(statSync(path).mode & 0o777).toBe(0o600);
    const client = new AdsClient(address);
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], { node: { id: 'a' } });
    const response = await stream.next();
    expect(response.resources).toHaveLength(1);
    stream.nack(response, ['echo'], 'no good');
    await io.until(/client "a" \(stream 1\) connected/);
    await eventually(
      () => io.errors.length,
      (count) => count > 0,
    );
    io.pressCtrlC();
    expect(await running).toBe(0);
    expect((await stream.ended).details).toBe('the relay is shutting down');
    client.close();
    expect(io.errors).toEqual([
      '12:00:01Z relay: client of the relay, node "a", rejected Cluster: no good',
    ]);
    if (listen.startsWith('unix:')) expect(() => statSync(path)).toThrow('ENOENT');
  });

  it('is shown by --admin, and by watch, with its servers, clients and loads', async () => {
    const running = io.run('relay', '--listen', `unix:${path}`);
    await io.until(/^Relaying on /);
    const client = new AdsClient(`unix:${path}`);
    const [good, bad] = [client.open(), client.open()];
    good.subscribe(CDS, ['echo', 'none'], { node: { id: 'good', ...agent } });
    good.ack(await good.next(), ['echo', 'none']);
    bad.subscribe(CDS, ['echo'], { node: { id: 'bad' } });
    bad.nack(await bad.next(), ['echo'], 'no good');
    await io.until(/client "bad" \(stream 2\) connected/);
    await eventually(
      () => io.errors.length,
      (count) => count > 0,
    );
    const shown = new FakeIo();
    expect(await shown.run('relay', '--admin', `unix:${path}`)).toBe(0);
    const lines = shown.out.map((line) => line.replace(TIME, 'TIME').replaceAll(/ +/g, ' ').trim());
    expect(lines).toEqual([
      `relay (pid ${process.pid}) on unix:${path}, grpc-xds ${PACKAGE_VERSION}, node "my-client"`,
      '',
      'server state last error',
      `${server} open`,
      '',
      'type names resources errors absent',
      'Cluster 2 1 0 0',
      '',
      'stream client type names state',
      '1 good Cluster 2 acknowledged',
      '2 bad Cluster 1 rejected: no good',
      '',
      'stream client user agent address connected',
      '1 good gRPC Go 1.75.0 TIME',
      '2 bad TIME',
    ]);
    const json = new FakeIo();
    expect(await json.run('relay', '--admin', `unix:${path}`, '--json')).toBe(0);
    expect(JSON.parse(json.out.join('\n'))).toMatchObject({ clientCount: 2, loadClients: [] });
    const watched = new FakeIo();
    const admin = ['watch', '--admin', `unix:${path}`, '--once', '--interval', '0.1'];
    expect(await watched.run(...admin)).toBe(0);
    const rows = watched.out.map((line) => line.trim().split(/ {2,}/));
    expect(rows.slice(1).map(([name, , , , , ready, state]) => [name, ready, state])).toEqual([
      [`relay unix:${path}`, '1/2', undefined],
      [`server ${server}`, '0/0', 'OPEN'],
      ['client "good" (stream 1)', '1/1', 'ACKED'],
      ['client "bad" (stream 2)', '0/1', 'NACKED'],
    ]);
    client.close();
    io.pressCtrlC();
    expect(await running).toBe(0);
  });

  it('is shown by --admin, whatever it says of its clients', async () => {
    const clients = [
      { streamId: 1, nodeId: 'a', connectedAtMs: 1e300, userAgentName: 7, peer: [] },
      { streamId: 2, nodeId: 'b', userAgentName: 'x\u202e', userAgentVersion: 'y' },
      null,
    ];
    const relay = { pid: 1, address: 'unix:/x', nodeId: 'n', version: 1, clients };
    const end = await listenByGrpc(path, JSON.stringify({ schema: 1, relay }));
    const shown = new FakeIo();
    expect(await shown.run('relay', '--admin', `unix:${path}`)).toBe(0);
    end();
    const lines = shown.out.map((line) => line.replace(TIME, 'TIME').replaceAll(/ +/g, ' ').trim());
    expect(lines).toEqual([
      'relay (pid 1) on unix:/x, node "n"',
      '',
      'stream client user agent address connected',
      '1 a',
      '2 b x\\u202e y',
    ]);
  });

  it('is found not to serve anything while no control plane can be reached', async () => {
    void controlPlane.close({ force: true });
    const running = io.run('relay', '--listen', `unix:${path}`);
    await io.until(/^Relaying on /);
    const show = async () => {
      const shown = new FakeIo();
      return { code: await shown.run('relay', '--admin', `unix:${path}`), lines: shown.out };
    };
    expect((await show()).code).toBe(0);
    const client = new AdsClient(`unix:${path}`);
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], { node: { id: 'a' } });
    await stream.ended;
    const { lines } = await eventually(show, ({ code }) => code === 1);
    expect(lines.join('\n')).toContain('ECONNREFUSED');
    client.close();
    io.pressCtrlC();
    expect(await running).toBe(0);
  });

  /** Runs a relay with two clients, one of which rejects. @returns what it has printed after a word, and its end. */
  const startWith = async (word: string, ...args: readonly string[]) => {
    const running = io.run('relay', '--listen', `unix:${path}`, ...args);
    const url = (await io.until(new RegExp(`^${word}: `))).slice(word.length + 2);
    await io.until(/^Relaying on /);
    const client = new AdsClient(`unix:${path}`);
    const good = client.open();
    good.subscribe(CDS, ['echo', 'none'], { node: { id: 'good', ...agent } });
    good.ack(await good.next(), ['echo', 'none']);
    const bad = client.open();
    bad.subscribe(CDS, ['echo'], { node: { id: 'bad' } });
    bad.nack(await bad.next(), ['echo'], 'no good');
    await eventually(
      () => io.errors.length,
      (count) => count > 0,
    );
    const end = async () => {
      client.close();
      io.pressCtrlC();
      expect(await running).toBe(0);
    };
    return { url, end };
  };

  it('is shown on a live page, with its clients and the servers above it', async () => {
    const { url, end } = await startWith('Live page', '--page', '0');
    const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
    const read = async (...names: readonly string[]) => {
      const query = names.map((view) => `view=${view}`).join('&');
      const reader = await readPage(page, `${query}&target=2`);
      const [first] = await eventually(
        () => reader.messages,
        (messages) => messages.length > 0,
      );
      reader.request.destroy();
      expect(first?.data.about?.kind).toBe('relay');
      return first?.data.views ?? {};
    };
    const shown = {
      ...(await read('clients', 'types', 'upstream', 'differences')),
      ...(await read('connections', 'graph')),
      ...(await read('relayed', 'loads', 'events')),
    };
    const rowsOf = (view: string) => shown[view]?.rows;
    const verdict =
      'no majority in 1 of 1: Cluster: acknowledged (good (stream 1)), rejected: no good (bad (stream 2))';
    expect(rowsOf('clients')).toMatchObject([
      { node: 'good', state: 'acknowledged' },
      { node: 'bad', state: 'rejected', reason: 'no good', verdict },
    ]);
    const connectedAt: unknown = expect.stringMatching(TIME);
    const from = { connectedAt, method: 'StreamAggregatedResources' };
    expect(rowsOf('clients')?.[0]?.['about']).toBe('gRPC Go 1.75.0');
    expect(rowsOf('connections')).toEqual([
      { id: '1', node: 'good', stream: 1, agent: 'gRPC Go', version: '1.75.0', ...from },
      { id: '2', node: 'bad', stream: 2, ...from },
    ]);
    expect(rowsOf('graph')?.map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          new RegExp(`^gRPC Go 1\\.75\\.0, connected since ${TIME.source}, Cluster `),
        ),
        expect.stringMatching(`^connected since ${TIME.source}, Cluster .*rejected`),
        `pid ${process.pid}, grpc-xds ${PACKAGE_VERSION}, 2 clients`,
      ]),
    );
    expect(rowsOf('differences')).toMatchObject([{ fact: 'Cluster', usual: 'no majority' }]);
    expect(rowsOf('types')).toMatchObject([
      { type: 'Cluster', state: 'rejected', names: '1', rejection: 'rejected: no good' },
    ]);
    expect(rowsOf('upstream')).toMatchObject([{ server, state: 'open' }]);
    expect(rowsOf('relayed')).toMatchObject([{ type: 'Cluster', names: 2, resources: 1 }]);
    expect(rowsOf('loads')).toEqual([]);
    expect(rowsOf('events')?.map(({ kind }) => kind)).toContain('failed');
    await end();
    await expect(fetch(new URL('/', url))).rejects.toThrow();
  });

  it('serves its metrics in the format of Prometheus', async () => {
    const { url, end } = await startWith('Metrics', '--metrics', '0');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split('\n');
    const cluster = 'grpc_xds_resource_type="envoy.config.cluster.v3.Cluster"';
    expect(lines).toEqual(
      expect.arrayContaining([
        '# TYPE grpc_xds_relay_clients gauge',
        'grpc_xds_relay_clients{grpc_target="#relay"} 2',
        `grpc_xds_relay_subscriptions{grpc_target="#relay",${cluster}} 3`,
        '# TYPE grpc_xds_relay_rejections_total counter',
        `grpc_xds_relay_rejections_total{grpc_target="#relay",${cluster}} 1`,
        `grpc_xds_client_connected{grpc_target="#relay",grpc_xds_server="${server}"} 1`,
      ]),
    );
    expect(lines.filter((line) => line.startsWith('# TYPE'))).toHaveLength(
      new Set(lines.filter((line) => line.startsWith('# TYPE'))).size,
    );
    expect((await fetch(new URL('/other', url))).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    const other = new FakeIo();
    other.env = io.env;
    const args = ['--listen', '127.0.0.1:0', '--metrics', new URL(url).port];
    expect(await other.run('relay', ...args)).toBe(2);
    expect(other.errors.join()).toContain('EADDRINUSE');
    expect(other.errors.join()).toContain('; --metrics chooses another address');
    await end();
    await expect(fetch(url)).rejects.toThrow();
  });

  it('names its metrics, their labels and types as the Prometheus exporter of OpenTelemetry does', async () => {
    const metricProducer = createMetricProducer();
    const enableMetrics = allInstruments.map(({ name }) => name);
    const observed = observe({ metricProducer, enableMetrics });
    const { url, end } = await startWith('Metrics', '--metrics', '0');
    const own = (await (await fetch(url)).text()).split('\n').filter((line) => line !== '');
    const { resourceMetrics } = await metricProducer.collect();
    const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
    const theirs = serializer.serialize(resourceMetrics).split('\n');
    // Of the channels of the process there are more.
    const isOfRelay = (line: string) =>
      /^(?:# (?:HELP|TYPE) )?grpc_(?:xds_)?(?:relay|xds_client)_/.test(line);
    expect(own.sort()).toEqual(theirs.filter(isOfRelay).sort());
    expect(own.filter((line) => line.startsWith('# TYPE')).length).toBe(8);
    observed.close();
    await end();
  });

  it('is not found where there is none', async () => {
    expect(await io.run('relay', '--admin', `unix:${join(folder, 'none')}`)).toBe(3);
    expect(await io.run('relay', '--admin', server)).toBe(3);
    expect(io.errors).toEqual([
      expect.stringMatching(/^--admin unix:.*none: cannot be reached: /),
      `--admin ${server}: is no relay`,
    ]);
    expect(await io.run('relay')).toBe(2);
    expect(io.errors.at(-1)).toBe(
      'error: give --listen to run a relay, or --admin to show a running one',
    );
  });

  it('cannot use a path that another process listens on, or that is no socket', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(path, resolve));
    expect(await io.run('relay', '--listen', `unix:${path}`)).toBe(2);
    await new Promise((resolve) => other.close(resolve));
    const file = join(folder, 'file');
    writeFileSync(file, 'x');
    expect(await io.run('relay', '--listen', `unix:${file}`)).toBe(2);
    expect(io.errors).toEqual([
      `error: ${path}: another process listens on it`,
      `error: ${file}: there is something else than a socket: remove it, or choose another path`,
    ]);
  });

  it.each([
    ['a path of no length', 'unix:'],
    ['an address of other machines', '0.0.0.0:18000'],
    ['a port without an address', '18000'],
  ])('refuses %s', async (_what, listen) => {
    expect(await io.run('relay', '--listen', listen)).toBe(2);
    expect(io.errors.join()).toContain('Expected unix:/path, or a loopback address and a port');
  });

  it('refuses a bootstrap that there is not', async () => {
    io.env = {};
    expect(await io.run('relay', '--listen', `unix:${path}`)).toBe(2);
    expect(io.errors.join()).toContain('bootstrap');
  });
});
