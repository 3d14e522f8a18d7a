// The GCP authentication filter (gRFC A83) from the listener to the backend, with a metadata server on this machine.

import { credentials, Metadata, type ChannelCredentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  type MeshResources,
  registerAnew,
  useMesh,
} from '../support/mesh';
import { MetadataServer } from '../support/metadata-server';
import { TestCertificates } from '../support/test-certificates';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  routerFilter,
  type Json,
} from '../support/xds-json';
import { serverTls } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const backendCertificate = root.sign('backend', { names: ['DNS:backend.example'] });

const TYPE = 'type.googleapis.com/envoy.extensions.filters.http';
const authn = (cache_size = 10, name = 'authn'): Json => ({
  name,
  typed_config: {
    '@type': `${TYPE}.gcp_authn.v3.GcpAuthnFilterConfig`,
    cache_config: { cache_size },
  },
});
const audience = (url: string): Json => ({
  '@type': `${TYPE}.gcp_authn.v3.Audience`,
  url,
});
const metadataOf = (values: Json): Json => ({ metadata: { typed_filter_metadata: values } });

describe('calls to a cluster with an audience', () => {
  const mesh = useMesh();
  let plain: EchoBackend;
  let secured: EchoBackend;
  let server: MetadataServer;

  beforeAll(async () => {
    plain = await EchoBackend.start('plain');
    secured = await EchoBackend.start('secured', serverTls(backendCertificate));
  });
  beforeEach(async () => {
    server = await new MetadataServer().start();
    process.env['GCE_METADATA_HOST'] = server.address;
  });
  afterEach(() => {
    delete process.env['GCE_METADATA_HOST'];
    server.stop();
  });
  afterAll(() => {
    plain.stop();
    secured.stop();
    certificates.close();
  });

  const resources = (
    { port }: EchoBackend,
    cluster: Json = metadataOf({ authn: audience('a') }),
    filters = [authn()],
    routeExtra: Json = {},
  ): MeshResources => ({
    ...simpleResources([port], routeExtra),
    listeners: [
      listenerJson(SERVICE, `${SERVICE}-routes`, { http_filters: [...filters, routerFilter] }),
    ],
    clusters: [edsClusterJson('echo', cluster)],
  });

  const tls = () => credentials.createSsl(Buffer.from(root.certificate));
  const connect = (channelCredentials: ChannelCredentials = tls()) =>
    mesh.client(
      { 'grpc.ssl_target_name_override': 'backend.example' },
      undefined,
      channelCredentials,
    );

  /** The claims of the token that the last call came with; `undefined` if it had none. */
  function received({ metadata }: EchoBackend): unknown {
    const values = metadata.get('authorization');
    if (values.length === 0) return undefined;
    expect(values).toHaveLength(1);
    const [, payload = ''] = /^Bearer [^.]*\.([^.]*)\./.exec(String(values[0])) ?? [];
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  }

  it('carry the token for it, which is requested once', async () => {
    mesh.serve(resources(secured));
    const client = connect();
    await Promise.all([client.say(), client.say(), client.say()]);
    expect(received(secured)).toMatchObject({ aud: 'a', serial: 1 });
    expect(server.audiences).toEqual(['a']);
  });

  it('carry none without an audience', async () => {
    mesh.serve(resources(secured, {}));
    await connect().say();
    expect(received(secured)).toBeUndefined();
    expect(server.audiences).toEqual([]);
  });

  it.each([
    ['insecure credentials', () => credentials.createInsecure()],
    [
      'xDS credentials with an insecure fallback',
      () => createXdsChannelCredentials(credentials.createInsecure()),
    ],
  ])(
    'fail with %s, and neither is the token requested nor anything sent',
    async (_case, create) => {
      const before = plain.calls;
      mesh.serve(resources(plain));
      const { code, details } = await connect(create()).failure();
      expect(code).toBe(Status.UNAUTHENTICATED);
      expect(details).toContain('call credentials are not sent over an insecure connection');
      expect(plain.calls).toBe(before);
      expect(server.audiences).toEqual([]);
    },
  );

  it('end with their deadline while they wait for the token', async () => {
    server.answer = () => {};
    mesh.serve(resources(secured));
    const client = connect();
    // Earlier calls may wait for the configuration or the connection.
    await eventually(async () => {
      const { code } = await client.failure({ deadlineMs: 300 });
      expect(code).toBe(Status.DEADLINE_EXCEEDED);
      return server.audiences.length;
    }, 1);
    expect((await client.failure({ deadlineMs: 300 })).code).toBe(Status.DEADLINE_EXCEEDED);
    expect(server.audiences).toEqual(['a']);
  });

  // 1. A token is requested. 2. Listener, routes and cluster change. 3. The token is the same.
  it('keep the token over updates of listener, routes and clusters', async () => {
    mesh.serve(resources(secured));
    const client = connect();
    await client.say();
    const extra = { max_stream_duration: { max_stream_duration: '9s' } };
    const metadata = metadataOf({ authn: audience('a'), other: audience('b') });
    mesh.serve(resources(secured, metadata, [authn(5), authn(5, 'other')], extra));
    // The second filter works: the update has arrived. Two tokens are one too many for the host.
    const { details } = await eventually(
      () => client.failure().catch(() => ({ details: '' })),
      ({ details: text }) => text !== '',
    );
    expect(details).toBe('"authorization" metadata cannot have multiple values');
    mesh.serve(resources(secured, undefined, [authn(3)], extra));
    await eventually(() => client.say().catch(() => ''), 'secured');
    expect(received(secured)).toMatchObject({ aud: 'a', serial: 1 });
    expect(server.audiences).toEqual(['a', 'b']);
  });

  it('carry the token of the new audience after an update of the cluster', async () => {
    mesh.serve(resources(secured));
    const client = connect();
    await client.say();
    mesh.serve(resources(secured, metadataOf({ authn: audience('b') })));
    await eventually(
      async () => {
        await client.say();
        return received(secured);
      },
      (claims) => JSON.stringify(claims).includes('"aud":"b"'),
    );
  });

  describe('that is late in the first configuration', () => {
    // Where a resource that is not sent may still come: an incremental stream says that it does not exist.
    beforeEach(() => registerAnew({ bootstrap: bootstrapFor(mesh.address, []) }));

    const toLate = () => {
      const metadata = new Metadata();
      metadata.set('to', 'late');
      return metadata;
    };
    /** A route to the cluster `late` before that to `echo`. @param clusters Those that are sent. */
    const withLate = (clusters: readonly string[]): MeshResources => ({
      ...resources(secured),
      routes: [
        routeConfigJson(`${SERVICE}-routes`, [
          {
            match: { prefix: '', headers: [{ name: 'to', string_match: { exact: 'late' } }] },
            route: { cluster: 'late' },
          },
          routeToCluster('echo'),
        ]),
      ],
      clusters: clusters.map((name) =>
        edsClusterJson(name, metadataOf({ authn: audience(`for ${name}`) })),
      ),
      endpoints: clusters.map((name) =>
        endpointsJson(name, [{ zone: 'a', ports: [secured.port] }]),
      ),
    });

    it('wait for it, and carry its token', async () => {
      mesh.serve(withLate(['echo']));
      const client = connect();
      await client.say();
      const { code, details } = await client.failure({ deadlineMs: 300, metadata: toLate() });
      expect(code).toBe(Status.DEADLINE_EXCEEDED);
      expect(details).toMatch(
        /waiting for the configuration; Cluster "late": .*waiting for \d.* \(management server 127\.0\.0\.1:\d+ \(node "test-node"\)/,
      );
      const calls = [1, 2, 3].map(() => client.say({ metadata: toLate() }));
      mesh.serve(withLate(['echo', 'late']));
      expect(await Promise.all(calls)).toEqual(['secured', 'secured', 'secured']);
      expect(received(secured)).toMatchObject({ aud: 'for late' });
    });

    it('end when the channel is closed', async () => {
      mesh.serve(withLate(['echo']));
      const client = connect();
      await client.say();
      const failure = client.failure({ metadata: toLate() });
      await new Promise((resolve) => setImmediate(resolve));
      client.close();
      expect(await failure).toMatchObject({
        code: Status.UNAVAILABLE,
        details: expect.stringContaining('The channel was closed before the call was sent'),
      });
    });
  });

  it('carry it with every attempt', async () => {
    const retry_policy = {
      retry_on: 'unavailable',
      num_retries: 3,
      retry_back_off: { base_interval: '0.01s' },
    };
    mesh.serve(resources(secured, undefined, undefined, { retry_policy }));
    const before = secured.calls;
    secured.refusals = 2;
    await connect().say();
    expect(secured.calls).toBe(before + 3);
    expect(secured.metadata.get('grpc-previous-rpc-attempts')).toEqual(['2']);
    expect(received(secured)).toMatchObject({ aud: 'a', serial: 1 });
  });
});
