// Channels with xDS credentials: what secures a connection follows the configuration of its cluster.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CallCredentials,
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import {
  createXdsChannelCredentials,
  peerIdentity,
  XdsChannelCredentials,
  type PeerIdentity,
} from '../../src';
import { Status } from '../../src/grpc-js';
import { EchoBackend, EchoClient, echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { edsClusterJson, type Json } from '../support/xds-json';
import { XdsError } from '../../src/util/xds-error';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const backendCertificate = root.sign('backend', {
  names: ['URI:spiffe://td/backend', 'DNS:backend.example'],
});

/** A server with TLS, which answers with the number of the connection. */
class SecureBackend {
  port = 0;
  private readonly peers: string[] = [];
  private readonly server = new Server();

  async start({ certificateChain, privateKey }: TestCertificate): Promise<this> {
    const say = (
      call: ServerUnaryCall<Buffer, Buffer>,
      callback: (error: null, answer: Buffer) => void,
    ) => {
      const peer = call.getPeer();
      if (!this.peers.includes(peer)) this.peers.push(peer);
      callback(null, Buffer.from(`connection ${this.peers.indexOf(peer)}`));
    };
    this.server.addService({ say: echoMethod }, { say });
    const pair = {
      cert_chain: Buffer.from(certificateChain),
      private_key: Buffer.from(privateKey),
    };
    this.port = await new Promise<number>((resolve, reject) => {
      const secured = ServerCredentials.createSsl(null, [pair]);
      this.server.bindAsync('127.0.0.1:0', secured, (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    return this;
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

const exactUri = (exact: string): Json => ({ san_type: 'URI', matcher: { exact } });

/** The transport_socket of a cluster; its server must have one of the names. */
function transportSocket(matchers: readonly Json[], extra: Json = {}): Json {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        validation_context: {
          ca_certificate_provider_instance: { instance_name: 'mesh' },
          match_typed_subject_alt_names: matchers,
        },
      },
      ...extra,
    },
  };
}

const resources = (port: number, transport_socket?: Json) => ({
  ...simpleResources([port]),
  clusters: [edsClusterJson('echo', transport_socket === undefined ? {} : { transport_socket })],
});

describe('a channel with xDS credentials', () => {
  let mesh: Mesh;
  let secure: SecureBackend;
  let plain: EchoBackend;
  let folder: string;
  const clients: EchoClient[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'xds-credentials-'));
    writeFileSync(join(folder, 'ca.pem'), root.certificate);
    plain = await EchoBackend.start('plain');
  });
  afterAll(() => {
    plain.stop();
    certificates.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    secure = await new SecureBackend().start(backendCertificate);
    mesh = await Mesh.start();
    const config = { ca_certificate_file: join(folder, 'ca.pem') };
    const mine = { mesh: { plugin_name: 'file_watcher', config } };
    registerAnew({ bootstrap: { ...bootstrapFor(mesh.address), certificate_providers: mine } });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    mesh.stop();
    secure.stop();
  });

  const xds = () => createXdsChannelCredentials(credentials.createInsecure());

  function connect(
    channelCredentials: ChannelCredentials = xds(),
    target = `xds:///${SERVICE}`,
  ): EchoClient {
    const client = new EchoClient(target, {}, channelCredentials);
    clients.push(client);
    return client;
  }

  // 1. The matcher is satisfied. 2. It is another one. 3. It is the first one again.
  it('makes new connections by a new policy, and sends no call over those of the old one', async () => {
    mesh.serve(resources(secure.port, transportSocket([exactUri('spiffe://td/backend')])));
    const client = connect();
    expect(await client.say()).toBe('connection 0');
    mesh.serve(resources(secure.port, transportSocket([exactUri('spiffe://td/other')])));
    const { code, details } = await eventually(
      () => client.failure({ deadlineMs: 2000 }).catch(() => ({ code: Status.OK, details: '' })),
      (failure) => failure.details !== '',
    );
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain(
      'cluster "echo": certificate check failure: the subject alternative names [uri:spiffe://td/backend, dns:backend.example] of the certificate do not satisfy the matcher of the cluster',
    );
    mesh.serve(resources(secure.port, transportSocket([exactUri('spiffe://td/backend')])));
    const answer = await eventually(
      () => client.say().catch(() => ''),
      (text) => text !== '',
    );
    expect(answer).toBe('connection 1');
  }, 30_000);

  it('keeps its connection over updates that do not concern its policy', async () => {
    const socket = transportSocket([exactUri('spiffe://td/backend')]);
    mesh.serve(resources(secure.port, socket));
    const client = connect();
    expect(await client.say()).toBe('connection 0');
    const thresholds = [{ max_requests: 5 }];
    const circuit_breakers = { thresholds };
    mesh.serve({
      ...resources(secure.port),
      clusters: [edsClusterJson('echo', { transport_socket: socket, circuit_breakers })],
    });
    for (let call = 0; call < 20; call++) expect(await client.say()).toBe('connection 0');
  });

  it('uses the fallback credentials for a cluster without transport_socket, and for other targets', async () => {
    mesh.serve(resources(plain.port));
    expect(await connect().say()).toBe('plain');
    expect(await connect(xds(), `dns:///127.0.0.1:${plain.port}`).say()).toBe('plain');
  });

  it('never uses the fallback credentials because of an error', async () => {
    const before = plain.calls;
    mesh.serve(resources(plain.port, transportSocket([])));
    const { code, details } = await connect().failure();
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain('the server does not speak TLS on this port');
    expect(plain.calls).toBe(before);
  });

  it('sends the hostname of the endpoint as SNI, which the certificate must be for', async () => {
    const socket = transportSocket([exactUri('spiffe://td/none')], {
      auto_host_sni: true,
      auto_sni_san_validation: true,
    });
    const endpoint = (hostname: string): Json => ({
      cluster_name: 'echo',
      endpoints: [
        {
          locality: { zone: 'a' },
          load_balancing_weight: 1,
          lb_endpoints: [
            {
              endpoint: {
                hostname,
                address: { socket_address: { address: '127.0.0.1', port_value: secure.port } },
              },
            },
          ],
        },
      ],
    });
    mesh.serve({ ...resources(secure.port, socket), endpoints: [endpoint('backend.example')] });
    expect(await connect().say()).toBe('connection 0');
    mesh.serve({ ...resources(secure.port, socket), endpoints: [endpoint('other.example')] });
    const { details } = await eventually(
      () =>
        connect()
          .failure()
          .catch(() => ({ details: '' })),
      (failure) => failure.details !== '',
    );
    expect(details).toContain('do not include the server name "other.example"');
  }, 30_000);

  it('sends call credentials over TLS, and never over the insecure fallback', async () => {
    const token = CallCredentials.createFromMetadataGenerator((_options, callback) => {
      const metadata = new Metadata();
      metadata.set('authorization', 'Bearer secret');
      callback(null, metadata);
    });
    const composed = xds().compose(token);
    mesh.serve(resources(secure.port, transportSocket([])));
    expect(await connect(composed).say()).toBe('connection 0');
    expect(await connect().say({ credentials: token })).toBe('connection 1');
    const before = plain.calls;
    mesh.serve(resources(plain.port));
    const client = connect(composed);
    // The cluster and its endpoints arrive one after the other.
    const { code, details } = await eventually(
      () => client.failure(),
      (failure) => failure.details.includes('call credentials'),
    );
    expect(code).toBe(Status.UNAUTHENTICATED);
    expect(details).toContain('call credentials are not sent over an insecure connection');
    expect(plain.calls).toBe(before);
  });

  it('shows the identity of the server to the application', async () => {
    mesh.serve(resources(secure.port, transportSocket([])));
    const client = new Client(`xds:///${SERVICE}`, xds());
    const identity = await new Promise<PeerIdentity | undefined>((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = echoMethod;
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.from('hello'),
        (error) => (error === null ? undefined : reject(error)),
      );
      call.on('metadata', () => resolve(peerIdentity(call)));
    });
    client.close();
    expect(identity).toMatchObject({
      spiffeId: 'spiffe://td/backend',
      uriSans: ['spiffe://td/backend'],
      dnsSans: ['backend.example'],
      subject: 'CN=backend',
    });
    expect(identity?.certificate.subject).toBe('CN=backend');
  });

  it('is refused without fallback credentials', () => {
    expect(() => Reflect.construct(XdsChannelCredentials, [])).toThrow(XdsError);
    expect(() => Reflect.construct(XdsChannelCredentials, [{}])).toThrow('npm ls @grpc/grpc-js');
  });

  it('equals another one with equal fallback credentials', () => {
    expect(xds()._equals(xds())).toBe(true);
    expect(xds()._equals(createXdsChannelCredentials(credentials.createSsl()))).toBe(false);
    expect(xds()._equals(credentials.createInsecure())).toBe(false);
  });
});
