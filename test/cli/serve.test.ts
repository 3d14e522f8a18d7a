import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdsClient } from '../control-plane/ads-client';
import { OfficialClient } from '../control-plane/official-client';
import { eventually } from '../support/eventually';
import { readPage } from '../support/page-reader';
import { FakeIo } from './fake-io';
import { CDS, LDS } from '../control-plane/resources';

const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const example = join(__dirname, '..', '..', 'examples', 'echo.yaml');

describe('grpc-xds serve', () => {
  let folder: string;
  let file: string;
  let io: FakeIo;
  let running: Promise<number> | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-serve-'));
    file = join(folder, 'echo.yaml');
    copyFileSync(example, file);
    io = new FakeIo();
  });
  afterEach(async () => {
    io.pressCtrlC();
    await running;
    rmSync(folder, { recursive: true });
  });

  /** Starts the command and connects to the printed address. */
  async function start(...flags: readonly string[]) {
    running = io.run('serve', file, '--port', '0', ...flags);
    const line = await io.until(/^Serving /);
    await io.until(/^$/);
    const address = line.split(' ').at(-1) ?? '';
    return { address, client: new AdsClient(address) };
  }

  it('prints its address, its resources and the bootstrap', async () => {
    const { address } = await start();
    await io.until(/^Changes/);
    expect(io.out).toEqual([
      `Serving ${file} on ${address}`,
      '  listeners     1  echo.example.com:50051',
      '  routes        1  echo-routes',
      '  clusters      2  echo, echo-canary',
      '  endpoints     2  echo, echo-canary',
      '',
      'Bootstrap for clients:',
      `  export GRPC_XDS_BOOTSTRAP_CONFIG='{"xds_servers":[{"server_uri":"${address}",` +
        '"channel_creds":[{"type":"insecure"}],"server_features":["xds_v3"]}],' +
        '"node":{"id":"my-client"},' +
        '"server_listener_resource_name_template":"xds.istio.io/grpc/lds/inbound/%s"}\'',
      'Target: xds:///echo.example.com:50051',
      'Changes of the file are served at once.',
      '',
    ]);
    expect(io.errors).toEqual([]);
  });

  it('serves services without a file', async () => {
    const services = ['--service', 'echo=127.0.0.1:50051', '-s', 'shop=[::1]:1,127.0.0.1:2'];
    running = io.run('serve', ...services, '--port', '0');
    const line = await io.until(/^Serving services on /);
    await io.until(/^Target: xds:\/\/\/echo$/);
    expect(io.out).toContain('  listeners     2  echo, shop');
    const stream = new AdsClient(line.split(' ').at(-1) ?? '').open();
    stream.subscribe(CDS, []);
    expect((await stream.next()).resources).toHaveLength(2);
  });

  it('serves the Listener of a server, and names its address', async () => {
    const manager = {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      rds: { route_config_name: 'inbound', config_source: { ads: {} } },
      http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
    };
    const listeners = ['127.0.0.1', '::'].map((address) => ({
      name: `servers/${address}`,
      address: { socket_address: { address, port_value: 50051 } },
      filter_chains: [{ filters: [{ name: 'hcm', typed_config: manager }] }],
    }));
    const virtual_hosts = [
      { domains: ['*'], routes: [{ match: { prefix: '' }, non_forwarding_action: {} }] },
    ];
    writeFileSync(
      file,
      JSON.stringify({ listeners, routes: [{ name: 'inbound', virtual_hosts }] }),
    );
    await start();
    await io.until(/^Changes/);
    expect(io.out.filter((line) => /^(Target|Server)/.test(line))).toEqual([
      'Server: 127.0.0.1:50051, by the Listener "servers/127.0.0.1"',
      'Server: [::]:50051, by the Listener "servers/::"',
    ]);
  });

  it.each([
    ['neither a file nor a service', [], 'expected either a resource file or --service'],
    ['both', ['FILE', '-s', 'a=127.0.0.1:1'], 'expected either a resource file or --service'],
    ['an address without a port', ['-s', 'a=127.0.0.1'], 'services ("a"): [0]: "127.0.0.1" is not'],
    ['a service without a name', ['-s', '127.0.0.1:1'], 'Expected NAME=HOST:PORT'],
  ])('refuses %s', async (_text, args, message) => {
    const given = args.map((arg) => (arg === 'FILE' ? file : arg));
    expect(await io.run('serve', ...given)).toBe(2);
    expect(io.errors.join('\n')).toContain(message);
  });

  it('prints a line for each event of a client', async () => {
    const { client } = await start();
    const stream = client.open();
    stream.subscribe(LDS, ['echo.example.com:50051', 'typo'], { node: { id: 'n1' } });
    const response = await stream.next();
    expect(await io.until(/ connected/)).toMatch(
      /^12:00:01Z client 1 \(n1\) connected from 127\.0\.0\.1:\d+$/,
    );
    expect(await io.until(/typo/)).toBe(
      '12:00:01Z client 1 (n1) requests listeners the file does not have: "typo"',
    );
    stream.nack(response, ['echo.example.com:50051', 'typo'], 'two\n  lines');
    expect(await io.until(/REJECTED/)).toBe(
      `12:00:01Z client 1 (n1) REJECTED listeners ${response.version_info}: two | lines`,
    );
    stream.subscribe(CDS, ['echo']);
    const clusters = await stream.next();
    stream.ack(clusters, ['echo']);
    expect(await io.until(/accepted/)).toBe(
      `12:00:01Z client 1 (n1) accepted clusters ${clusters.version_info}`,
    );
    stream.subscribe('type/secret', ['x']);
    expect(await io.until(/secret/)).toBe(
      '12:00:01Z client 1 (n1) requests type/secret, which this server does not have',
    );
    stream.cancel();
    expect(await io.until(/disconnected/)).toBe('12:00:01Z client 1 (n1) disconnected');
    client.close();
  });

  it('serves a changed file at once, and goes on with the last good one', async () => {
    const { client } = await start();
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], { node: { id: 'n1' } });
    const before = await stream.next();
    stream.ack(before, ['echo']);

    writeFileSync(file, 'clusters: 7');
    expect(await io.until(/is bad/)).toBe('12:00:01Z the file is bad; clients keep what they have');
    expect(await io.until(/echo.yaml:1:/)).toBe(`${file}:1:1: clusters: expected a list, got 7`);

    const text = readFileSync(example, 'utf8');
    writeFileSync(file, text);
    await io.until(/good again/);
    writeFileSync(file, text.replace('lb_policy: ROUND_ROBIN', 'lb_policy: RANDOM'));
    expect(await io.until(/reloaded/)).toBe('12:00:01Z reloaded, changed: clusters (2)');
    expect(await io.until(/NACK/)).toMatch(
      /echo\.yaml:\d+:5: cluster "echo": clients reject it \(NACK\): lb_policy: .*, not RANDOM$/,
    );
    const after = await stream.next();
    expect(after.version_info).not.toBe(before.version_info);
    expect(after.nonce).toBe('2');
    client.close();
  });

  it('warns of dangling references when they are allowed', async () => {
    const eds = 'type: EDS, eds_cluster_config: { eds_config: { ads: {} } }';
    writeFileSync(file, `clusters: [{ name: a, ${eds} }]`);
    await start('--allow-inconsistent', '--no-watch', '--host', '0.0.0.0');
    expect(io.errors).toEqual([
      'warning: cluster "a": name: endpoint assignment "a" is not in the snapshot',
    ]);
    expect(await io.until(/export/)).toContain('"server_uri":"127.0.0.1:');
    expect(await io.until(/^Not watching/)).toBe('Not watching.');
  });

  it('prints what clients will ignore, and rejections in red on a terminal', async () => {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('lb_policy: ROUND_ROBIN', 'alt_stat_name: x'));
    io.isTerminal = true;
    const { client } = await start();
    expect(io.errors).toEqual([
      expect.stringMatching(/echo\.yaml:\d+:5: warning: .*no gRPC client reads "alt_stat_name"$/),
    ]);
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], { node: { id: 'n1' } });
    stream.nack(await stream.next(), ['echo'], 'no');
    const line = await io.until(/REJECTED/);
    expect(line.startsWith('\x1b[31m12:00:01Z client 1 (n1) REJECTED clusters')).toBe(true);
    client.close();
  });

  it('ends with 0 when interrupted, and leaves nothing behind', async () => {
    const { client } = await start();
    const stream = client.open();
    stream.subscribe(LDS, ['x'], { node: { id: 'n1' } });
    await stream.next();
    io.pressCtrlC();
    expect(await running).toBe(0);
    expect((await stream.ended).details).toBe('the control plane is shutting down');
    expect(io.isInterruptible).toBe(false);
    client.close();
  });

  it('serves a changed resource of an unknown type', async () => {
    const LOCALITY = 'type.googleapis.com/envoy.config.core.v3.Locality';
    const text = (zone: string) =>
      'resources:\n' +
      '  - "@type": type.googleapis.com/envoy.service.discovery.v3.Resource\n' +
      '    name: there\n' +
      `    resource: { "@type": ${LOCALITY}, zone: ${zone} }\n`;
    writeFileSync(file, text('a'));
    const { client } = await start();
    expect(io.out).toContain('  envoy.config.core.v3.Locality     1  there');
    const stream = client.open();
    stream.subscribe(LOCALITY, ['there'], { node: { id: 'n1' } });
    expect((await stream.next()).resources).toHaveLength(1);
    writeFileSync(file, text('b'));
    expect(await io.until(/reloaded/)).toMatch(/changed: envoy.config.core.v3.Locality \(1\)$/);
    expect((await stream.next()).nonce).toBe('2');
    client.close();
  });

  it('prints the loads that clients report, and their sum at the end', async () => {
    const { address, client } = await start('--loads', '--load-interval', '0.5');
    client.close();
    const official = new OfficialClient(address);
    const stream = official.call<object>(
      'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
    );
    stream.send({ node: { id: 'n1', client_features: ['envoy.lrs.supports_send_all_clusters'] } });
    expect(await stream.next()).toMatchObject({
      send_all_clusters: true,
      load_reporting_interval: { seconds: '0', nanos: 500_000_000 },
    });
    const upstream_locality_stats = [
      { locality: { region: 'eu' }, total_issued_requests: 2, total_successful_requests: 1 },
    ];
    stream.send({ cluster_stats: [{ cluster_name: 'idle' }] });
    stream.send({ cluster_stats: [{ cluster_name: 'echo', upstream_locality_stats }] });
    await io.until(/^ {2}echo /);
    official.close();
    io.pressCtrlC();
    await running;
    const table = [
      '  cluster  locality  started  succeeded  failed  running  dropped',
      '  echo     eu              2          1       0        0        0',
    ];
    const at = io.out.indexOf('12:00:01Z client 1 (n1) reports its calls');
    expect(io.out.slice(at + 1, at + 3)).toEqual(table);
    expect(io.out.slice(-3)).toEqual(['All calls reported:', ...table]);
  });

  it('has the loads of services reported', async () => {
    running = io.run('serve', '--service', 'echo=127.0.0.1:1', '--loads', '--port', '0');
    await io.until(/^Target: /);
    expect(io.errors).toEqual([]);
  });

  it('warns of loads that no client will report', async () => {
    const { client } = await start('--loads');
    client.close();
    expect(io.errors).toEqual([
      expect.stringContaining('--loads: no cluster has lrs_server, so that clients report no'),
    ]);
    const text = readFileSync(file, 'utf8');
    const name = '\n  - name: echo\n';
    expect(text).toContain(name);
    writeFileSync(file, text.replace(name, `${name}    lrs_server: { self: {} }\n`));
    await io.until(/reloaded, changed: clusters/);
    expect(io.errors).toHaveLength(1);
  });

  it('prints that no loads were reported', async () => {
    const { client } = await start('--loads');
    client.close();
    io.pressCtrlC();
    await running;
    expect(io.out.at(-1)).toBe('No loads were reported.');
  });

  it('ends with 2 when the file is bad at the start', async () => {
    writeFileSync(file, 'x');
    expect(await io.run('serve', file, '--port', '0')).toBe(2);
    expect(io.errors[0]).toContain(`${file}:1:1: expected an object`);
    expect(io.out).toEqual([]);
  });

  it('ends with 2 when the address is taken', async () => {
    const { address } = await start();
    const second = new FakeIo();
    expect(await second.run('serve', file, '--port', address.split(':')[1] ?? '')).toBe(2);
    expect(second.errors).toEqual([
      `listen EADDRINUSE: address already in use ${address}; --port and --host choose another address`,
    ]);
  });

  describe('with --page', () => {
    async function startPage() {
      const started = await start('--page', '0');
      const [, url = ''] = /^Live page: (.*)$/.exec(await io.until(/^Live page: /)) ?? [];
      const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
      return { ...started, page };
    }

    it('shows what each client has acknowledged and rejected', async () => {
      const { client, page } = await startPage();
      const stream = client.open();
      stream.subscribe(LDS, ['echo.example.com:50051'], { node: { id: '<b>n1</b>' } });
      stream.ack(await stream.next(), ['echo.example.com:50051']);
      stream.subscribe(CDS, []);
      stream.nack(await stream.next(), [], 'clusters are bad');
      const reader = await readPage(page, 'view=clients&view=types&view=events&target=1');
      await eventually(
        () => reader.messages,
        ([message]) => message?.data.views.types?.rows.length === 2,
      );
      const views = () => reader.messages.at(0)?.data.views;
      expect(reader.messages[0]?.data.about).toMatchObject({ kind: 'control-plane' });
      await eventually(
        () => reader.messages.flatMap(({ data }) => data.views.clients?.rows ?? []),
        (rows) => rows.some(({ state }) => state === 'rejected'),
      );
      const rows = reader.messages.flatMap(({ data }) => data.views.types?.rows ?? []);
      expect(rows).toContainEqual(
        expect.objectContaining({ type: 'Listener', state: 'acknowledged' }),
      );
      expect(rows).toContainEqual(
        expect.objectContaining({
          type: 'Cluster',
          state: 'rejected',
          names: 'all',
          rejection: expect.stringContaining('clusters are bad') as string,
        }),
      );
      expect(views()?.clients?.rows[0]).toMatchObject({ node: '<b>n1</b>', id: '1' });
      reader.request.destroy();
    });

    it('shows the served resources, reloads and the errors of the file', async () => {
      const { page } = await startPage();
      const reader = await readPage(page, 'view=served&view=events');
      await eventually(
        () => reader.messages,
        ([message]) => message?.data.views.served?.total === 6,
      );
      writeFileSync(file, 'listeners: 7');
      await eventually(
        () => reader.messages.flatMap(({ data }) => data.views.events?.rows ?? []),
        (rows) => rows.some(({ text }) => String(text).includes('the file is bad')),
      );
      reader.request.destroy();
    });

    /** Reads the graph as it is for a client, as `column name: state (text)` and `from -> to share`. */
    async function readGraph(page: Parameters<typeof readPage>[0], query = ''): Promise<string[]> {
      const reader = await readPage(page, `view=graph${query}`);
      const [message] = await eventually(
        () => reader.messages,
        ({ length }) => length > 0,
      );
      reader.request.destroy();
      const rows = message?.data.views.graph?.rows ?? [];
      const names = new Map(rows.map(({ id, name }) => [id, name]));
      return rows.flatMap(({ kind, column, name, state, from, to, share, text }) =>
        kind === 'node'
          ? [
              `${String(column)} ${String(name)}: ${String(state)}${column === 'target' ? ` (${String(text)})` : ''}`,
            ]
          : kind === 'edge'
            ? [
                `${String(names.get(String(from)))} -> ${String(names.get(String(to)))} ${String(share)}`,
              ]
            : [],
      );
    }

    async function firstClient(page: Parameters<typeof readPage>[0]): Promise<string> {
      const reader = await readPage(page, 'view=clients');
      const [row] = await eventually(
        () => reader.messages.flatMap(({ data }) => data.views.clients?.rows ?? []),
        ({ length }) => length > 0,
      );
      reader.request.destroy();
      return String(row?.id);
    }

    it('draws the Listeners that a client has requested, and all without a client', async () => {
      const { client, page } = await startPage();
      const whole = await readGraph(page);
      expect(whole).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^target xds:\/\/\/echo\.example\.com:50051: ready \(virtual host/),
          'cluster echo: ready',
          'cluster echo-canary: ready',
          'endpoint 127.0.0.1:50051: ready',
        ]),
      );
      const stream = client.open();
      stream.subscribe(LDS, ['nowhere'], { node: { id: 'n1' } });
      const response = await stream.next();
      // A call that is tried again by itself is another stream.
      const id = await firstClient(page);
      const [nowhere] = await eventually(
        () => readGraph(page, `&target=${id}`),
        ({ length }) => length === 1,
      );
      expect(nowhere).toMatch(/^target xds:\/\/\/nowhere: failing \(.*Listener "nowhere"/);
      stream.ack(response, ['nowhere', 'echo.example.com:50051']);
      const both = await eventually(
        () => readGraph(page, `&target=${id}`),
        ({ length }) => length > 1,
      );
      expect(both.filter((row) => row.startsWith('target'))).toHaveLength(2);
      expect(both).toEqual(expect.arrayContaining([...whole]));
    });

    it('draws the graph anew when the file changes', async () => {
      const { page } = await startPage();
      const before = await readGraph(page);
      expect(before.some((row) => row.endsWith('echo-canary 0.1'))).toBe(true);
      writeFileSync(file, readFileSync(file, 'utf8').replace('weight: 10', 'weight: 90'));
      await eventually(
        () => readGraph(page),
        (rows) => rows.some((row) => row.endsWith('echo-canary 0.5')),
      );
    });

    it('draws the first 20 Listeners, and one node for the others', async () => {
      const services = Array.from({ length: 23 }, (_, i) => ['-s', `shop-${i}=127.0.0.1:${i + 1}`]);
      running = io.run('serve', ...services.flat(), '--port', '0', '--page', '0');
      const [, url = ''] = /^Live page: (.*)$/.exec(await io.until(/^Live page: /)) ?? [];
      const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
      const targets = (await readGraph(page)).filter((row) => row.startsWith('target'));
      expect(targets).toHaveLength(21);
      expect(targets.at(-1)).toBe('target 3 more: unused (only the first 20 Listeners are drawn)');
    });

    it('refuses a port that is in use', async () => {
      const { page } = await startPage();
      const other = new FakeIo();
      expect(await other.run('serve', file, '--port', '0', '--page', `${page.port}`)).toBe(2);
      expect(other.errors.join()).toContain('--page chooses another port');
    });
  });
});
