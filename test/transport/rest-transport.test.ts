import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerOptions } from 'node:https';
import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../src/bootstrap/limits';
import { CredentialsRegistry } from '../../src/security/credentials/credentials-registry';
import {
  ManagementCredentials,
  builtInChannelCredentials,
} from '../../src/security/credentials/management-credentials';
import { Listener } from '../../src/wire/generated/envoy/config/listener/v3/listener';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { CallCredentials, Metadata } from '../../src/grpc-js';
import { createRestTransport } from '../../src/transport/rest/rest-transport';
import { systemClock } from '../../src/util/clock';
import { ok } from '../../src/util/result';
import type { StreamStatus, XdsStream, XdsStreamHandler } from '../../src/xds-client/transport';
import { eventually } from '../support/eventually';
import { RestServer, type RestAnswer, type RestRequest } from '../support/rest-server';
import { listenerJson, type Json } from '../support/xds-json';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const TOKEN = 'opaque/0123456789abcdef';
const LISTENERS = '/v3/discovery:listeners';
const CHECK_URI = 'check server_uri, and proxies before the server';
const certificate = (name: string) =>
  join(__dirname, '..', 'security', 'credentials', 'certificates', name);

const listeners = (version: string, ...names: string[]): Json => ({
  version_info: version,
  resources: names.map((name) => ({ '@type': LISTENER, ...listenerJson(name) })),
});

/** The client's end of a stream. */
class Recorder implements XdsStreamHandler {
  readonly responses: DiscoveryResponse[] = [];
  readonly closed: StreamStatus[] = [];
  sent = 0;

  onSent(): void {
    this.sent++;
  }

  onMessage(bytes: Uint8Array): void {
    this.responses.push(DiscoveryResponse.decode(bytes));
  }

  onClosed(status: StreamStatus): void {
    this.closed.push(status);
  }

  get versions(): string[] {
    return this.responses.map(({ versionInfo }) => versionInfo);
  }

  get names(): string[] {
    const all = this.responses.flatMap(({ resources }) => resources);
    return all.map(({ value }) => Listener.decode(value).name);
  }
}

describe('a transport over HTTP', () => {
  const cleanups: (() => void)[] = [];

  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  });

  async function serve(
    answer: (request: RestRequest) => RestAnswer,
    tls?: ServerOptions,
  ): Promise<RestServer> {
    const server = await RestServer.start(answer, tls);
    cleanups.push(() => server.stop());
    return server;
  }

  const bearer = {
    type: 'test_token',
    parse: () => () =>
      ok(
        CallCredentials.createFromMetadataGenerator((_call, callback) => {
          const metadata = new Metadata();
          metadata.set('authorization', `Bearer ${TOKEN}`);
          callback(null, metadata);
        }),
      ),
  };

  function create(
    serverUri: string,
    extra: Partial<ServerConfig> = {},
    limits: Pick<Limits, 'maxMessageBytes'> = DEFAULT_LIMITS,
  ) {
    return createRestTransport(
      {
        serverUri,
        channelCreds: { type: 'tls', config: undefined },
        callCreds: [],
        key: '',
        features: new Set(),
        fetch: { refreshDelayMs: 20, requestTimeoutMs: 20_000, ignoreUnknownFields: false },
        ...extra,
      },
      {
        clock: systemClock,
        random: () => 0.5,
        credentials: new ManagementCredentials({
          channel: new CredentialsRegistry('channel', builtInChannelCredentials()),
          call: new CredentialsRegistry('call', [bearer]),
        }),
        limits,
      },
    );
  }

  function open(
    serverUri: string,
    extra: Partial<ServerConfig> = {},
    method = METHOD,
    limits: Pick<Limits, 'maxMessageBytes'> = DEFAULT_LIMITS,
  ) {
    const transport = create(serverUri, extra, limits);
    if (!transport.ok) throw new Error(transport.error);
    cleanups.push(() => transport.value.close());
    const recorder = new Recorder();
    const stream = transport.value.openStream(method, recorder);
    return { recorder, stream, transport: transport.value };
  }

  function ask(stream: XdsStream, request: Partial<DiscoveryRequest>): void {
    const empty = DiscoveryRequest.fromPartial({ typeUrl: LISTENER, resourceNames: ['a'] });
    stream.send(DiscoveryRequest.encode({ ...empty, ...request }).finish());
  }

  const untilResponses = ({ responses }: Recorder, count: number) =>
    eventually(
      () => responses.length,
      (length) => length >= count,
    );

  const untilClosed = async ({ closed }: Recorder): Promise<StreamStatus | undefined> => {
    await eventually(
      () => closed.length,
      (length) => length > 0,
    );
    return closed[0];
  };

  const untilAsked = (server: RestServer, count: number) =>
    eventually(
      () => server.requests.length,
      (length) => length >= count,
    );

  it('posts each type at its path and passes on the response', async () => {
    const server = await serve(({ path }) =>
      path === LISTENERS ? { body: listeners('1', 'a') } : { body: { version_info: '2' } },
    );
    const { stream, recorder } = open(`${server.uri}/`);
    const node = DiscoveryRequest.fromPartial({ node: { id: 'me' } }).node;
    ask(stream, { node });
    await eventually(
      () => recorder.sent,
      (sent) => sent === 1,
    );
    ask(stream, { typeUrl: CLUSTER, resourceNames: ['c', 'd'] });
    stream.read();
    stream.read();
    await untilResponses(recorder, 2);
    expect(recorder.responses).toMatchObject([
      { versionInfo: '1', typeUrl: LISTENER, nonce: '1' },
      { versionInfo: '2', typeUrl: CLUSTER, nonce: '1', resources: [] },
    ]);
    expect(recorder.names).toEqual(['a']);
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v3/discovery:listeners',
      headers: { 'content-type': 'application/json' },
      body: { node: { id: 'me' }, type_url: LISTENER, resource_names: ['a'] },
    });
    // Each request stands for itself.
    expect(server.bodies('/v3/discovery:clusters')[0]).toEqual({
      node: { id: 'me' },
      type_url: CLUSTER,
      resource_names: ['c', 'd'],
    });
    expect(recorder.sent).toBe(2);
  });

  it('says what it has, and takes the answer that there is nothing else', async () => {
    let version = '1';
    const server = await serve(({ headers, body }) => {
      if (headers['if-none-match'] === `"${version}"` && body['version_info'] === version) {
        return { status: 304 };
      }
      return { headers: { etag: `"${version}"` }, body: listeners(version, 'a') };
    });
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    ask(stream, { versionInfo: '1', responseNonce: '1' });
    stream.read();
    await untilAsked(server, 5);
    expect(recorder.versions).toEqual(['1']);
    version = '2';
    await untilResponses(recorder, 2);
    expect(recorder.versions).toEqual(['1', '2']);
  });

  it('does not mind a server that sends the same over and over', async () => {
    const server = await serve(() => ({ body: listeners('1', 'a') }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    stream.read();
    ask(stream, {});
    await untilAsked(server, 5);
    expect(recorder.versions).toEqual(['1']);
  });

  it('requests new names at once, without a version', async () => {
    const server = await serve(({ headers, body }) =>
      headers['if-none-match'] !== undefined || body['version_info'] !== undefined
        ? { status: 304 }
        : { headers: { etag: '"x"' }, body: listeners('1', ...names(body)) },
    );
    const never = { refreshDelayMs: 3_600_000, requestTimeoutMs: 20_000 };
    const { stream, recorder } = open(server.uri, {
      fetch: { ...never, ignoreUnknownFields: false },
    });
    stream.read();
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    ask(stream, { versionInfo: '1', resourceNames: ['a', 'b'] });
    await untilResponses(recorder, 2);
    expect(recorder.names).toEqual(['a', 'a', 'b']);
  });

  it('requests names that are added while a request is in flight after its response', async () => {
    const server = await serve(({ body }) => ({ body: listeners('1', ...names(body)) }));
    const { stream, recorder } = open(server.uri);
    ask(stream, { resourceNames: ['a'] });
    ask(stream, { resourceNames: ['a', 'b'] });
    stream.read();
    stream.read();
    await untilResponses(recorder, 2);
    expect(recorder.names).toEqual(['a', 'a', 'b']);
  });

  it('sends the rejection of a response', async () => {
    const server = await serve(() => ({ body: { ...listeners('bad', 'a'), nonce: 'n7' } }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    ask(stream, {
      responseNonce: 'n7',
      errorDetail: { code: 3, message: 'no routes', details: [] },
    });
    await eventually(
      () => server.bodies(LISTENERS).at(-1),
      (body) => body?.['error_detail'] !== undefined,
    );
    expect(server.bodies(LISTENERS).at(-1)).toMatchObject({
      response_nonce: 'n7',
      error_detail: { code: 3, message: 'no routes' },
    });
  });

  it('sends the rejection of a response when another request follows it', async () => {
    const server = await serve(() => ({ body: { ...listeners('bad', 'a'), nonce: 'n7' } }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    const errorDetail = { code: 3, message: 'no routes', details: [] };
    ask(stream, { responseNonce: 'n7', errorDetail });
    ask(stream, { responseNonce: 'n7', resourceNames: ['a', 'b'] });
    const isRejection = (body: Json) => body['error_detail'] !== undefined;
    await eventually(
      () => server.bodies(LISTENERS).filter(isRejection).length,
      (count) => count > 0,
    );
    expect(server.bodies(LISTENERS).find(isRejection)).toMatchObject({
      resource_names: ['a', 'b'],
      error_detail: { code: 3, message: 'no routes' },
    });
  });

  it('does not repeat what was wrong with an answer once there is another one', async () => {
    let version = 'bad';
    const server = await serve(() => ({ body: { ...listeners(version, 'a'), nonce: 'same' } }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    const errorDetail = { code: 3, message: 'no routes', details: [] };
    ask(stream, { responseNonce: 'same', errorDetail });
    version = 'good';
    stream.read();
    await untilResponses(recorder, 2);
    ask(stream, { responseNonce: 'same', versionInfo: 'good' });
    await eventually(
      () => server.bodies(LISTENERS).at(-1),
      (body) => body?.['version_info'] === 'good',
    );
    expect(server.bodies(LISTENERS).at(-1)).not.toHaveProperty('error_detail');
  });

  it('sends no request of a type before the last response has been read', async () => {
    let version = 0;
    const server = await serve(() => ({ body: listeners(String(++version), 'a') }));
    const { stream, recorder } = open(server.uri);
    ask(stream, {});
    ask(stream, { typeUrl: CLUSTER, resourceNames: [] });
    await eventually(
      () => recorder.sent,
      (sent) => sent > 0,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([server.requests.length, recorder.responses.length]).toEqual([1, 0]);
    stream.read();
    await untilAsked(server, 2);
    expect(recorder.versions).toEqual(['1']);
  });

  it('sends no request when there are no names or the stream is closed', async () => {
    const server = await serve(() => ({ body: listeners('1', 'a') }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    ask(stream, { resourceNames: [] });
    const asked = server.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.requests.length).toBeLessThanOrEqual(asked + 1);
    stream.close();
    ask(stream, { resourceNames: ['b'] });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests.length).toBeLessThanOrEqual(asked + 1);
    expect(recorder.closed).toEqual([]);
  });

  it('skips what is not known, as it would in bytes', async () => {
    const listener = listenerJson('a', 'r', { brand_new_field: { deep: 1 } });
    const server = await serve(() => ({
      body: { version_info: '1', resources: [{ '@type': LISTENER, ...listener, newer: [1] }] },
    }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    expect(recorder.names).toEqual(['a']);
  });

  it('reads JSON that the server calls HTML, or encoded by identity', async () => {
    const headers = { 'content-type': 'text/html', 'content-encoding': 'identity' };
    const server = await serve(() => ({ headers, body: listeners('1', 'a') }));
    const { stream, recorder } = open(server.uri);
    stream.read();
    ask(stream, {});
    await untilResponses(recorder, 1);
    expect(recorder.names).toEqual(['a']);
  });

  describe('ends the stream', () => {
    it.each<[string, RestAnswer, StreamStatus]>([
      [
        'refuses',
        { status: 503, body: 'come\nback later' },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 503: come back later`,
        },
      ],
      [
        'does not know the client',
        { status: 401 },
        { code: 16, details: `${LISTENERS} was answered with HTTP status 401` },
      ],
      [
        'does not know the path',
        { status: 404 },
        { code: 12, details: `${LISTENERS} was answered with HTTP status 404` },
      ],
      [
        'redirects',
        {
          status: 307,
          headers: { location: 'https://me:secret@login.test/a\u00e9b?token=secret#secret' },
        },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 307, a redirect to "https://login.test/a\u00e9b". Redirects are not followed: ${CHECK_URI}`,
        },
      ],
      [
        'redirects to a path',
        { status: 302, headers: { location: '/v3' }, body: '<html>' },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 302, a redirect to "/v3". Redirects are not followed: ${CHECK_URI}`,
        },
      ],
      [
        'redirects to a place with a long name',
        { status: 301, headers: { location: `//a@b/${'x'.repeat(10_000)}` } },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 301, a redirect to "//b/${'x'.repeat(252)}…". Redirects are not followed: ${CHECK_URI}`,
        },
      ],
      [
        'redirects to nowhere',
        { status: 300 },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 300, a redirect. Redirects are not followed: ${CHECK_URI}`,
        },
      ],
      ...['content-encoding', 'transfer-encoding'].map(
        (name): [string, RestAnswer, StreamStatus] => [
          `compresses, and says so in ${name}`,
          { headers: { [name]: 'gzip', connection: 'close' }, body: '{}' },
          {
            code: 14,
            details: `${LISTENERS} was answered with HTTP status 200 and a body in the encoding "gzip", which is not decoded: turn off compression at the server, and at proxies before it`,
          },
        ],
      ),
      [
        'compresses an error',
        { status: 503, headers: { 'content-encoding': 'identity, br' }, body: 'x' },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 503: a body in "br"`,
        },
      ],
      [
        'sends the page of an error',
        { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad\nGateway</h1>' },
        {
          code: 14,
          details: `${LISTENERS} was answered with HTTP status 502 and an HTML page, as a web server or a proxy sends (<h1>Bad Gateway</h1>): ${CHECK_URI}`,
        },
      ],
      [
        'sends a page',
        { headers: { 'content-type': 'Text/HTML; charset=utf-8' }, body: '<html>Log in' },
        {
          code: 14,
          details: `the answer to ${LISTENERS} is an HTML page, as a web server or a proxy sends (<html>Log in): ${CHECK_URI}`,
        },
      ],
      [
        'sends something that is not JSON',
        { body: '<html>' },
        {
          code: 13,
          details: `the answer to ${LISTENERS} cannot be read: not JSON: line 1, column 1: expected a value`,
        },
      ],
      [
        'sends something that is no response',
        { body: { resources: [{ '@type': LISTENER, name: 7 }] } },
        {
          code: 13,
          details: expect.stringContaining(
            `the answer to ${LISTENERS} cannot be read: resources[0]`,
          ),
        },
      ],
    ])('when the server %s', async (_what, answer, expected) => {
      const server = await serve(() => answer);
      const { stream, recorder } = open(server.uri);
      stream.read();
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject(expected);
    });

    it('when nothing listens at the address', async () => {
      const server = await serve(() => undefined);
      server.stop();
      const { stream, recorder } = open(server.uri);
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject({
        code: 14,
        details: expect.stringContaining('ECONNREFUSED'),
      });
      expect(recorder.sent).toBe(0);
    });

    it('when no answer comes in time', async () => {
      const server = await serve(() => undefined);
      const { stream, recorder } = open(server.uri, {
        fetch: { refreshDelayMs: 10, requestTimeoutMs: 50, ignoreUnknownFields: false },
      });
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject({
        code: 14,
        details: 'no answer within 0.05 s',
      });
    });

    it.each<[string, RestAnswer]>([
      ['with its length', { headers: { 'content-length': '70000' }, body: ' '.repeat(70_000) }],
      [
        'without its length',
        { headers: { 'transfer-encoding': 'chunked' }, body: ' '.repeat(70_000) },
      ],
    ])('when an answer %s is larger than maxMessageBytes', async (_, answer) => {
      const server = await serve(() => answer);
      const { stream, recorder } = open(server.uri, {}, METHOD, { maxMessageBytes: 65_536 });
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject({
        code: 8,
        details: 'an answer of more than 65536 bytes (maxMessageBytes)',
      });
    });

    it('when the method is none of this variant', async () => {
      const server = await serve(() => undefined);
      const delta = METHOD.replace('Stream', 'Delta');
      const { recorder } = open(server.uri, {}, delta);
      expect(await untilClosed(recorder)).toMatchObject({
        code: 12,
        details: `${delta} is not served over HTTP`,
      });
    });
  });

  it('closes its streams without a word', async () => {
    const server = await serve(() => undefined);
    const { stream, recorder, transport } = open(server.uri);
    ask(stream, {});
    await untilAsked(server, 1);
    transport.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(recorder).toMatchObject({ sent: 0, responses: [], closed: [] });
  });

  describe('with TLS', () => {
    const read = (name: string) => readFileSync(certificate(name));
    const serveTls = (extra: ServerOptions = {}) =>
      serve(() => ({ body: listeners('1', 'a') }), {
        cert: read('server.pem'),
        key: read('server.key'),
        ...extra,
      });
    const tls = (config: object) => ({ channelCreds: { type: 'tls', config } });
    const trusted = { ca_certificate_file: certificate('ca.pem') };

    it('trusts the authority of the bootstrap, and sends call credentials', async () => {
      const server = await serveTls();
      const { stream, recorder } = open(server.uri, {
        ...tls(trusted),
        callCreds: [{ type: 'test_token', config: undefined }],
      });
      stream.read();
      ask(stream, {});
      await untilResponses(recorder, 1);
      expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    });

    it('neither repeats the token that a server echoes nor control characters', async () => {
      const server = await serve(
        ({ headers }) => ({ status: 401, body: `\u0007${headers.authorization}: ${TOKEN}` }),
        { cert: read('server.pem'), key: read('server.key') },
      );
      const { stream, recorder } = open(server.uri, {
        ...tls(trusted),
        callCreds: [{ type: 'test_token', config: undefined }],
      });
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject({
        code: 16,
        details: `${LISTENERS} was answered with HTTP status 401: \\x07Bearer [redacted]: [redacted]`,
      });
    });

    it('trusts no other certificate', async () => {
      const server = await serveTls();
      const { stream, recorder } = open(server.uri, tls({}));
      ask(stream, {});
      expect(await untilClosed(recorder)).toMatchObject({
        code: 14,
        details: expect.stringMatching(/certificate/i),
      });
    });

    it('shows its own certificate', async () => {
      const server = await serveTls({
        ca: read('ca.pem'),
        requestCert: true,
        rejectUnauthorized: true,
      });
      const { stream, recorder } = open(
        server.uri,
        tls({
          ...trusted,
          certificate_file: certificate('client.pem'),
          private_key_file: certificate('client.key'),
        }),
      );
      stream.read();
      ask(stream, {});
      await untilResponses(recorder, 1);
    });

    it('is not made of credentials that have no certificates, or with files that are not there', () => {
      expect(create('https://a', { channelCreds: { type: 'google_default', config: {} } })).toEqual(
        {
          ok: false,
          error: 'channel credentials of type "google_default": cannot be used for HTTPS',
        },
      );
      expect(create('https://a', tls({ spiffe_trust_bundle_map_file: '/map.json' }))).toEqual({
        ok: false,
        error:
          'channel credentials of type "tls": spiffe_trust_bundle_map_file: cannot be used for HTTPS',
      });
      expect(create('https://a', tls({ ca_certificate_file: '/nowhere' }))).toMatchObject({
        ok: false,
        error: expect.stringContaining('ca_certificate_file /nowhere cannot be read'),
      });
    });
  });

  it('sends no call credentials without TLS', () => {
    const callCreds = [{ type: 'test_token', config: undefined }];
    expect(create('http://a', { callCreds })).toEqual({
      ok: false,
      error: 'call credentials are not sent over http:, only over https:',
    });
  });
});

function names(body: Json): string[] {
  const list: unknown = body['resource_names'];
  return Array.isArray(list) ? list.map(String) : [];
}
