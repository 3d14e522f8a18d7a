// Channels with xDS credentials: what secures a connection follows the configuration of its cluster.

import { Client, credentials } from '@grpc/grpc-js';
import {
  createXdsChannelCredentials,
  peerIdentity,
  XdsChannelCredentials,
  type PeerIdentity,
} from '../../src';
import { Status } from '../../src/grpc-js';
import type { EchoClient } from '../support/echo-backend';
import { EchoBackend, echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, registerAnew, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { edsClusterJson, type Json } from '../support/xds-json';
import { XdsError } from '../../src/util/xds-error';
import { TlsBackend, type ConnectionFacts } from '../support/tls-backend';
import { bootstrapWithFiles, useFolder, verifiedTls } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const backendCertificate = root.sign('backend', {
  names: ['URI:spiffe://td/backend', 'DNS:backend.example'],
});

const resources = (port: number, transport_socket?: Json) => ({
  ...simpleResources([port]),
  clusters: [edsClusterJson('echo', transport_socket === undefined ? {} : { transport_socket })],
});

describe('a channel with xDS credentials', () => {
  const mesh = useMesh();
  const folder = useFolder();
  let secure: TlsBackend;
  let plain: EchoBackend;

  beforeAll(async () => {
    folder.write('ca.pem', root.certificate);
    plain = await EchoBackend.start('plain');
  });
  afterAll(() => {
    plain.stop();
    certificates.close();
  });
  beforeEach(async () => {
    secure = await TlsBackend.start(backendCertificate);
    const files = { mesh: { ca_certificate_file: folder.path('ca.pem') } };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files) });
  });
  afterEach(() => secure.stop());

  const xds = () => createXdsChannelCredentials(credentials.createInsecure());
  const connect = (target?: string) => mesh.client({}, target, xds());
  /** The number of the connection of the next call. */
  const connectionOf = async (client: EchoClient) =>
    (JSON.parse(await client.say()) as ConnectionFacts).connection;

  // 1. The matcher is satisfied. 2. It is another one. 3. It is the first one again.
  it('makes new connections by a new policy, and sends no call over those of the old one', async () => {
    mesh.serve(resources(secure.port, verifiedTls('mesh', ['spiffe://td/backend'])));
    const client = connect();
    expect(await connectionOf(client)).toBe(0);
    mesh.serve(resources(secure.port, verifiedTls('mesh', ['spiffe://td/other'])));
    const { code, details } = await eventually(
      () => client.failure({ deadlineMs: 2000 }).catch(() => ({ code: Status.OK, details: '' })),
      (failure) => failure.details !== '',
    );
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain(
      'cluster "echo": certificate check failure: the subject alternative names [uri:spiffe://td/backend, dns:backend.example] of the certificate do not satisfy the matcher of the cluster',
    );
    mesh.serve(resources(secure.port, verifiedTls('mesh', ['spiffe://td/backend'])));
    const next = await eventually(
      () => connectionOf(client).catch(() => 0),
      (connection) => connection > 0,
    );
    expect(next).toBeGreaterThan(0);
  }, 30_000);

  it('keeps its connection over updates that do not concern its policy', async () => {
    const socket = verifiedTls('mesh', ['spiffe://td/backend']);
    mesh.serve(resources(secure.port, socket));
    const client = connect();
    expect(await connectionOf(client)).toBe(0);
    const thresholds = [{ max_requests: 5 }];
    const circuit_breakers = { thresholds };
    mesh.serve({
      ...resources(secure.port),
      clusters: [edsClusterJson('echo', { transport_socket: socket, circuit_breakers })],
    });
    for (let call = 0; call < 20; call++) expect(await connectionOf(client)).toBe(0);
  });

  it('uses the fallback credentials for a cluster without transport_socket, and for other targets', async () => {
    mesh.serve(resources(plain.port));
    expect(await connect().say()).toBe('plain');
    expect(await connect(`dns:///127.0.0.1:${plain.port}`).say()).toBe('plain');
  });

  it('shows the identity of the server to the application', async () => {
    mesh.serve(resources(secure.port, verifiedTls('mesh')));
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
