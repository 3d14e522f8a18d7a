import { readFileSync } from 'node:fs';
import { DoctorWorld } from './doctor-world';

/**
 * The template of Google's own generator:
 * https://github.com/GoogleCloudPlatform/traffic-director-grpc-bootstrap/blob/main/main.go
 */
const templateOf = (network: string) =>
  `xdstp://traffic-director-global.xds.googleapis.com/envoy.config.listener.v3.Listener/12/${network}/%s`;

describe('grpc-xds bootstrap', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  const run = (...args: readonly string[]) => world.io.run('bootstrap', ...args);
  const printed = (): unknown => JSON.parse(world.io.out.join('\n'));

  it('writes a plain one', async () => {
    const files = ['--ca', '/ca.pem', '--cert', '/c.pem', '--key', '/k.pem', '--token', '/t'];
    const place = ['--region', 'eu', '--zone', 'a', '--server-template', 'in/%s'];
    expect(await run('plain', '-s', 'cp:1', 'cp:2', '--node-id', 'n', ...files, ...place)).toBe(0);
    const server = {
      channel_creds: [
        {
          type: 'tls',
          config: {
            ca_certificate_file: '/ca.pem',
            certificate_file: '/c.pem',
            private_key_file: '/k.pem',
          },
        },
      ],
      call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file: '/t' } }],
    };
    expect(printed()).toEqual({
      xds_servers: [
        { server_uri: 'cp:1', ...server },
        { server_uri: 'cp:2', ...server },
      ],
      node: { id: 'n', locality: { region: 'eu', zone: 'a', sub_zone: '' } },
      server_listener_resource_name_template: 'in/%s',
    });
  });

  it.each([
    ['a b', 'must not have spaces'],
    ['cp:99999', 'must have a port from 1 to 65535, not "99999"'],
    ['dns:///cp:0', 'must have a port from 1 to 65535, not "0"'],
    ['a\nb', 'must not have control characters'],
  ])('writes none for the server %j', async (uri, problem) => {
    expect(await run('plain', '-s', uri, '--node-id', 'n')).toBe(2);
    expect(world.io.errors.join()).toContain(`xds_servers[0].server_uri: ${problem}`);
    expect(world.io.out).toEqual([]);
  });

  it('writes one for Istio, with the pod of the environment', async () => {
    world.io.env = { POD_NAME: 'cart-1', POD_NAMESPACE: 'shop', INSTANCE_IP: '127.0.0.9' };
    expect(await run('istio')).toBe(0);
    expect(printed()).toMatchObject({
      xds_servers: [{ server_uri: 'unix:///etc/istio/proxy/XDS' }],
      node: {
        id: 'sidecar~127.0.0.9~cart-1.shop~shop.svc.cluster.local',
        metadata: { GENERATOR: 'grpc' },
      },
      certificate_providers: { default: { plugin_name: 'file_watcher' } },
      server_listener_resource_name_template: 'xds.istio.io/grpc/lds/inbound/%s',
    });
  });

  it('writes one for Google Cloud', async () => {
    expect(await run('gcp', '--project-number', '12', '--mesh', 'm', '--zone', 'z')).toBe(0);
    expect(printed()).toMatchObject({
      xds_servers: [{ channel_creds: [{ type: 'google_default' }] }],
      node: {
        id: expect.stringMatching(/^projects\/12\/networks\/mesh:m\/nodes\/[\da-f-]{36}$/),
        locality: { zone: 'z' },
      },
      client_default_listener_resource_name_template: templateOf('mesh:m'),
      server_listener_resource_name_template: 'grpc/server?xds.resource.listening_address=%s',
      authorities: {
        'traffic-director-global.xds.googleapis.com': {
          client_listener_resource_name_template: templateOf('mesh:m'),
        },
      },
      certificate_providers: {
        google_cloud_private_spiffe: {
          plugin_name: 'file_watcher',
          config: {
            certificate_file: '/var/run/secrets/workload-spiffe-credentials/certificates.pem',
            private_key_file: '/var/run/secrets/workload-spiffe-credentials/private_key.pem',
            ca_certificate_file: '/var/run/secrets/workload-spiffe-credentials/ca_certificates.pem',
            refresh_interval: '600s',
          },
        },
      },
    });
  });

  it('names the listeners of Google Cloud after the network, where there is no mesh', async () => {
    expect(await run('gcp', '--project-number', '12', '--network', 'net')).toBe(0);
    expect(printed()).toMatchObject({
      node: { id: expect.stringMatching(/^projects\/12\/networks\/net\/nodes\//) },
      client_default_listener_resource_name_template: templateOf('net'),
    });
  });

  it('writes a file that doctor can use', async () => {
    const address = await world.serveAll();
    const path = `${world.folder}/b.json`;
    expect(await run('plain', '-s', address, '--node-id', 'n', '-f', path)).toBe(0);
    expect(world.io.out).toEqual([`export GRPC_XDS_BOOTSTRAP=${path}`]);
    world.io.out.length = 0;
    const { code, findings } = await world.check(path);
    expect(findings.filter(({ level }) => level === 'warn' || level === 'fail')).toEqual([]);
    expect(code).toBe(0);
  });

  it('does not replace a file without --force', async () => {
    const path = world.write('b.json', 'old');
    const args = ['plain', '-s', 'cp:1', '--node-id', 'n', '-f', path];
    expect(await run(...args)).toBe(2);
    expect(world.io.errors[0]).toMatch(
      /--file .*b\.json: cannot be written: it exists; --force replaces it/,
    );
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(await run(...args, '--force')).toBe(0);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ node: { id: 'n' } });
  });

  it('refuses what the client cannot read', async () => {
    expect(await run('plain', '-s', 'xds:///a', '--node-id', 'n')).toBe(2);
    expect(world.io.errors).toEqual(['xds_servers[0].server_uri: must not be an xds: target']);
    expect(world.io.out).toEqual([]);
  });

  it('needs the pod of a workload of Istio', async () => {
    expect(await run('istio')).toBe(2);
    expect(world.io.errors[0]).toMatch(/required option '--pod <name>' not specified/);
  });
});
