import { addAdminServicesToServer, Metadata, Server } from '@grpc/grpc-js';
import { serveAdminPage } from '../../packages/page/src';
import type { AdminPage } from '../../packages/page/src/live-page/page-server';
import { systemClock } from '../../src/util/clock';
import { eventually } from '../support/eventually';
import { dnsClusterJson } from '../support/failover';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { FakeIo } from './fake-io';
import { bind } from '../support/listen';

const target = `xds:///${SERVICE}`;

/** A row as the command prints it. */
interface PrintedRow {
  readonly target: string;
  readonly cluster: string;
  readonly locality: string;
  readonly [member: string]: unknown;
}

/** A terminal whose clock goes on. */
class LiveIo extends FakeIo {
  override readonly clock = systemClock;
}

describe('grpc-xds watch --admin', () => {
  let mesh: Mesh;
  let page: AdminPage;
  let admin: Server;
  let address: string;
  let io: FakeIo;
  beforeEach(async () => {
    io = new FakeIo();
    mesh = await Mesh.start();
    page = await serveAdminPage({ port: 0 });
    admin = new Server();
    addAdminServicesToServer(admin);
    address = await listen(admin);
  });
  afterEach(async () => {
    admin.forceShutdown();
    await page.close();
    mesh.stop();
  });

  const listen = async (server: Server) => `127.0.0.1:${await bind(server)}`;

  /** @returns the rows, while calls are made. */
  async function rowsOf(
    client: ReturnType<Mesh['client']>,
    ...source: readonly string[]
  ): Promise<readonly PrintedRow[]> {
    const own = new LiveIo();
    const calls = setInterval(() => void client.say().catch(() => undefined), 10);
    const code = await own.run('watch', ...source, '--interval', '0.3', '--json');
    clearInterval(calls);
    expect([code, own.errors]).toEqual([0, []]);
    const result: { readonly rows: readonly PrintedRow[] } = JSON.parse(own.out.join('\n'));
    return result.rows;
  }

  const measured = ({ target, cluster, locality, ready, endpoints }: PrintedRow) => ({
    target,
    cluster,
    locality,
    ready,
    endpoints,
  });

  it('has the rows of the page', async () => {
    const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
    mesh.serve({
      ...simpleResources([]),
      endpoints: [
        endpointsJson('echo', [
          { zone: 'a', ports: [a.port] },
          { zone: 'b', ports: [b.port] },
        ]),
      ],
    });
    const client = mesh.client();
    const seen = new Set<string>();
    await eventually(
      async () => seen.add(await client.say()).size,
      (size) => size === 2,
    );
    const ofAdmin = await rowsOf(client, '--admin', address);
    const ofPage = await rowsOf(client, '--page', page.url);
    expect(ofAdmin.map(measured)).toEqual(ofPage.map(measured));
    expect(ofAdmin.map(({ locality }) => locality)).toEqual(['', '', 'test/a', 'test/b']);
    for (const row of ofAdmin) {
      expect(row['callsPerSecond']).toBeGreaterThan(0);
      expect(row['failedPerSecond']).toBe(0);
      expect(row['latencyMs']).toBeUndefined();
    }
  });

  it('names the cluster of DNS whose endpoints no resource has, and shows one target alone', async () => {
    const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
    mesh.serve({
      ...simpleResources([a.port]),
      routes: [
        routeConfigJson(`${SERVICE}-routes`, [
          {
            ...routeToCluster('db'),
            match: { headers: [{ name: 'db', present_match: true }], prefix: '' },
          },
          routeToCluster('echo'),
        ]),
      ],
      clusters: [edsClusterJson('echo'), dnsClusterJson('db', b.port, '127.0.0.1')],
    });
    const client = mesh.client();
    await client.say();
    const db = new Metadata();
    db.set('db', '1');
    await client.say({ metadata: db });
    const rows = await rowsOf(client, '--admin', address, '-t', target);
    expect(rows.map(measured)).toMatchObject([
      { target, cluster: '', locality: '', ready: 2, endpoints: 2 },
      { cluster: 'echo', locality: '' },
      { cluster: 'echo', locality: 'test/a' },
      { cluster: 'db', locality: '' },
      { cluster: 'db', locality: '-' },
    ]);
    expect(await io.run('watch', '--admin', address, '-t', 'xds:///other')).toBe(1);
    expect(io.errors.at(-1)).toMatch(/^xds:\/\/\/other: not a target of 127/);
  });

  it('is a screen with the address', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    io.isTerminal = true;
    const running = io.run('watch', '--admin', address, '--interval', '0.1', '--no-color');
    await io.until(/^ {2}echo .*/);
    expect(io.screen[0]).toMatch(new RegExp(`^process ${address}  .*Z  q: quit$`));
    io.user?.onKey('q');
    expect(await running).toBe(0);
  });

  it('ends with 3 without such a process, and with 2 for two sources', async () => {
    const plain = new Server();
    const other = await listen(plain);
    expect(await io.run('watch', '--admin', other, '--once')).toBe(3);
    expect(io.errors.at(-1)).toMatch(/without admin services; add them with addAdminServicesTo/);
    plain.forceShutdown();
    expect(await io.run('watch', '--admin', other, '--once', '--timeout', '1')).toBe(3);
    expect(io.errors.at(-1)).toMatch(new RegExp(`^--admin ${other}: `));
  });
});
