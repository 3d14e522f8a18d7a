import { ControlPlane, Snapshot, type Servers } from '../../src/control-plane';
import { simpleResources } from '../support/mesh';
import { DoctorWorld } from './doctor-world';
import { anything, inNamespace, rbacJson } from '../support/rbac-json';

const address = '10.244.0.2:50051';
const name = `xds.istio.io/grpc/lds/inbound/${address}`;
const web = 'spiffe://cluster.local/ns/web/sa/a';
const job = 'spiffe://cluster.local/ns/job/sa/a';

const tiers = [{ exact: 'gold' }, { prefix: 'sil' }].map((string_match) => ({
  header: { name: 'x-tier', string_match },
}));

const servers: Servers = {
  [address]: {
    mtls: 'STRICT',
    httpFilters: [
      rbacJson({
        'default-web-0': {
          permissions: [anything],
          principals: [{ and_ids: { ids: [{ or_ids: { ids: tiers } }, inNamespace('web')] } }],
        },
      }),
    ],
  },
};
const snapshot = Snapshot.from(simpleResources([1])).merge(Snapshot.forServers(servers));

const gold = ['-H', 'x-tier: gold'];
const request = ['--path', 'a.B/C', '--from', web, ...gold];

describe('grpc-xds explain --path', () => {
  let world: DoctorWorld;
  const stops: (() => Promise<void>)[] = [];
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await world.close();
  });

  async function serve(served: Snapshot): Promise<string> {
    const controlPlane = new ControlPlane({ snapshot: served });
    const started = await controlPlane.start();
    stops.push(() => controlPlane.close());
    return started.address;
  }

  /** Writes the resources of a control plane to a file, as `dump` does. */
  async function dump(): Promise<string> {
    const uri = await serve(snapshot);
    expect(await world.io.run('dump', '--control-plane', uri, '--json')).toBe(0);
    return world.write('dump.json', world.io.out.splice(0).join('\n'));
  }

  it('says which chain, route and policy decide by a dump, and ends with 0 for what is allowed', async () => {
    const file = await dump();
    expect(await world.io.run('explain', ...request, file)).toBe(0);
    expect(world.io.errors).toEqual([]);
    expect(world.io.out).toEqual([
      `Listener "${name}"`,
      'filter chain "inbound-mtls": TLS, client certificate required',
      'virtual host ""',
      '  route 0: matches',
      'filter "envoy.filters.http.rbac", ALLOW: passes',
      '  policy "default-web-0": matches',
      'allowed: "envoy.filters.http.rbac" allows it: it matches the policy "default-web-0"',
    ]);
  });

  it('ends with 1 for what is denied, and says why', async () => {
    const file = await dump();
    const args = ['explain', file, '--path', '/a.B/C', ...gold, '--from', job, '--json'];
    expect(await world.io.run(...args)).toBe(1);
    expect(JSON.parse(world.io.out.join('\n'))).toMatchObject({
      outcome: 'denied',
      status: { code: 'PERMISSION_DENIED' },
      policy: 'envoy.filters.http.rbac',
      filters: [{ rules: [{ mismatch: `principal "${job}" is not regex .*/ns/web/.*` }] }],
    });
  });

  it('joins repeated headers as a server receives them', async () => {
    const file = await dump();
    const twice = ['--path', '/a.B/C', '--from', web, '-H', 'x-tier:sil', '-H', 'x-tier=ver'];
    expect(await world.io.run('explain', '-f', file, ...twice)).toBe(0);
  });

  it('says that a client without a certificate is not served', async () => {
    const file = await dump();
    expect(await world.io.run('explain', file, '--path', '/a.B/C')).toBe(1);
    expect(world.io.out.at(-1)).toBe(
      'closed: filter chain "inbound-mtls" requires a client certificate, and the client presents none',
    );
  });

  it('requests the Listener of an address from a control plane by its name', async () => {
    const uri = await serve(snapshot);
    const args = ['explain', ...request, '--address', address, '--control-plane', uri];
    expect(await world.io.run(...args)).toBe(0);
    expect(world.io.out[0]).toBe(`Listener "${name}"`);
  });

  it('says that there is no Listener for an address', async () => {
    const file = await dump();
    const other = ['--address', '10.244.0.2:1'];
    expect(await world.io.run('explain', ...request, ...other, file)).toBe(1);
    expect(world.io.out).toEqual([
      `closed: there is no Listener for 10.244.0.2:1 over TCP; there are those of ${address}`,
    ]);
    world.io.out.length = 0;
    const clients = world.write('clients.json', simpleResources([1]));
    expect(await world.io.run('explain', ...request, clients)).toBe(1);
    expect(world.io.out).toEqual(['closed: there is no Listener for a server over TCP']);
  });

  it('needs a template in the bootstrap for the name of the Listener', async () => {
    const uri = await serve(snapshot);
    const bootstrap = world.bootstrap(uri);
    const args = ['explain', ...request, '--address', address, '--bootstrap', bootstrap];
    expect(await world.io.run(...args)).toBe(2);
    expect(world.io.errors.join()).toContain('no server_listener_resource_name_template');
  });

  it.each<[readonly string[], string]>([
    [['xds:///shop', 'a.B/C', '--path', 'a.B/C'], 'a request to a server has its method in --path'],
    [['a.json', '-f', 'b.json', '--path', 'a.B/C'], 'give one resource file'],
    [['xds:///shop', 'a.B/C', '--from', web], 'give --path as well'],
    [['--path', 'a.B/C'], 'give one source'],
    [[], "missing required argument 'target'"],
    [['xds:///shop'], "missing required argument 'method'"],
    [['--path', 'a.B/C', '--address', 'web:1', 'a.json'], 'Expected IP:PORT'],
    [['--path', 'a.B/C', '--remote', '1.2.3.4', 'a.json'], 'Expected IP:PORT'],
    [['--path', 'a.B/C', '--from', 'web', 'a.json'], 'Expected a URI, such as spiffe://'],
    [['--path', 'C', 'a.json'], 'Expected /package.Service/Method'],
  ])('ends with 2 for arguments that do not belong together: %j', async (args, problem) => {
    expect(await world.io.run('explain', ...args)).toBe(2);
    expect(world.io.errors.join('\n')).toContain(problem);
  });
});
