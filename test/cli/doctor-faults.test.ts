import { ServerCredentials } from '@grpc/grpc-js';
import { SERVICE, simpleResources } from '../support/mesh';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { dnsClusterJson } from '../support/failover';
import { SLOW_HOST, SlowLookups } from '../support/slow-lookups';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { EchoBackend } from '../support/echo-backend';
import { mutualTlsSocket, startMutualTlsBackend } from '../support/mutual-tls';
import { DoctorWorld, type Diagnosis } from './doctor-world';

const files: { authority?: TestCertificate; certificates?: TestCertificates } = {};

/** A fault, how it is planted, and what is found. */
interface Fault {
  readonly title: string;
  readonly level: 'warn' | 'fail';
  readonly check: string;
  readonly text: RegExp;
  readonly remedy: RegExp;
  plant(world: DoctorWorld): Promise<Diagnosis>;
}

const grpcJs = (version: string) => ({ name: '@grpc/grpc-js', version });

/** Changes the only server of a bootstrap. */
const withServer =
  (change: Json) =>
  (bootstrap: Json): Json => ({
    ...bootstrap,
    xds_servers: [{ ...(bootstrap['xds_servers'] as Json[])[0], ...change }],
  });

const withTls = (caFile: string) =>
  withServer({ channel_creds: [{ type: 'tls', config: { ca_certificate_file: caFile } }] });

const token = (claims: object) =>
  ['{}', JSON.stringify(claims), 'x']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const withToken = (path: string) =>
  withServer({ call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file: path } }] });

/** Runs against a TLS server whose certificate is for these names. */
async function checkTls(
  world: DoctorWorld,
  options: { names?: string[]; validity?: [string, string]; isTrusted?: boolean; h2?: boolean },
): Promise<Diagnosis> {
  const { names = ['IP:127.0.0.1'], validity, isTrusted = true, h2 = true } = options;
  const { authority, certificates } = files;
  const server = authority?.sign('server', { names, ...(validity && { validity }) });
  const address = await world.tlsServer({
    cert: server?.certificate,
    key: server?.privateKey,
    ...(h2 && { ALPNProtocols: ['h2'] }),
  });
  const trusted = isTrusted ? authority : certificates?.authority('another');
  const ca = world.write('ca.pem', trusted?.certificate ?? '');
  return world.run(world.bootstrap(address, withTls(ca)), '--timeout', '1');
}

const noEndpoint = endpointsJson('echo', []);

const faults: readonly Fault[] = [
  {
    title: 'a version of Node.js that is too old',
    level: 'fail',
    check: 'node',
    text: /18\.12\.1 is older than/,
    remedy: /install Node\.js/,
    plant: (world) => {
      world.io.nodeVersion = '18.12.1';
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a version of grpc-js out of range',
    level: 'fail',
    check: 'grpc-js',
    text: /1\.13\.4 is not ~1\.14\.0/,
    remedy: /install @grpc/,
    plant: (world) => {
      world.write('node_modules/@grpc/grpc-js/package.json', grpcJs('1.13.4'));
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a second copy of grpc-js',
    level: 'fail',
    check: 'grpc-js-copies',
    text: /2 copies: .*legacy/,
    remedy: /npm dedupe/,
    plant: (world) => {
      world.write('node_modules/@grpc/grpc-js/package.json', grpcJs('1.14.1'));
      const nested = 'node_modules/@acme/legacy/node_modules/@grpc/grpc-js/package.json';
      world.write(nested, grpcJs('1.14.0'));
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a second copy of this package',
    level: 'fail',
    check: 'grpc-xds-copies',
    text: /2 copies: .*legacy/,
    remedy: /npm dedupe/,
    plant: (world) => {
      world.write('node_modules/grpc-xds/package.json', grpcJs('0.2.0'));
      const nested = 'node_modules/@acme/legacy/node_modules/grpc-xds/package.json';
      world.write(nested, grpcJs('0.1.0'));
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: '@grpc/grpc-js-xds beside this package',
    level: 'warn',
    check: 'grpc-js-xds',
    text: /is installed/,
    remedy: /uninstall/,
    plant: (world) => {
      world.write('node_modules/@grpc/grpc-js/package.json', grpcJs('1.14.1'));
      world.write('node_modules/@grpc/grpc-js-xds/package.json', { version: '1.14.1' });
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a feature flag that is neither true nor false',
    level: 'warn',
    check: 'flag-value',
    text: /FEDERATION=0 has no effect/,
    remedy: /true or false/,
    plant: (world) => {
      world.io.env = { GRPC_EXPERIMENTAL_XDS_FEDERATION: '0' };
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a misspelt feature flag',
    level: 'warn',
    check: 'flag-name',
    text: /FEDERATON is not known/,
    remedy: /XDS_FEDERATION\?/,
    plant: (world) => {
      world.io.env = { GRPC_EXPERIMENTAL_XDS_FEDERATON: 'false' };
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'a proxy variable',
    level: 'warn',
    check: 'proxy',
    text: /https_proxy is set/,
    remedy: /no_proxy/,
    plant: (world) => {
      world.io.env = { https_proxy: 'http://127.0.0.1:3128' };
      return world.run(world.write('b.json', '{}'));
    },
  },
  {
    title: 'no bootstrap',
    level: 'fail',
    check: 'bootstrap-missing',
    text: /is missing/,
    remedy: /npx grpc-xds-cli bootstrap/,
    plant: (world) => world.run(),
  },
  {
    title: 'a host name of a cluster that the resolver does not answer',
    level: 'fail',
    check: 'dns',
    text: /^DNS name "slow\.test:80" of Cluster "slow": waiting for .*getaddrinfo of the operating system has not answered since 20/,
    remedy: /its DNS server/,
    plant: async (world) => {
      const lookups = new SlowLookups();
      const address = await world.serveAll(({ routes: _routes, clusters, ...rest }) => ({
        ...rest,
        clusters: [...clusters, dnsClusterJson('slow', 80, SLOW_HOST)],
        routes: [
          routeConfigJson(`${SERVICE}-routes`, [
            { ...routeToCluster('slow'), match: { prefix: '/slow' } },
            routeToCluster('echo'),
          ]),
        ],
      }));
      const diagnosis = await world.check(world.bootstrap(address), '--timeout', '1');
      lookups.release();
      return diagnosis;
    },
  },
  {
    title: 'a host name of a cluster that does not exist',
    level: 'fail',
    check: 'endpoints',
    remedy: /^correct the host name in the cluster/,
    text: /^no usable endpoint: DNS resolution of no-such-host\.invalid:80 failed: getaddrinfo/,
    plant: async (world) => {
      const address = await world.serveAll(({ routes: _routes, clusters, ...rest }) => ({
        ...rest,
        clusters: [...clusters, dnsClusterJson('gone', 80, 'no-such-host.invalid')],
        routes: [
          routeConfigJson(`${SERVICE}-routes`, [
            { ...routeToCluster('gone'), match: { prefix: '/gone' } },
            routeToCluster('echo'),
          ]),
        ],
      }));
      return world.check(world.bootstrap(address));
    },
  },
  {
    title: 'a bootstrap file that is not there',
    level: 'fail',
    check: 'bootstrap-unreadable',
    text: /cannot be read/,
    remedy: /path/,
    plant: (world) => world.run(`${world.folder}/none.json`),
  },
  {
    title: 'a bootstrap that is not JSON',
    level: 'fail',
    check: 'bootstrap-not-json',
    text: /line 2, column 1/,
    remedy: /syntax/,
    plant: (world) => world.run(world.write('b.json', '{"node": {},\n}')),
  },
  {
    title: 'a bootstrap without credentials',
    level: 'fail',
    check: 'bootstrap-invalid',
    text: /xds_servers\[0\]\.channel_creds: field not present/,
    remedy: /correct this/,
    plant: (world) => world.run(world.write('b.json', { xds_servers: [{ server_uri: 'a:1' }] })),
  },
  {
    title: 'a misspelt member of the bootstrap',
    level: 'warn',
    check: 'bootstrap-key',
    text: /^certificate_provider: /,
    remedy: /_providers\?/,
    plant: async (world) => {
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        certificate_provider: {},
      }));
      return world.check(path);
    },
  },
  {
    title: 'a placeholder that was not filled in',
    level: 'fail',
    check: 'bootstrap-placeholder',
    text: /node\.id: \$\{POD_NAME\}/,
    remedy: /fill/,
    plant: async (world) => {
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        node: { id: 'sidecar~${POD_NAME}' },
      }));
      return world.check(path);
    },
  },
  {
    title: 'a template for servers without a place for the address',
    level: 'warn',
    check: 'server-template',
    text: /^server_listener_resource_name_template "inbound" has no %s/,
    remedy: /put %s/,
    plant: async (world) => {
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        server_listener_resource_name_template: 'inbound',
      }));
      return world.check(path);
    },
  },
  {
    title: 'a template for servers of an authority that there is not',
    level: 'fail',
    check: 'server-template',
    text: /authority that is not among the authorities/,
    remedy: /add the authority/,
    plant: async (world) => {
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        server_listener_resource_name_template: 'xdstp://a/envoy.config.listener.v3.Listener/%s',
      }));
      return world.check(path);
    },
  },
  {
    title: 'a template for servers of another type',
    level: 'fail',
    check: 'server-template',
    text: /makes no usable names: its type is "x"/,
    remedy: /correct/,
    plant: async (world) => {
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        server_listener_resource_name_template: 'xdstp://a/x/%s',
      }));
      return world.check(path);
    },
  },
  {
    title: 'a certificate provider without its file',
    level: 'fail',
    check: 'certificate-file',
    text: /ca\.pem cannot be read/,
    remedy: /path/,
    plant: async (world) => {
      const config = { ca_certificate_file: `${world.folder}/none/ca.pem` };
      const path = world.bootstrap(await world.serveAll(), (bootstrap) => ({
        ...bootstrap,
        certificate_providers: { default: { plugin_name: 'file_watcher', config } },
      }));
      return world.check(path);
    },
  },
  {
    title: 'a server name that cannot be resolved',
    level: 'fail',
    check: 'dns',
    text: /no-such-host\.invalid cannot be resolved/,
    remedy: /name/,
    plant: (world) => world.run(world.bootstrap('no-such-host.invalid:1')),
  },
  {
    title: 'a port at which nothing listens',
    level: 'fail',
    check: 'tcp',
    text: /ECONNREFUSED/,
    remedy: /port/,
    plant: async (world) => world.run(world.bootstrap(await world.freeAddress())),
  },
  {
    title: 'a socket that is not there',
    level: 'fail',
    check: 'socket',
    text: /ENOENT/,
    remedy: /agent/,
    plant: (world) => world.run(world.bootstrap(`unix://${world.folder}/XDS`)),
  },
  {
    title: 'a certificate of another authority',
    level: 'fail',
    check: 'tls-chain',
    text: /not trusted/,
    remedy: /ca_certificate_file/,
    plant: (world) => checkTls(world, { isTrusted: false }),
  },
  {
    title: 'a certificate for another name',
    level: 'fail',
    check: 'tls-name',
    text: /not for 127\.0\.0\.1.*other\.test/,
    remedy: /name/,
    plant: (world) => checkTls(world, { names: ['DNS:other.test'] }),
  },
  {
    title: 'a server without HTTP/2',
    level: 'fail',
    check: 'tls-alpn',
    text: /does not choose h2/,
    remedy: /ALPN/,
    plant: (world) => checkTls(world, { h2: false }),
  },
  {
    title: 'a certificate that has expired',
    level: 'fail',
    check: 'certificate-expired',
    text: /expired: 2025-06-01/,
    remedy: /renew/,
    plant: (world) => checkTls(world, { validity: ['20240101000000Z', '20250601000000Z'] }),
  },
  {
    // The clock of the command is at 2026-01-01.
    title: 'a certificate that expires in five days',
    level: 'warn',
    check: 'certificate-expires',
    text: /expires in 5 d:/,
    remedy: /renew/,
    plant: (world) => checkTls(world, { validity: ['20240101000000Z', '20260107000000Z'] }),
  },
  {
    title: 'TLS credentials for a server without TLS',
    level: 'fail',
    check: 'plaintext-expected',
    text: /does not speak TLS/,
    remedy: /insecure/,
    plant: async (world) => {
      const ca = world.write('ca.pem', files.authority?.certificate ?? '');
      return world.run(world.bootstrap(await world.serveAll(), withTls(ca)));
    },
  },
  {
    title: 'insecure credentials for a server with TLS',
    level: 'fail',
    check: 'tls-expected',
    text: /speaks TLS/,
    remedy: /type tls/,
    plant: async (world) => {
      const { certificate = '', privateKey = '' } = files.authority?.sign('server') ?? {};
      const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(privateKey) };
      const backend = await EchoBackend.start('a', ServerCredentials.createSsl(null, [pair]));
      try {
        return await world.run(world.bootstrap(`127.0.0.1:${backend.port}`));
      } finally {
        backend.stop();
      }
    },
  },
  {
    title: 'a token that has expired',
    level: 'fail',
    check: 'token-expired',
    text: /expired 10 min ago/,
    remedy: /renews/,
    plant: async (world) => {
      const path = world.write('token', token({ exp: world.io.clock.now() / 1000 - 600 }));
      return world.run(world.bootstrap(await world.serveAll(), withToken(path)));
    },
  },
  {
    title: 'a clock that is late',
    level: 'fail',
    check: 'clock-skew',
    text: /600 s in the future/,
    remedy: /clock/,
    plant: async (world) => {
      const now = world.io.clock.now() / 1000;
      const path = world.write('token', token({ iat: now + 600, exp: now + 3600 }));
      return world.run(world.bootstrap(await world.serveAll(), withToken(path)));
    },
  },
  {
    title: 'a gRPC server without ADS',
    level: 'fail',
    check: 'ads-unimplemented',
    text: /UNIMPLEMENTED/,
    remedy: /port/,
    plant: async (world) => {
      const { port } = await world.backend();
      return world.check(world.bootstrap(`127.0.0.1:${port}`));
    },
  },
  {
    title: 'a control plane that is silent to this node',
    level: 'fail',
    check: 'ads-silent',
    text: /no answer within 1 s/,
    remedy: /"test-node"/,
    plant: async (world) =>
      world.check(world.bootstrap(await world.silentServer()), '--timeout', '1'),
  },
  {
    title: 'a target whose authority the bootstrap does not have',
    level: 'fail',
    check: 'target',
    text: /authority "shop"/,
    remedy: /add the authority/,
    plant: async (world) =>
      world.run(world.bootstrap(await world.serveAll()), '-t', 'xds://shop/echo'),
  },
  {
    title: 'a Listener that the control plane does not have',
    level: 'fail',
    check: 'resource-missing',
    text: /not received within 3 s/,
    remedy: /add it/,
    plant: async (world) => {
      const address = await world.serveAll((all) => ({ ...all, listeners: [] }));
      return world.check(world.bootstrap(address), '--timeout', '3');
    },
  },
  {
    title: 'a cluster that clients reject',
    level: 'fail',
    check: 'resource-nacked',
    text: /\(NACK\).*MAGLEV/,
    remedy: /npx grpc-xds-cli check/,
    plant: async (world) => {
      const clusters = [edsClusterJson('echo', { lb_policy: 'MAGLEV' })];
      const address = await world.serveAll((all) => ({ ...all, clusters }));
      return world.check(world.bootstrap(address));
    },
  },
  {
    title: 'no virtual host for the target',
    level: 'fail',
    check: 'routes',
    text: /virtual host/,
    remedy: /virtual host/,
    plant: async (world) => {
      const routes = [
        {
          ...routeConfigJson(`${SERVICE}-routes`, []),
          virtual_hosts: [{ name: 'other', domains: ['other.test'], routes: [] }],
        },
      ];
      const address = await world.serveAll((all) => ({ ...all, routes }));
      return world.check(world.bootstrap(address));
    },
  },
  {
    title: 'a cluster without endpoints',
    level: 'fail',
    check: 'endpoints',
    text: /no usable endpoint/,
    remedy: /backends/,
    plant: async (world) => {
      const address = await world.serveAll((all) => ({ ...all, endpoints: [noEndpoint] }));
      return world.check(world.bootstrap(address));
    },
  },
  {
    title: 'an endpoint at which nothing listens',
    level: 'fail',
    check: 'connect',
    text: /0 of 1 .*ECONNREFUSED/,
    remedy: /backends/,
    plant: async (world) => {
      const port = Number((await world.freeAddress()).split(':')[1]);
      const address = await world.serve(simpleResources([port]));
      return world.check(world.bootstrap(address));
    },
  },
  {
    title: 'an endpoint that accepts connections and never answers',
    level: 'fail',
    check: 'channel',
    text: /^not connected within 2 s: no answer from 127\.0\.0\.1:\d+$/,
    remedy: /serve gRPC without TLS/,
    plant: async (world) => {
      const port = Number((await world.silentServer()).split(':')[1]);
      const address = await world.serve(simpleResources([port]));
      return world.check(world.bootstrap(address), '--timeout', '2');
    },
  },
  {
    title: 'a backend whose certificate is of another authority',
    level: 'fail',
    check: 'channel',
    text: /certificate/,
    remedy: /certificates of both/,
    plant: async (world) => {
      const { authority, certificates } = files;
      const another = certificates?.authority('another');
      const names = ['IP:127.0.0.1'];
      const server = another?.sign('server', { names });
      const client = authority?.sign('client');
      if (authority === undefined || server === undefined) throw new Error('no certificates');
      const backend = await startMutualTlsBackend(authority, server);
      try {
        const config = {
          ca_certificate_file: world.write('ca.pem', authority.certificate),
          certificate_file: world.write('client.pem', client?.certificate ?? ''),
          private_key_file: world.write('client.key', client?.privateKey ?? ''),
        };
        const socket = mutualTlsSocket('default');
        const clusters = [edsClusterJson('echo', { transport_socket: socket })];
        const address = await world.serve({ ...simpleResources([backend.port]), clusters });
        const path = world.bootstrap(address, (bootstrap) => ({
          ...bootstrap,
          certificate_providers: { default: { plugin_name: 'file_watcher', config } },
        }));
        return await world.check(path);
      } finally {
        backend.server.forceShutdown();
      }
    },
  },
  {
    title: 'a route that is left out',
    level: 'warn',
    check: 'unused-field',
    text: /left out/,
    remedy: /do not rely/,
    plant: async (world) => {
      const unused = { match: { prefix: '/a' }, route: { cluster_header: 'x-cluster' } };
      const routes = [routeConfigJson(`${SERVICE}-routes`, [unused, routeToCluster('echo')])];
      const address = await world.serveAll((all) => ({ ...all, routes }));
      return world.check(world.bootstrap(address));
    },
  },
];

describe('grpc-xds doctor finds', () => {
  let world: DoctorWorld;
  beforeAll(() => {
    files.certificates = new TestCertificates();
    files.authority = files.certificates.authority('authority');
  });
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());
  afterAll(() => files.certificates?.close());

  it.each(faults.map((fault) => [fault.title, fault] as const))('%s', async (_title, fault) => {
    const { code, findings } = await fault.plant(world);
    const found = findings.filter(({ level }) => level === 'warn' || level === 'fail');
    expect(found).toContainEqual({
      check: fault.check,
      level: fault.level,
      subject: expect.any(String),
      text: expect.stringMatching(fault.text),
      remedy: expect.stringMatching(fault.remedy),
    });
    expect(code).toBe(found.some(({ level }) => level === 'fail') ? 1 : 0);
  });

  it('at least twenty of them', () => {
    expect(new Set(faults.map(({ check }) => check)).size).toBeGreaterThanOrEqual(20);
  });
});
