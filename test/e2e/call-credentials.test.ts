// Call credentials that are set on single calls: they are sent over TLS, and never over a connection that others can read.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session } from 'node:http2';
import {
  CallCredentials,
  credentials,
  Metadata,
  ServerCredentials,
  type ChannelCredentials,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson, type Json } from '../support/xds-json';
import { TestCertificates } from '../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const backendCertificate = root.sign('backend', { names: ['DNS:backend.example'] });

const secret = (name = 'authorization') =>
  CallCredentials.createFromMetadataGenerator((_options, callback) => {
    const metadata = new Metadata();
    metadata.set(name, 'secret');
    callback(null, metadata);
  });

/** The fields of a cluster whose connections several policies wrap. */
const WRAPPING = { lb_policy: 'LEAST_REQUEST', outlier_detection: {} };

const REFUSED = {
  code: Status.UNAUTHENTICATED,
  details: expect.stringContaining('call credentials are not sent over an insecure connection'),
};

/** A server that records the headers of every stream, and answers with an empty message. */
class HeaderServer {
  readonly received: IncomingHttpHeaders[] = [];
  private readonly server = createServer();
  private readonly sessions = new Set<ServerHttp2Session>();

  async listen(): Promise<number> {
    this.server.on('session', (session) => this.sessions.add(session));
    this.server.on('stream', (stream, headers) => {
      this.received.push(headers);
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.alloc(5));
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    return address.port;
  }

  stop(): void {
    this.server.close();
    for (const session of this.sessions) session.destroy();
  }
}

describe('call credentials of a single call', () => {
  let mesh: Mesh;
  let plain: EchoBackend;
  let secured: EchoBackend;
  const clients: EchoClient[] = [];

  beforeAll(async () => {
    mesh = await Mesh.start();
    plain = await mesh.backend('plain');
    const { certificateChain, privateKey } = backendCertificate;
    const pair = {
      cert_chain: Buffer.from(certificateChain),
      private_key: Buffer.from(privateKey),
    };
    secured = await EchoBackend.start('secured', ServerCredentials.createSsl(null, [pair]));
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(() => {
    mesh.stop();
    secured.stop();
    certificates.close();
  });

  function connect(channelCredentials: ChannelCredentials): EchoClient {
    const options = { 'grpc.ssl_target_name_override': 'backend.example' };
    const client = new EchoClient(`xds:///${SERVICE}`, options, channelCredentials);
    clients.push(client);
    return client;
  }

  const tls = () => credentials.createSsl(Buffer.from(root.certificate));
  const composed = secret().compose(secret('x-other'));

  const insecure = () => credentials.createInsecure();
  const xds = () => createXdsChannelCredentials(insecure());

  it.each<[string, () => ChannelCredentials, Json]>([
    ['insecure credentials', insecure, {}],
    ['xDS credentials with an insecure fallback', xds, {}],
    ['such a fallback in another one', () => createXdsChannelCredentials(xds()), {}],
    ['such a fallback, under policies that wrap connections', xds, WRAPPING],
  ])('fail it on a channel with %s, and nothing is sent', async (name, create, cluster) => {
    const backend = await mesh.backend(name);
    mesh.serve({
      ...simpleResources([backend.port]),
      clusters: [edsClusterJson('echo', cluster)],
    });
    const client = connect(create());
    await eventually(
      () => client.say(),
      (answer) => answer === name,
    );
    const before = backend.calls;
    expect(await client.failure({ credentials: secret() })).toMatchObject(REFUSED);
    expect(await client.failure({ credentials: secret('x-key') })).toMatchObject(REFUSED);
    expect(await client.failure({ credentials: composed })).toMatchObject(REFUSED);
    expect(backend.calls).toBe(before);
    expect(await client.say()).toBe(name);
    expect(backend.metadata.getMap()).not.toHaveProperty('authorization');
  });

  it('open no stream, and neither do those that were combined with the channel', async () => {
    const server = new HeaderServer();
    mesh.serve(simpleResources([await server.listen()]));
    const client = connect(xds());
    await eventually(
      () => client.say(),
      (answer) => answer === '',
    );
    const before = server.received.length;
    expect(await client.failure({ credentials: secret() })).toMatchObject(REFUSED);
    const combined = connect(xds().compose(secret()));
    expect(await combined.failure()).toMatchObject(REFUSED);
    expect(await combined.failure({ credentials: secret('x-key') })).toMatchObject(REFUSED);
    await client.say();
    expect(server.received.slice(before)).toEqual([
      expect.not.objectContaining({ authorization: expect.anything() }),
    ]);
    server.stop();
  });

  it.each([
    ['TLS credentials', tls],
    ['xDS credentials with a TLS fallback', () => createXdsChannelCredentials(tls())],
  ])('are sent on a channel with %s', async (_name, create) => {
    mesh.serve(simpleResources([secured.port]));
    const client = connect(create());
    expect(await client.say({ credentials: composed })).toBe('secured');
    expect(secured.metadata.getMap()).toMatchObject({
      authorization: 'secret',
      'x-other': 'secret',
    });
    expect(await client.say()).toBe('secured');
    expect(secured.metadata.getMap()).not.toHaveProperty('authorization');
  });

  it('do not prevent the headers of the application from being sent', async () => {
    mesh.serve(simpleResources([plain.port]));
    const metadata = new Metadata();
    metadata.set('authorization', 'of the application');
    expect(await connect(credentials.createInsecure()).say({ metadata })).toBe('plain');
    expect(plain.metadata.get('authorization')).toEqual(['of the application']);
  });
});
