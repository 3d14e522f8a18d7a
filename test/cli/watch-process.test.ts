import { EventEmitter } from 'node:events';
import { serveAdminPage } from '../../packages/page/src';
import { openScreen, type ScreenInput, type ScreenOutput } from '../../packages/cli/src/screen';
import { ratesOf, readSample } from '../../packages/cli/src/watch/process-sample';
import type { AdminPage } from '../../packages/page/src/live-page/page-server';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
} from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  serverChain,
  XdsServerWorld,
} from '../support/xds-server-world';
import { FakeIo } from './fake-io';

const target = `xds:///${SERVICE}`;

/** A row of the output. */
interface Rated {
  readonly server: string;
  readonly part: string;
  readonly endpoints?: number;
  readonly failedPerSecond: number;
}

describe('grpc-xds watch of a process', () => {
  let mesh: Mesh;
  let page: AdminPage;
  let io: FakeIo;
  let client: ReturnType<Mesh['client']>;
  beforeEach(async () => {
    io = new FakeIo();
    mesh = await Mesh.start();
    page = await serveAdminPage({ port: 0 });
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    client = mesh.client();
    await client.say();
  });
  afterEach(async () => {
    await page.close();
    mesh.stop();
  });

  const args = (...more: readonly string[]) => [
    'watch',
    '--page',
    page.url,
    '--interval',
    '0.3',
    ...more,
  ];

  it('prints the calls of a target, its cluster and its locality, and ends if there is no terminal', async () => {
    const running = io.run(...args('--json'));
    const calls = setInterval(() => void client.say(), 20);
    expect(await running).toBe(0);
    clearInterval(calls);
    const { rows } = JSON.parse(io.out.join('\n'));
    expect(rows).toMatchObject([
      { target, cluster: '', locality: '', state: 'READY', ready: 1, endpoints: 1 },
      { target, cluster: 'echo', locality: '', state: 'READY' },
      { target, cluster: 'echo', locality: 'test/a' },
    ]);
    for (const row of rows) {
      expect(row.callsPerSecond).toBeGreaterThan(0);
      expect(row.failedPerSecond).toBe(0);
    }
    expect(await io.run(...args('-t', 'xds:///other'))).toBe(1);
    expect(io.errors.at(-1)).toMatch(/^xds:\/\/\/other: not a target of http/);
  });

  it('is a screen on a terminal, of its size, until q is pressed', async () => {
    io.isTerminal = true;
    io.size = { columns: 40, rows: 24 };
    const running = io.run(...args('--no-color'));
    await io.until(/^ {2}echo .*/);
    expect(io.screen[0]).toMatch(/^process \d+ .*Z {2}q: quit$/);
    for (const line of io.screen) expect(line.length).toBeLessThanOrEqual(40);
    io.size = { columns: 100, rows: 6 };
    io.user?.onResize();
    expect(io.screen).toHaveLength(5);
    expect(io.screen.at(-1)).toBe('and 1 more');
    io.user?.onKey('x');
    io.user?.onKey('q');
    expect(await running).toBe(0);
    expect(io.user).toBeUndefined();
  });

  it('cuts names, so that the numbers are on the screen', async () => {
    const cluster = 'a-cluster-with-a-name-'.repeat(5);
    const backend = await mesh.backend('b');
    mesh.serve({
      ...simpleResources([]),
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(cluster)])],
      clusters: [edsClusterJson(cluster)],
      endpoints: [endpointsJson(cluster, [{ zone: 'a', ports: [backend.port] }])],
    });
    await eventually(
      () => client.say(),
      (name) => name === 'b',
    );
    io.isTerminal = true;
    io.size = { columns: 80, rows: 24 };
    const running = io.run(...args('--no-color'));
    await io.until(/^ {2}a-cluster-with-a-n.*… .*READY$/);
    expect(io.screen[1]).toMatch(/calls\/s +errors\/s +latency +in flight +ready +state$/);
    for (const line of io.screen) expect(line.length).toBeLessThanOrEqual(80);
    io.user?.onKey('q');
    expect(await running).toBe(0);
  });

  it('has the servers of the process: state, calls, chains, clients, and what is refused', async () => {
    const world = await XdsServerWorld.start();
    const chain = serverChain(
      { ...inlineRoutes(), http_filters: [rbacFilter('DENY', [{ any: true }]), routerFilter] },
      { name: 'inbound' },
    );
    world.serve([world.listener([chain])]);
    await world.bind(world.server());
    const caller = world.client();
    await callServer(caller);
    const calls = setInterval(() => void callServer(caller), 20);
    try {
      const server = world.address;
      const readRows = async () => {
        io.out.length = 0;
        expect(await io.run(...args('--json', '-t', '#server'))).toBe(0);
        return (JSON.parse(io.out.join('\n')) as { rows: readonly Rated[] }).rows;
      };
      // The client may have a second connection for a moment.
      const rows = await eventually(readRows, (all) =>
        all.some((row) => row.server === server && row.part === '' && row.endpoints === 1),
      );
      expect(rows.filter((row) => row.server === server)).toMatchObject([
        { part: '', state: 'SERVING', ready: 1, endpoints: 1 },
        { part: 'filter chain inbound', state: 'plain text' },
        { part: 'client plain text', ready: 1, endpoints: 1 },
        { part: 'refused by rbac, policy the-policy: PERMISSION_DENIED' },
      ]);
      const rates = rows.flatMap((row) => (row.server === server ? row.failedPerSecond : []));
      expect(rates.map((rate) => rate > 0)).toEqual([true, false, false, true]);
      expect(await io.run(...args())).toBe(0);
      expect(io.out.some((line) => line.startsWith(`${server} `))).toBe(true);
      expect(io.out.some((line) => line.startsWith('  client plain text '))).toBe(true);
      const dumped = async (...more: readonly string[]) => {
        io.out.length = 0;
        expect(await io.run('dump', '--page', page.url, '--json', ...more)).toBe(0);
        const dump = JSON.parse(io.out.join('\n')) as { 'x-report': { servers: unknown } };
        return dump['x-report'].servers;
      };
      expect(await dumped('-t', '#server')).toMatchObject([{ address: server, state: 'SERVING' }]);
      expect(await dumped()).toHaveLength(1);
      expect(await dumped('-t', target)).toEqual([]);
      expect(await io.run('dump', '--control-plane', mesh.address, '-t', '#server')).toBe(2);
      expect(io.errors.at(-1)).toMatch(/^--target #server: only a process has it/);
    } finally {
      clearInterval(calls);
      world.stop();
    }
  });

  it('keeps the last table while the process does not answer, and ends with 3', async () => {
    io.isTerminal = true;
    io.size = { columns: 200, rows: 24 };
    const running = io.run(...args());
    await io.until(/^ {2}echo .*/);
    await page.close();
    await io.until(/ECONNREFUSED/);
    expect(io.screen.some((line) => line.startsWith('  echo'))).toBe(true);
    io.user?.onKey('q');
    expect(await running).toBe(3);
  });
});

describe('the process that grpc-xds watch is given', () => {
  it.each([
    ['--pid', '4194304'],
    ['--page', 'http://127.0.0.1:1/#token=0123456789abcdef'],
  ])('is not reached, which ends it with 3: %s', async (flag, value) => {
    const io = new FakeIo();
    expect(await io.run('watch', flag, value, '--timeout', '1')).toBe(3);
    expect(io.errors).toHaveLength(1);
  });

  it.each<readonly [args: string, error: string]>([
    [
      '--admin 127.0.0.1:2 --pid 1',
      'give one of a target, --server, --pid, --page and --admin, not --pid and --admin',
    ],
    [
      'xds:///shop --pid 1',
      'give one of a target, --server, --pid, --page and --admin, not a target and --pid',
    ],
    [
      '--pid 1 --control-plane 127.0.0.1:2',
      '--control-plane is for a target or --server: the process of --pid has its own',
    ],
    [
      '--admin 127.0.0.1:2 --bootstrap b.json',
      '--bootstrap is for a target or --server: the process of --admin has its own',
    ],
    ['xds:///shop -t xds:///a', '--target is for a process: it needs --pid, --page or --admin'],
    [
      '--server 127.0.0.1:1 --interval 1',
      '--interval is for a process: it needs --pid, --page or --admin',
    ],
  ])('is refused with flags of something else: %s', async (args, error) => {
    const io = new FakeIo();
    expect(await io.run('watch', ...args.split(' '))).toBe(2);
    expect(io.errors).toEqual([`error: ${error}`]);
  });
});

describe('the sample of a report', () => {
  const report = (ended: number, failed: number, at: number, id = 7) =>
    JSON.stringify({
      schema: 1,
      pid: 1,
      time: new Date(at).toISOString(),
      targets: [
        {
          target,
          state: 'ready',
          channels: [{ id, calls: { succeeded: ended, failed } }],
        },
      ],
    });

  it('has the rates since the one before, also of a channel that is new', () => {
    const before = readSample(report(100, 10, 1000), undefined);
    const after = readSample(report(120, 15, 3000), undefined);
    const renewed = readSample(report(4, 2, 5000, 8), undefined);
    const [row] = after?.rows ?? [];
    if (row === undefined || after === undefined || renewed === undefined)
      throw new Error('no rows');
    expect(ratesOf(row, after, before)).toEqual({ callsPerSecond: 12.5, failedPerSecond: 2.5 });
    expect(ratesOf(row, after, undefined)).toBeUndefined();
    const [other] = renewed.rows;
    expect(other && ratesOf(other, renewed, after)).toEqual({
      callsPerSecond: 3,
      failedPerSecond: 1,
    });
  });

  it('has no rates since one of another process, which has started since', () => {
    const startedAt = (text: string, at: string) =>
      readSample(text.replace('{', `{"startedAt":"${at}",`), undefined);
    const before = startedAt(report(100, 10, 1000), '2026-01-01T00:00:00Z');
    const after = startedAt(report(120, 15, 3000), '2026-01-01T00:00:02Z');
    const [row] = after?.rows ?? [];
    if (row === undefined || after === undefined) throw new Error('no rows');
    expect(ratesOf(row, after, before)).toBeUndefined();
    expect(ratesOf(row, after, after && { ...after, atMs: 2000 })).toBeDefined();
  });

  it.each(['', '[]', '{"schema":2}', 'null'])('is none of %j', (text) => {
    expect(readSample(text, undefined)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['members of another kind', { target: 1, channels: {}, policies: [] }],
    ['calls that are no numbers', { target, channels: [{ id: 'x', calls: { succeeded: 'y' } }] }],
    ['endpoints without addresses', { target, policies: { children: [{ endpoints: [{}] }] } }],
  ])('is read of %s', (_title, json) => {
    const text = JSON.stringify({ schema: 1, targets: [json, null, 3] });
    expect(readSample(text, undefined)?.rows.length).toBeGreaterThan(0);
  });
});

describe('the screen', () => {
  it('is the alternate one, in raw mode, and leaves the terminal as it was', () => {
    const written: string[] = [];
    const raw: boolean[] = [];
    const input = Object.assign(new EventEmitter(), {
      isTTY: true,
      resume: () => input,
      pause: () => input,
      setRawMode: (mode: boolean) => raw.push(mode),
    }) as unknown as ScreenInput & EventEmitter;
    const output = Object.assign(new EventEmitter(), {
      write: (text: string) => written.push(text),
    }) as unknown as ScreenOutput & EventEmitter;
    const seen: string[] = [];
    const listener = {
      onKey: (key: string) => seen.push(key),
      onResize: () => seen.push('resize'),
    };
    const screen = openScreen(input, output, { ...listener });
    input.emit('data', Buffer.from('x'));
    // Ctrl-C is a byte in raw mode.
    input.emit('data', Buffer.from([3]));
    output.emit('resize');
    screen.release();
    input.emit('data', Buffer.from('late'));
    expect(seen).toEqual(['x', 'q', 'resize']);
    expect(raw).toEqual([true, false]);
    expect(written).toEqual(['\x1b[?1049h\x1b[?25l', '\x1b[?25h\x1b[?1049l']);
  });
});
