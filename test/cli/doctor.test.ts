import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIN_NODE } from '../../src/cli/client/doctor/host-checks';
import { addressOf } from '../../src/cli/client/doctor/server-checks';
import { SERVICE } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';

describe('grpc-xds doctor', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  it('finds nothing on a machine where calls work', async () => {
    const address = await world.serveAll((all) => ({
      ...all,
      clusters: [edsClusterJson('echo', { lrs_server: { self: {} } })],
    }));
    const { code, findings } = await world.check(world.bootstrap(address));
    expect(findings.filter(({ level }) => level === 'warn' || level === 'fail')).toEqual([]);
    expect(code).toBe(0);
    expect(findings.map(({ check, level, subject }) => `${level} ${check} ${subject}`)).toEqual([
      'ok node node',
      'skip grpc-js grpc-js',
      'ok flags flags',
      'ok proxy proxy',
      'ok bootstrap bootstrap',
      `ok server ${address}`,
      `ok resource Listener "${SERVICE}"`,
      `ok resource RouteConfiguration "${SERVICE}-routes"`,
      'ok resource Cluster "echo"',
      'ok resource ClusterLoadAssignment "echo"',
      'ok connect Cluster "echo" p0 test/a',
      'ok channel Cluster "echo"',
      `ok lrs load reports to ${address}`,
    ]);
  });

  it('prints a line for each check and the remedy of what it finds', async () => {
    const address = await world.serveAll();
    world.io.env = { https_proxy: 'http://127.0.0.1:3128' };
    const path = world.bootstrap(address);
    const code = await world.io.run('doctor', path, '-t', `xds:///${SERVICE}`, '--no-connect');
    expect(code).toBe(0);
    const { out } = world.io;
    expect(out).toContain('ok    node  20.19.0');
    const warning = out.findIndex((line) => line.startsWith('warn  proxy  https_proxy is set'));
    expect(out[warning + 1]).toMatch(/^ {6}fix: add the hosts to no_proxy/);
    expect(out).toContain('skip  endpoints  not connected to, because of --no-connect');
    expect(out.at(-1)).toBe('8 ok, 1 warn, 0 fail, 3 skip');
  });

  it('checks only the servers without a target', async () => {
    const { code, findings } = await world.run(world.bootstrap(await world.serveAll()));
    expect(code).toBe(0);
    expect(findings.at(-1)).toMatchObject({ check: 'target', level: 'skip' });
  });

  it('reads the bootstrap of the environment', async () => {
    world.io.env = { GRPC_XDS_BOOTSTRAP: world.bootstrap(await world.serveAll()) };
    expect((await world.run()).code).toBe(0);
  });

  it('requires the version of Node.js that the package requires', () => {
    const text = readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ engines: { node: `>=${MIN_NODE}` } });
  });

  it.each([
    ['istiod.mesh:15010', { kind: 'tcp', host: 'istiod.mesh', port: 15010 }],
    ['dns:///istiod.mesh:15010', { kind: 'tcp', host: 'istiod.mesh', port: 15010 }],
    ['dns:istiod.mesh', { kind: 'tcp', host: 'istiod.mesh', port: 443 }],
    ['ipv4:127.0.0.1:1', { kind: 'tcp', host: '127.0.0.1', port: 1 }],
    ['ipv6:[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['passthrough:///127.0.0.1:1', { kind: 'tcp', host: '127.0.0.1', port: 1 }],
    ['unix:///run/xds.sock', { kind: 'unix', path: '/run/xds.sock' }],
    ['unix:run/xds.sock', { kind: 'unix', path: 'run/xds.sock' }],
    ['http://mesh', { kind: 'tcp', host: 'mesh', port: 80 }],
    ['https://[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['file:///etc/xds.yaml', { kind: 'file', path: '/etc/xds.yaml' }],
    ['acme:///mesh', { kind: 'other' }],
  ])('finds the address in the server URI %s', (uri, address) => {
    expect(addressOf(uri)).toEqual(address);
  });
});
