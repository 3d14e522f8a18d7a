import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIN_NODE } from '../../packages/cli/src/client/doctor/host-checks';
import { addressOf } from '../../packages/cli/src/client/doctor/server-checks';
import { SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';
import { FakeIo } from './fake-io';

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
      'note grpc-js grpc-js',
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
    expect(out).toContain('note  endpoints  not connected, because of --no-connect');
    expect(out.at(-1)).toBe('8 ok, 3 note, 1 warn, 0 fail, 0 skip');
  });

  it('checks only the servers without a target', async () => {
    const { code, findings } = await world.run(world.bootstrap(await world.serveAll()));
    expect(code).toBe(0);
    expect(findings.at(-1)).toMatchObject({ check: 'target', level: 'note' });
  });

  it('skips what depends on a bootstrap or server that cannot be used, and does not end with 0', async () => {
    const target = `xds:///${SERVICE}`;
    const missing = await world.run(`${world.folder}/none.json`, '-t', target);
    expect(missing.code).toBe(1);
    const skipped = missing.findings.filter(({ level }) => level === 'skip');
    expect(skipped.map(({ check }) => check)).toEqual(['server', 'target']);
    for (const { text } of skipped) expect(text).toMatch(/no usable bootstrap/);
  });

  it('reads the certificate files of a server that cannot be reached', async () => {
    const config = { ca_certificate_file: `${world.folder}/none.pem` };
    const tls = { channel_creds: [{ type: 'tls', config }] };
    const path = world.bootstrap(await world.freeAddress(), (bootstrap) => {
      const [server] = bootstrap['xds_servers'] as object[];
      return { ...bootstrap, xds_servers: [{ ...server, ...tls }] };
    });
    const { findings } = await world.run(path);
    const checks = findings.filter(({ level }) => level === 'fail').map(({ check }) => check);
    expect(checks).toEqual(['certificate-file', 'tcp']);
  });

  it('reports one cause once, with the remedy of it', async () => {
    const port = Number((await world.freeAddress()).split(':')[1]);
    const address = await world.serve(simpleResources([port]));
    const { code, findings } = await world.check(world.bootstrap(address), '--timeout', '2');
    expect(code).toBe(1);
    const failed = findings.filter(({ level }) => level === 'fail');
    expect(failed).toEqual([
      expect.objectContaining({ check: 'connect', remedy: expect.stringMatching(/listen there/) }),
    ]);
    expect(findings).toContainEqual(expect.objectContaining({ check: 'channel', level: 'skip' }));
  });

  it('finds the locality without weight that check finds', async () => {
    const resources = simpleResources([1]);
    const locality = { region: 'r', zone: 'z' };
    const lb_endpoints = [
      { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: 1 } } } },
    ];
    const endpoints = [{ cluster_name: 'echo', endpoints: [{ locality, lb_endpoints }] }];
    const all = { ...resources, endpoints };
    const { findings } = await world.check(world.bootstrap(await world.serve(all)));
    const reason = /no usable endpoint: 1 locality has no load_balancing_weight/;
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'endpoints',
        level: 'fail',
        text: expect.stringMatching(reason),
      }),
    );
    const io = new FakeIo();
    expect(await io.run('check', world.write('mesh.json', all))).toBe(0);
    expect(io.errors.join()).toMatch(reason);
    expect(io.out.at(-1)).toMatch(
      /^not seen in a file: whether hosts and endpoints can be reached/,
    );
    const target = `xds:///${SERVICE}`;
    const call = ['explain', target, '/a/b', '-f', world.write('mesh.json', all)];
    expect(await io.run(...call)).toBe(1);
    expect(io.out.join()).toMatch(/these calls fail: cluster "echo": no usable endpoint/);
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
