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
  let io: FakeIo;

  beforeEach(async () => {
    controlPlane = new ControlPlane({ snapshot: Snapshot.from(echo) });
    const { bootstrap } = await controlPlane.start();
    io = new FakeIo();
    io.env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) };
  });
  afterEach(() => controlPlane.kill());
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
