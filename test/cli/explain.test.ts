import { SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson, routeConfigJson } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';

const target = `xds:///${SERVICE}`;

const resources = {
  ...simpleResources([1]),
  routes: [
    routeConfigJson(`${SERVICE}-routes`, [
      {
        name: 'gold',
        match: { prefix: '/shop.', headers: [{ name: 'tier', string_match: { exact: 'gold' } }] },
        route: { cluster: 'echo', max_stream_duration: { max_stream_duration: '3s' } },
      },
    ]),
  ],
};

/** A cluster with mutual TLS. */
function securedCluster(name: string, instance_name = 'mesh'): object {
  const instance = { instance_name };
  const typed_config = {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
    },
  };
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config };
  return edsClusterJson(name, { transport_socket });
}

describe('grpc-xds explain', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  it('ends with 2 for what is not an xds: target', async () => {
    const file = world.write('mesh.json', resources);
    expect(await world.io.run('explain', SERVICE, 'shop.Cart/Get', '-f', file)).toBe(2);
    expect(world.io.errors).toEqual([`not an xds: target: ${SERVICE}; use xds:///<name>`]);
  });

  it('prints the route of a call by a resource file', async () => {
    const file = world.write('mesh.json', resources);
    const args = ['explain', target, 'shop.Cart/Get', '-f', file];
    expect(await world.io.run(...args, '-H', 'tier: gold', '-H', 'a=b')).toBe(0);
    expect(world.io.out).toEqual([
      'virtual host "all"',
      '  route 0 "gold": matches',
      '100 % by route 0 "gold":',
      '  100 % to cluster "echo"',
      '  timeout 3000 ms',
      '  no retries',
    ]);
  });

  it('does not mind which certificates a cluster refers to, which only the bootstrap knows', async () => {
    const file = world.write('mesh.json', { ...resources, clusters: [securedCluster('echo')] });
    const args = ['explain', target, 'shop.Cart/Get', '-f', file];
    expect(await world.io.run(...args, '-H', 'tier: gold')).toBe(0);
    expect(world.io.out.join('\n')).not.toContain('fail');
    expect(await world.io.run('check', file)).toBe(0);
    expect(world.io.errors).toEqual([]);
    const unnamed = { ...resources, clusters: [securedCluster('echo', '')] };
    expect(await world.io.run('check', world.write('unnamed.json', unnamed))).toBe(1);
  });

  it('ends with 1 and the reason if there is no route', async () => {
    const file = world.write('mesh.json', resources);
    expect(await world.io.run('explain', target, '/shop.Cart/Get', '-f', file)).toBe(1);
    expect(world.io.out).toContain(
      '  route 0 "gold": header tier is absent, which does not satisfy exact "gold"',
    );
    const json = world.write('none.json', { clusters: [] });
    expect(await world.io.run('explain', target, '/a/b', '-f', json)).toBe(1);
    expect(world.io.out.at(-1)).toMatch(/^not routed: .*Listener .*not among the resources/);
  });

  it('explains by what a control plane has', async () => {
    const address = await world.serve(resources);
    const args = ['--control-plane', address, '-H', 'tier:gold', '--json'];
    expect(await world.io.run('explain', target, '/shop.Cart/Get', ...args)).toBe(0);
    expect(JSON.parse(world.io.out.join('\n'))).toMatchObject({
      kind: 'routed',
      decisions: [{ name: 'gold', share: 1 }],
    });
  });

  it('ends with 2 for a header that cannot be sent', async () => {
    const file = world.write('mesh.json', resources);
    expect(await world.io.run('explain', target, '/a/b', '-f', file, '-H', 'a b:c')).toBe(2);
    expect(world.io.errors[0]).toMatch(/'a b:c' is invalid\. Expected NAME:VALUE or NAME=VALUE/);
  });
});
