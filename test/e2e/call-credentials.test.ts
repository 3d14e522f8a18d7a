// Call credentials that are set on single calls: they are sent over TLS, and never over a connection that others can read.

import { type IncomingHttpHeaders } from 'node:http2';
import { CallCredentials, credentials, Metadata, type ChannelCredentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { simpleResources, useSharedMesh } from '../support/mesh';
import { edsClusterJson, type Json } from '../support/xds-json';
import { TestCertificates } from '../support/test-certificates';
import { endWith, RawBackend } from '../support/raw-backend';
import { serverTls } from '../support/tls';

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

describe('call credentials of a single call', () => {
  const mesh = useSharedMesh();
  let plain: EchoBackend;
  let secured: EchoBackend;

  beforeAll(async () => {
    plain = await mesh.backend('plain');
    secured = await mesh.backend('secured', serverTls(backendCertificate));
  });
  afterEach(() => mesh.closeClients());
  afterAll(() => certificates.close());

  const connect = (channelCredentials: ChannelCredentials) =>
    mesh.client(
      { 'grpc.ssl_target_name_override': 'backend.example' },
      undefined,
      channelCredentials,
    );

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
    await eventually(() => client.say(), name);
    const before = backend.calls;
    expect(await client.failure({ credentials: secret() })).toMatchObject(REFUSED);
    expect(await client.failure({ credentials: secret('x-key') })).toMatchObject(REFUSED);
    expect(await client.failure({ credentials: composed })).toMatchObject(REFUSED);
    expect(backend.calls).toBe(before);
    expect(await client.say()).toBe(name);
    expect(backend.metadata.getMap()).not.toHaveProperty('authorization');
  });

  it('open no stream, and neither do those that were combined with the channel', async () => {
    const received: IncomingHttpHeaders[] = [];
    const server = new RawBackend((stream, headers) => {
      received.push(headers);
      endWith(stream, Status.OK, '');
    });
    mesh.serve(simpleResources([await server.listen()]));
    const client = connect(xds());
    // An answer without a message is an error of the client.
    await eventually(
      () => client.failure().catch(() => undefined),
      () => received.length > 0,
    );
    const before = received.length;
    expect(await client.failure({ credentials: secret() })).toMatchObject(REFUSED);
    const combined = connect(xds().compose(secret()));
    expect(await combined.failure()).toMatchObject(REFUSED);
    expect(await combined.failure({ credentials: secret('x-key') })).toMatchObject(REFUSED);
    await client.failure();
    expect(received.slice(before)).toEqual([
      expect.not.objectContaining({ authorization: expect.anything() }),
    ]);
    server.close();
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
