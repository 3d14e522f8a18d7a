import { createServer } from 'node:net';
import { Snapshot, type Servers } from '../../src/control-plane';
import { TestCertificates } from '../support/test-certificates';
import { DoctorWorld } from './doctor-world';
import { anyone, anything, rbacJson } from '../support/rbac-json';

const TEMPLATE = 'server/%s';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

describe('grpc-xds doctor --server', () => {
  const certificates = new TestCertificates();
  let world: DoctorWorld;
  let server: string;
  beforeEach(async () => {
    world = new DoctorWorld();
    server = await world.freeAddress();
  });
  afterEach(() => world.close());
  afterAll(() => certificates.close());

  /** Writes the files of a provider `default`, and a bootstrap. */
  function bootstrap(address: string, { template = TEMPLATE, files = true } = {}) {
    const authority = certificates.authority('ca');
    const own = authority.sign('server');
    const path = (name: string, content: string) =>
      files ? world.write(name, content) : `${world.folder}/none-${name}`;
    const config = {
      certificate_file: path('cert.pem', own.certificate),
      private_key_file: path('key.pem', own.privateKey),
      ca_certificate_file: path('ca.pem', authority.certificate),
    };
    return world.bootstrap(address, (json) => ({
      ...json,
      ...(template !== '' && { server_listener_resource_name_template: template }),
      certificate_providers: { default: { plugin_name: 'file_watcher', config } },
    }));
  }

  const serveServers = (servers: Servers) =>
    world.serveSnapshot(Snapshot.forServers(servers, { nameTemplate: TEMPLATE }));

  /** @returns the exit code, and the findings about the server. */
  async function run(path: string, ...args: readonly string[]) {
    const { code, findings } = await world.run(path, '--server', server, ...args);
    const others = ['node', 'grpc-js', 'flags', 'proxy', 'bootstrap', 'server'];
    return { code, findings: findings.filter(({ check }) => !others.includes(check)) };
  }

  const short = ({ findings }: Awaited<ReturnType<typeof run>>) =>
    findings.map(({ level, check, subject, text }) => `${level} ${check} ${subject}: ${text}`);

  const hcm = (routes: object) => ({
    name: 'hcm',
    typed_config: {
      '@type': MANAGER,
      ...routes,
      http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
    },
  });

  const listener = (address: string, routes: object, chain: object = {}) => ({
    name: `server/${server}`,
    address: {
      socket_address: {
        address: address.split(':')[0] ?? '',
        port_value: Number(address.split(':')[1]),
      },
    },
    filter_chains: [{ name: 'c', filters: [hcm(routes)], ...chain }],
  });

  const serveListener = (json: object, ...routes: readonly object[]) =>
    world.serveSnapshot(Snapshot.from({ listeners: [json], routes }));
  const rds = { rds: { config_source: { ads: {} }, route_config_name: 'inbound' } };
  const inline = { route_config: { name: 'inbound', virtual_hosts: [] } };

  it('reports each step of a server that can serve', async () => {
    const address = await serveServers({
      [server]: {
        mtls: 'STRICT',
        httpFilters: [rbacJson({ p: { permissions: [anything], principals: [anyone] } })],
      },
    });
    const result = await run(bootstrap(address));
    expect(result.code).toBe(0);
    expect(short(result)).toEqual([
      'ok provider provider default: files can be used',
      expect.stringMatching(/^ok resource Listener "server\/127\.0\.0\.1:\d+": version /),
      expect.stringMatching(/^note unused-field Listener .*: without effect on gRPC servers: /),
      `ok serving server ${server}: it would serve by Listener "server/${server}": 1 filter chain`,
      expect.stringMatching(
        /^ok filter-chain filter chain ".*": TLS, certificate of provider "default", certificates of clients required and checked by the roots of provider "default"; RBAC ".*": ALLOW by 1 policy$/,
      ),
      expect.stringMatching(/^warn useless-on-server .*it allows every request, by the policy/),
      `ok port server ${server}: the port is free`,
    ]);
  });

  it('says that the bootstrap lacks the template', async () => {
    const address = await serveServers({ [server]: { mtls: 'STRICT' } });
    const { code, findings } = await run(bootstrap(address, { template: '' }));
    expect(code).toBe(1);
    expect(findings.slice(1).map(({ level, check }) => `${level} ${check}`)).toEqual([
      'fail listener-name',
      'skip serving',
      'ok port',
    ]);
  });

  it.each<[string, () => Promise<string>, readonly RegExp[]]>([
    [
      'a Listener that does not exist',
      () => serveServers({ '10.0.0.1:1': { mtls: 'STRICT' } }),
      [
        /^fail resource-missing Listener /,
        /^skip serving .*would not serve, because of the failure/,
      ],
    ],
    [
      'a Listener for another address',
      () => serveListener(listener('10.0.0.1:1', inline)),
      [
        /^fail serving .*it would not serve: .*wrong address.*one for 10\.0\.0\.1:1, but the server/,
      ],
    ],
    [
      'a Listener for clients',
      () =>
        serveListener({
          name: `server/${server}`,
          api_listener: { api_listener: hcm(inline).typed_config },
        }),
      [/^fail serving .*it would not serve: .*not for a server/],
    ],
    [
      'a Listener that is rejected',
      () => serveListener(listener(server, inline, { filters: [] })),
      [/^fail resource-nacked Listener .*filter_chains\[0\]\.filters/, /^skip serving/],
    ],
    [
      'routes that do not exist',
      () => serveListener(listener(server, rds)),
      [
        /^fail resource-missing RouteConfiguration "inbound": not received within 1 s/,
        /^skip serving/,
      ],
    ],
    [
      'routes that are rejected',
      () => serveListener(listener(server, rds), { name: 'inbound', virtual_hosts: [{}] }),
      [
        /^fail resource-nacked RouteConfiguration "inbound"/,
        /^skip filter-chain .*because of the failure of RouteConfiguration "inbound" above/,
      ],
    ],
  ])('reports %s', async (_text, serve, expected) => {
    const result = await run(bootstrap(await serve()), '--timeout', '1');
    expect(result.code).toBe(1);
    const found = short(result).filter((line) => /^(fail|skip)/.test(line));
    expect(found).toEqual(expected.map((each) => expect.stringMatching(each)));
    expect(short(result).at(-1)).toMatch(/^ok port/);
  });

  it('fails once for files that cannot be read, and skips the chains that need them', async () => {
    const address = await serveServers({ [server]: { mtls: 'STRICT' } });
    const result = await run(bootstrap(address, { files: false }));
    expect(result.code).toBe(1);
    const found = short(result).filter((line) => /^(fail|skip)/.test(line));
    expect(found.slice(0, 3).every((line) => line.startsWith('fail certificate-file'))).toBe(true);
    expect(found.slice(3)).toEqual([
      expect.stringMatching(
        /^skip filter-chain .*because of the failure of provider default above/,
      ),
    ]);
  });

  it('names the bootstrap as the place to add a provider that it lacks', async () => {
    const address = await serveServers({ [server]: { mtls: 'STRICT' } });
    const { findings } = await run(
      world.bootstrap(address, (json) => ({
        ...json,
        server_listener_resource_name_template: TEMPLATE,
      })),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'resource-nacked',
        text: expect.stringMatching(/"default" is not in certificate_providers of the bootstrap/),
        remedy: expect.stringMatching(
          /^add the provider to certificate_providers of the bootstrap/,
        ),
      }),
    );
  });

  it('warns of a port in use, and fails for an address of another machine', async () => {
    const used = createServer();
    await new Promise<void>((resolve) => used.listen(0, '127.0.0.1', resolve));
    const address = used.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    server = `127.0.0.1:${port}`;
    try {
      const result = await run(bootstrap(await serveServers({ [server]: { mtls: 'STRICT' } })));
      expect(result.code).toBe(0);
      expect(short(result).at(-1)).toMatch(/^warn port .*the port is in use: .*EADDRINUSE/);
    } finally {
      used.close();
    }
    server = '192.0.2.1:50051';
    const other = await run(bootstrap(await serveServers({ [server]: { mtls: 'STRICT' } })));
    expect(other.code).toBe(1);
    expect(short(other).at(-1)).toMatch(/^fail port .*it cannot listen there: .*EADDRNOTAVAIL/);
  });

  it('checks the port without a bootstrap or a control plane', async () => {
    for (const path of [`${world.folder}/none.json`, bootstrap(await world.freeAddress())]) {
      const { code, findings } = await run(path);
      expect(code).toBe(1);
      expect(findings.slice(-2).map(({ level, check }) => `${level} ${check}`)).toEqual([
        'skip serving',
        'ok port',
      ]);
    }
  });

  it.each(['shop', '127.0.0.1', 'localhost:1', '127.0.0.1:0'])('refuses %s', async (address) => {
    expect(await world.io.run('doctor', '--server', address)).toBe(2);
    expect(world.io.errors.join()).toMatch(/Expected IP:PORT/);
  });
});
