import { constants, type ServerHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { simpleResources, useMesh } from '../support/mesh';
import { endWith, RawBackend } from '../support/raw-backend';

// What the status of a call says whose stream or connection ends without a status of its server.

const ATTEMPTS_OPTION = 'grpc-node.retry_max_attempts_limit';
const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;

describe('the status of a call', () => {
  const mesh = useMesh();
  let backend: RawBackend;
  let onStream: (stream: ServerHttp2Stream) => void;
  let port: number;

  beforeEach(async () => {
    backend = new RawBackend((stream) => onStream(stream));
    port = await backend.listen();
  });
  afterEach(() => {
    backend.close();
  });

  const serve = (retryPolicy?: object) =>
    mesh.serve(simpleResources([port], retryPolicy && { retry_policy: retryPolicy }));

  it.each([
    [
      'a refused stream',
      (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
      /^Stream refused by server: Cluster ".*": 127\.0\.0\.1:\d+, 2 times since TIME: it shuts down \(GOAWAY\) or limits/,
    ],
    [
      'a stream that is reset',
      (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
      /^Bandwidth exhausted or memory limit exceeded: Cluster ".*": 127\.0\.0\.1:\d+: it limits pings/,
    ],
    [
      'another protocol',
      (stream: ServerHttp2Stream) => stream.respond({ ':status': 502 }, { endStream: true }),
      /^Received HTTP status code 502: Cluster ".*": 127\.0\.0\.1:\d+: this is not the answer of a gRPC server/,
    ],
    [
      'a connection that is closed',
      (stream: ServerHttp2Stream) => stream.session?.destroy(),
      /^Connection dropped: Cluster ".*": 127\.0\.0\.1:\d+(?:, \d times since TIME)?: the connection ended/,
    ],
  ])('names endpoint, cluster and server after %s', async (_name, answer, expected) => {
    onStream = answer;
    serve();
    const { details } = await mesh.client().failure();
    const pattern = expected.source.replaceAll('TIME', TIME);
    expect(details).toMatch(new RegExp(pattern));
    expect(details).toMatch(/; configured by management server .* \(node "test-node"\)$/);
  });

  it('counts calls by endpoint, though each has a connection of its own', async () => {
    onStream = (stream) => stream.session?.destroy();
    serve();
    const client = mesh.client();
    await client.failure();
    await client.failure();
    expect((await client.failure()).details).toMatch(
      new RegExp(
        String.raw`^Connection dropped: Cluster ".*": 127\.0\.0\.1:\d+, \d+ times since ${TIME}: `,
      ),
    );
  });

  it('is that of the server where the server sends one', async () => {
    onStream = (stream) => endWith(stream, status.UNAVAILABLE, 'Stream refused by server');
    serve();
    expect((await mesh.client().failure()).details).toBe('Stream refused by server');
  });

  it('has the attempts when retries are exhausted', async () => {
    onStream = (stream) => endWith(stream, status.UNAVAILABLE, 'overloaded');
    serve({
      retry_on: 'unavailable',
      num_retries: 2,
      retry_back_off: { base_interval: '0.001s' },
    });
    expect((await mesh.client().failure()).details).toMatch(
      new RegExp(
        `^overloaded; 3 attempts, at most 3 by the retry_policy of the route: Cluster ".*": 127.0.0.1:${port} \\(3 times\\); configured by `,
      ),
    );
  });

  it.each([
    ['at most 5 times by default', {}, 5, 'by the channel option'],
    ['as often as the channel allows', { [ATTEMPTS_OPTION]: 8 }, 8, 'by the channel option'],
    ['as often as the route says', { [ATTEMPTS_OPTION]: 12 }, 11, 'by the retry_policy'],
    ['less often, if the channel says so', { [ATTEMPTS_OPTION]: 3 }, 3, 'by the channel option'],
  ])('is tried %s', async (_what, options, attempts, by) => {
    let count = 0;
    onStream = (stream) => {
      count++;
      endWith(stream, status.UNAVAILABLE, 'overloaded');
    };
    serve({
      retry_on: 'unavailable',
      num_retries: 10,
      retry_back_off: { base_interval: '0.001s' },
    });
    const { details } = await mesh.client(options).failure();
    expect(details).toContain(`overloaded; ${attempts} attempts, at most ${attempts} ${by}`);
    expect(count).toBe(attempts);
  });

  // gRFC A6: response headers commit a call to its attempt.
  it.each([
    ['retries a call that ended before its response headers', false, 3],
    ['does not retry a call that ended after them', true, 1],
  ])('%s', async (_name, hasHeaders, attempts) => {
    let count = 0;
    onStream = (stream) => {
      count++;
      if (hasHeaders) stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      stream.on('error', () => {}).destroy(new Error('it breaks'));
    };
    serve({
      retry_on: 'internal',
      num_retries: 2,
      retry_back_off: { base_interval: '0.001s' },
    });
    const { code, details } = await mesh.client().failure();
    expect(code).toBe(status.INTERNAL);
    expect(details).toMatch(/^Received RST_STREAM with code 2 .*: Cluster ".*": 127\.0\.0\.1:\d+/);
    expect(count).toBe(attempts);
  });

  it('says for how long a connection is silent', async () => {
    onStream = () => {};
    serve();
    const client = mesh.client();
    const first = await client.failure({ deadlineMs: 500 });
    expect(first.details).toContain(`127.0.0.1:${port} has not answered the call: see its log`);
    const second = await client.failure({ deadlineMs: 2500 });
    expect(second.details).toMatch(
      /, and the connection has received no byte for \d\.\d s: see its log, and whether/,
    );
  });
});
