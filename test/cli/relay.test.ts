import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, echo } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { FakeIo } from './fake-io';

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
    controlPlane.kill();
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

  it('is shown by --admin, and by top, with its servers, clients and loads', async () => {
    const running = io.run('relay', '--listen', `unix:${path}`);
    await io.until(/^Relaying on /);
    const client = new AdsClient(`unix:${path}`);
    const [good, bad] = [client.open(), client.open()];
    good.subscribe(CDS, ['echo', 'none'], { node: { id: 'good' } });
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
    expect(shown.out.map((line) => line.replaceAll(/ +/g, ' ').trim())).toEqual([
      `relay (pid ${process.pid}) on unix:${path}, node "my-client"`,
      ...['', 'server state last error', `${server} open`],
      ...['', 'type names resources errors absent', 'Cluster 2 1 0 0'],
      ...['', 'stream client type names state', '1 good Cluster 2 acknowledged'],
      '2 bad Cluster 1 rejected: no good',
    ]);
    const json = new FakeIo();
    expect(await json.run('relay', '--admin', `unix:${path}`, '--json')).toBe(0);
    expect(JSON.parse(json.out.join('\n'))).toMatchObject({ clientCount: 2, loadClients: [] });
    const watched = new FakeIo();
    const admin = ['top', '--admin', `unix:${path}`, '--once', '--interval', '0.1'];
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

  it('is found not to serve anything while no control plane can be reached', async () => {
    controlPlane.kill();
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

  it('is not found where there is none', async () => {
    expect(await io.run('relay', '--admin', `unix:${join(folder, 'none')}`)).toBe(3);
    expect(await io.run('relay', '--admin', server)).toBe(3);
    expect(io.errors).toEqual([
      expect.stringMatching(/^--admin unix:.*none: cannot be reached: /),
      `--admin ${server}: is no relay`,
    ]);
    expect(await io.run('relay')).toBe(2);
    expect(io.errors.at(-1)).toBe(
      'error: give --listen to run a relay, or --admin to show one that runs',
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
      `error: ${file}: there is something else than a socket`,
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
