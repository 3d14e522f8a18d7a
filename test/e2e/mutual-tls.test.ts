// Clusters whose servers speak TLS as servers of meshes do: client certificates, session tickets, ALPN.

import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer, type TlsOptions } from 'node:tls';
import { credentials, Metadata } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import type { EchoClient } from '../support/echo-backend';
import { SERVICE, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { TlsBackend, type ConnectionFacts } from '../support/tls-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  type Json,
} from '../support/xds-json';
import { listen } from '../support/listen';
import { bootstrapWithFiles, upstreamTls, useFolder } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const server = root.sign('server', { names: ['URI:spiffe://cluster.local/ns/shop/sa/cart'] });

const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;
/** How a server of Node.js refuses a client: over TLS 1.3, it does so after the handshake of the client. */
const REFUSALS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  'TLSv1.2': {
    none: /cluster "echo": TLS handshake failed: the server refused it, as one that requires a client certificate does, .* \(ERR_SSL_\S+_ALERT_HANDSHAKE_FAILURE\)/,
    // It closes the connection with its last message of the handshake, which arrives or not.
    stranger:
      /cluster "echo": (?:TLS handshake failed: Client network socket disconnected before|the server closed the connection after the TLS handshake)/,
  },
  'TLSv1.3': {
    none: /cluster "echo": TLS handshake failed: the server requires a client certificate \(ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED\)/,
    stranger:
      /cluster "echo": the server closed the connection after the TLS handshake; it probably does not accept the client certificate/,
  },
};
const mutual: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: [root.certificate] };

describe('a cluster whose servers speak TLS', () => {
  const mesh = useMesh();
  const folder = useFolder();
  const backends: TlsBackend[] = [];

  beforeAll(() => {
    const identities = { good: root.sign('client'), stranger: otherRoot.sign('stranger') };
    for (const [name, { certificateChain, privateKey }] of Object.entries(identities)) {
      folder.write(`${name}.pem`, certificateChain);
      folder.write(`${name}.key`, privateKey);
    }
    folder.write('ca.pem', root.certificate);
  });
  afterAll(() => certificates.close());
  beforeEach(() => {
    const filesOf = (name: string) => ({
      ca_certificate_file: folder.path('ca.pem'),
      certificate_file: folder.path(`${name}.pem`),
      private_key_file: folder.path(`${name}.key`),
    });
    const files = { default: filesOf('good'), stranger: filesOf('stranger') };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files) });
  });
  afterEach(() => {
    for (const backend of backends.splice(0)) backend.stop();
  });

  async function start(options: TlsOptions): Promise<TlsBackend> {
    const backend = await TlsBackend.start(server, options);
    backends.push(backend);
    return backend;
  }

  function serve({ port }: { readonly port: number }, common: Json, extra: Json = {}): void {
    mesh.serve({
      ...simpleResources([port]),
      clusters: [edsClusterJson('echo', { transport_socket: upstreamTls(common, extra) })],
    });
  }

  /** What a cluster has whose client presents the certificate of an instance, or none. */
  const contextOf = (identity: string | undefined, validation: Json = {}): Json => ({
    ...(identity !== undefined && {
      tls_certificate_provider_instance: { instance_name: identity },
    }),
    validation_context: {
      ca_certificate_provider_instance: { instance_name: 'default' },
      ...validation,
    },
  });

  const open = () =>
    mesh.client({}, undefined, createXdsChannelCredentials(credentials.createInsecure()));

  const call = async (client: EchoClient) => JSON.parse(await client.say()) as ConnectionFacts;

  it('is connected once for each policy, although two clusters have the same endpoint', async () => {
    const backend = await start({ ...mutual, rejectUnauthorized: false });
    const clusters = {
      named: contextOf('default'),
      nameless: contextOf(undefined),
      again: contextOf('default'),
    };
    const toCluster = (name: string): Json => ({
      match: { prefix: '', headers: [{ name: 'to', string_match: { exact: name } }] },
      route: { cluster: name },
    });
    const names = Object.keys(clusters);
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, names.map(toCluster))],
      clusters: Object.entries(clusters).map(([name, context]) =>
        edsClusterJson(name, { transport_socket: upstreamTls(context) }),
      ),
      endpoints: names.map((name) => endpointsJson(name, [{ zone: 'a', ports: [backend.port] }])),
    });
    const client = open();
    const callTo = async (name: string) => {
      const metadata = new Metadata();
      metadata.set('to', name);
      return JSON.parse(await client.say({ metadata })) as ConnectionFacts;
    };
    const [named, nameless, again] = await Promise.all(names.map(callTo));
    expect([named, nameless, again].map((facts) => facts?.client)).toEqual([
      'CN=client',
      null,
      'CN=client',
    ]);
    const connections = [named, nameless, again].map((facts) => facts?.connection);
    expect(new Set(connections).size).toBe(3);
    for (const [index, name] of names.entries()) {
      expect((await callTo(name)).connection).toBe(connections[index]);
    }
  });

  it('fails calls with the reason if servers reset connections in place of SETTINGS', async () => {
    const { certificateChain: cert, privateKey: key } = server;
    const connections: Socket[] = [];
    const resetting = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        for (const connection of connections) connection.resetAndDestroy();
      });
    });
    resetting.on('connection', (socket: Socket) => connections.push(socket));
    await listen(resetting);
    serve(resetting.address() as AddressInfo, contextOf('default'));
    expect((await open().failure()).details).toContain(
      'cluster "echo": the server closed the connection after the TLS handshake',
    );
    resetting.close();
  });

  describe.each(VERSIONS)('and require a certificate of clients (%s)', (version) => {
    const only = { ...mutual, minVersion: version, maxVersion: version };

    it('is called with the identity of the cluster', async () => {
      serve(await start(only), contextOf('default'));
      expect(await call(open())).toMatchObject({ protocol: version, client: 'CN=client' });
    });

    it.each<[string, string | undefined]>([
      ['no certificate', undefined],
      ['the certificate of another authority', 'stranger'],
    ])('fails calls with %s, which name the cluster and the cause', async (_, identity) => {
      serve(await start(only), contextOf(identity));
      const { code, details } = await open().failure();
      expect(code).toBe(Status.UNAVAILABLE);
      expect(details).toMatch(REFUSALS[version]?.[identity ?? 'none'] ?? '');
    });
  });

  describe.each(VERSIONS)('and offer session tickets (%s)', (version) => {
    const only = { ...mutual, minVersion: version, maxVersion: version };

    // 1. The tickets are good: a client of Node.js resumes its session. 2. Ours makes each connection anew.
    it('makes each connection by a whole handshake', async () => {
      const backend = await start(only);
      expect(await resumes(backend)).toBe(true);
      serve(backend, contextOf('default'));
      const client = open();
      const seen: ConnectionFacts[] = [];
      for (let i = 0; i < 3; i++) {
        seen.push(await call(client));
        await backend.closeConnections();
      }
      expect(seen.map(({ isResumed }) => isResumed)).toEqual([false, false, false]);
      expect(new Set(seen.map(({ connection }) => connection)).size).toBe(3);
    });

    /** Whether a second connection of a client of Node.js resumes the session of the first. */
    async function resumes({ port }: TlsBackend): Promise<boolean> {
      const { certificateChain: cert, privateKey: key } = root.sign('resuming');
      const options = { port, host: '127.0.0.1', ca: root.certificate, cert, key };
      const own = { ...options, ALPNProtocols: ['h2'], checkServerIdentity: () => undefined };
      const first = connect(own);
      const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
      first.destroy();
      const second = connect({ ...own, session });
      await new Promise((resolve) => second.once('secureConnect', resolve));
      const isReused = second.isSessionReused();
      second.destroy();
      return isReused;
    }
  });

  describe('as Istio configures it', () => {
    /** As istiod writes it for ISTIO_MUTUAL, with the instances in the older and in the newer fields. */
    const istio = (serviceAccount: string): Json => {
      const identity = { instance_name: 'default', certificate_name: 'default' };
      const roots = { instance_name: 'default', certificate_name: 'ROOTCA' };
      const exact = `spiffe://cluster.local/ns/shop/sa/${serviceAccount}`;
      return {
        tls_certificate_certificate_provider_instance: identity,
        tls_certificate_provider_instance: identity,
        combined_validation_context: {
          default_validation_context: {
            ca_certificate_provider_instance: roots,
            match_subject_alt_names: [{ exact }],
          },
          validation_context_certificate_provider_instance: roots,
        },
      };
    };
    const sni = { sni: 'outbound_.7070_._.cart.shop.svc.cluster.local' };

    it('calls servers in STRICT mode with the identity of the workload', async () => {
      serve(await start(mutual), istio('cart'), sni);
      expect(await call(open())).toMatchObject({ client: 'CN=client' });
    });

    it('fails calls to servers of another service account', async () => {
      serve(await start(mutual), istio('billing'), sni);
      expect((await open().failure()).details).toContain(
        'the subject alternative names [uri:spiffe://cluster.local/ns/shop/sa/cart] of the certificate do not satisfy the matcher of the cluster',
      );
    });

    it('fails calls to servers that negotiate protocols of proxies only, as in PERMISSIVE mode', async () => {
      const { certificateChain: cert, privateKey: key } = server;
      const sidecar = createServer({
        ...mutual,
        cert,
        key,
        ALPNProtocols: ['istio-peer-exchange', 'istio'],
      });
      sidecar.on('tlsClientError', () => {});
      await listen(sidecar);
      serve(sidecar.address() as AddressInfo, istio('cart'), sni);
      expect((await open().failure()).details).toMatch(
        /cluster "echo" \(server name "outbound_\S+"\): TLS handshake failed: the server does not serve HTTP\/2 over TLS/,
      );
      sidecar.close();
    });
  });
});
