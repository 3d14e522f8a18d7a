import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { status, type ServiceError } from '@grpc/grpc-js';
import type { Mesh } from '../support/mesh';
import { SERVICE, simpleResources, useMesh } from '../support/mesh';
import { listenerJson, routerFilter } from '../support/xds-json';
import { listen } from '../support/listen';

// A backend that answers as it likes, and a good one in its place: the headers and trailers that are read of a response.

const TYPE = 'type.googleapis.com';
const SESSION = 'envoy.extensions.filters.http.stateful_session.v3.StatefulSession';
const COOKIE = 'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState';

/** Sends the response of one call. */
type Answer = (stream: http2.ServerHttp2Stream) => void;

const OK = { ':status': 200, 'content-type': 'application/grpc' };
/** Node.js sends a header of some 60 KB, and any number of them. */
const UNLIMITED = { maxSendHeaderBlockLength: 2 ** 24 };

/** Answers with these trailers, after a message. */
const trailers =
  (headers: http2.OutgoingHttpHeaders): Answer =>
  (stream) => {
    stream.respond(OK, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', ...headers }));
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, 2), Buffer.from('ok')]));
  };

/** Answers with nothing but these headers. */
const only =
  (headers: http2.OutgoingHttpHeaders): Answer =>
  (stream) =>
    stream.respond({ ...OK, 'grpc-status': '0', ...headers }, { endStream: true });

/** Answers with a message that has the flag of compression, and these headers. */
const compressed =
  (headers: http2.OutgoingHttpHeaders): Answer =>
  (stream) => {
    stream.respond({ ...OK, ...headers });
    stream.end(Buffer.concat([Buffer.of(1, 0, 0, 0, 4), Buffer.from('nope')]));
  };

const many = (count: number, value: (i: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, value(i)]));

describe('a backend', () => {
  const mesh = useMesh();
  let server: http2.Http2Server;
  let answer: Answer;

  beforeEach(async () => {
    server = http2.createServer(UNLIMITED);
    server.on('stream', (stream) => {
      stream.on('error', () => {});
      answer(stream);
    });
    await listen(server);
    const retryPolicy = {
      retry_policy: { retry_on: 'unavailable', num_retries: 3 },
    };
    const { port } = server.address() as AddressInfo;
    const state = { '@type': `${TYPE}/${COOKIE}`, cookie: { name: 'session' } };
    const typed_config = {
      '@type': `${TYPE}/${SESSION}`,
      session_state: { name: 'cookie', typed_config: state },
    };
    mesh.serve({
      ...simpleResources([port], retryPolicy),
      listeners: [
        listenerJson(SERVICE, undefined, {
          http_filters: [{ name: 'session', typed_config }, routerFilter],
        }),
      ],
    });
  });
  afterEach(() => {
    server.close();
  });

  const call = async (client: ReturnType<Mesh['client']>): Promise<number> =>
    client.say().then(
      () => status.OK,
      ({ code }: ServiceError) => code,
    );

  it.each<[string, Answer]>([
    ['10,000 cookies', trailers({ 'set-cookie': Array<string>(10_000).fill('session=x') })],
    ['headers with 10,000 cookies', only({ 'set-cookie': Array<string>(10_000).fill('a=b') })],
    ['a cookie of 60 KB', only({ 'set-cookie': `session=${'A'.repeat(60_000)}` })],
    ['5,000 keys', trailers(many(5000, String))],
    ['100 keys of 600 bytes', trailers(many(100, () => 'x'.repeat(600)))],
    ['a load report of 60 KB', trailers({ 'endpoint-load-metrics-bin': 'QgA'.repeat(20_000) })],
    ['a load report of 48 KB', trailers({ 'endpoint-load-metrics-bin': 'QgA'.repeat(2 ** 14) })],
    ['a load report of commas', trailers({ 'endpoint-load-metrics-bin': ','.repeat(50_000) })],
    ['a status that is no number', trailers({ 'grpc-status': 'NaN' })],
    ['a status of 1e308', trailers({ 'grpc-status': '1e308' })],
    ['a negative status', trailers({ 'grpc-status': '-7' })],
    [
      '60 KB of percent signs',
      trailers({ 'grpc-status': '13', 'grpc-message': '%'.repeat(60_000) }),
    ],
    ['60 KB of no UTF-8', trailers({ 'grpc-status': '13', 'grpc-message': '%ff'.repeat(20_000) })],
    [
      'a pushback that is no number',
      only({ 'grpc-status': '14', 'grpc-retry-pushback-ms': 'soon' }),
    ],
    ['a huge pushback', only({ 'grpc-status': '14', 'grpc-retry-pushback-ms': '9'.repeat(30) })],
    ['a negative pushback', only({ 'grpc-status': '14', 'grpc-retry-pushback-ms': '-1e9' })],
    ['no response', (stream) => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)],
    [
      'no trailers',
      (stream) => {
        stream.respond(OK);
        stream.end();
      },
    ],
  ])('that sends %s ends its call only, and the next one is good', async (_case, bad) => {
    const client = mesh.client();
    answer = trailers({});
    expect(await call(client)).toBe(status.OK);
    let attempts = 0;
    answer = (stream) => {
      attempts++;
      bad(stream);
    };
    await call(client);
    expect(attempts).toBeLessThanOrEqual(5);
    answer = trailers({});
    expect(await call(client)).toBe(status.OK);
  });

  it.each([
    ['no grpc-encoding', {}],
    ['an unknown grpc-encoding', { 'grpc-encoding': 'br' }],
    ['an empty grpc-encoding', { 'grpc-encoding': '' }],
    ['grpc-encoding: identity', { 'grpc-encoding': 'identity' }],
    ['grpc-encoding: gzip', { 'grpc-encoding': 'gzip' }],
    ['grpc-encoding: deflate', { 'grpc-encoding': 'deflate' }],
  ])(
    'that sends a compressed message with %s ends its call with INTERNAL',
    async (_case, with_) => {
      const client = mesh.client();
      answer = compressed(with_);
      await expect(client.say()).rejects.toMatchObject({
        code: status.INTERNAL,
        details: expect.stringContaining('compress'),
      });
      answer = trailers({});
      expect(await call(client)).toBe(status.OK);
    },
  );

  it.each([
    '-1',
    '-1e9',
    'soon',
    '',
    '1e3',
    '12 h',
    '0x10',
    '+5',
    'NaN',
    '2147483648',
    '1099511627776',
    '9'.repeat(30),
  ])('that puts a retry off by %p ms is not called again (gRFC A6)', async (pushback) => {
    const client = mesh.client();
    let attempts = 0;
    answer = (stream) => {
      attempts++;
      only({ 'grpc-status': '14', 'grpc-retry-pushback-ms': pushback })(stream);
    };
    expect(await call(client)).toBe(status.UNAVAILABLE);
    expect(attempts).toBe(1);
  });

  it.each(['0', '7', '0012'])(
    'that puts a retry off by %s ms is called again',
    async (pushback) => {
      const client = mesh.client();
      let attempts = 0;
      answer = (stream) => {
        attempts++;
        only({ 'grpc-status': '14', 'grpc-retry-pushback-ms': pushback })(stream);
      };
      await call(client);
      expect(attempts).toBe(4);
    },
  );
});
