// Identity tokens of a scripted metadata server (gRFC A83).

import type { ServerResponse } from 'node:http';
import { Status, type CallCredentials } from '../../../src/grpc-js';
import { createGcpIdentityCredentials } from '../../../src/security/credentials/gcp-identity-token';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { MetadataServer, tokenOf } from '../../support/metadata-server';

const AUDIENCE = 'https://a.example/x?y=1&z=ä';

/** Answers that the connection has another protocol from now on. */
function switchProtocols({ socket }: ServerResponse): void {
  socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
}

describe('an identity token', () => {
  let server: MetadataServer;
  let clock: FakeClock;

  beforeEach(async () => {
    server = await new MetadataServer().start();
    clock = new FakeClock();
    answerWith(3600);
  });
  afterEach(() => server.stop());

  /** Answers with tokens that last so many seconds by the clock of the test. */
  function answerWith(seconds: number): void {
    server.answer = (aud, response) => {
      const exp = clock.now() / 1000 + seconds;
      response.end(tokenOf({ aud, exp, serial: server.audiences.length }));
    };
  }

  const create = (metadataHost = server.address, audience = AUDIENCE) =>
    createGcpIdentityCredentials(audience, { clock, random: () => 0.5, metadataHost });

  /** The headers that the credentials add. Rejects with the status of the call. */
  const headersOf = async (credentials: CallCredentials) => {
    const options = { method_name: '/test.Echo/Say', service_url: 'https://x' };
    return (await credentials.generateMetadata(options)).getMap();
  };
  const serialOf = async (credentials: CallCredentials) => {
    const { authorization } = await headersOf(credentials);
    const [, payload = ''] = String(authorization).split('.');
    return JSON.parse(Buffer.from(payload, 'base64url').toString()).serial;
  };
  const failureOf = async (credentials: CallCredentials) => {
    const error: unknown = await headersOf(credentials).catch((reason: unknown) => reason);
    return error instanceof Error && 'code' in error ? [error.code, error.message] : error;
  };
  const prefixed = (text: string) => `GCP metadata server ${server.address}: ${text}`;

  it('is requested for its audience, and sent as a bearer token', async () => {
    const { authorization } = await headersOf(create());
    const exp = clock.now() / 1000 + 3600;
    expect(authorization).toBe(`Bearer ${tokenOf({ aud: AUDIENCE, exp, serial: 1 })}`);
    expect(server.audiences).toEqual([AUDIENCE]);
  });

  it.each([
    [100, (response: ServerResponse) => response.writeContinue()],
    [101, (response: ServerResponse) => switchProtocols(response)],
    [102, (response: ServerResponse) => response.writeProcessing()],
    [103, (response: ServerResponse) => response.writeEarlyHints({ link: '</x>' })],
  ])('fails at once with an answer of HTTP status %i', async (status, answer) => {
    server.answer = (_audience, response) => answer(response);
    // The clock of the test stands still, so that no time limit is passed.
    const text = `HTTP status ${status}, which is not an answer: something else listens there, or a proxy is between`;
    expect(await failureOf(create())).toEqual([Status.UNAVAILABLE, prefixed(text)]);
  });

  it('is not taken from a server that is no metadata server', async () => {
    for (const flavor of [undefined, 'google', 'Other']) {
      server.answer = (aud, response) => {
        response.removeHeader('Metadata-Flavor');
        if (flavor !== undefined) response.setHeader('Metadata-Flavor', flavor);
        response.end(tokenOf({ aud, exp: clock.now() / 1000 + 3600 }));
      };
      expect(await failureOf(create())).toEqual([
        Status.UNAVAILABLE,
        prefixed(
          'the answer has no header Metadata-Flavor: Google, so it is not of a metadata server',
        ),
      ]);
    }
  });

  it('is requested once for all calls that wait, and not again while it is valid', async () => {
    const credentials = create();
    expect(await Promise.all([serialOf(credentials), serialOf(credentials)])).toEqual([1, 1]);
    clock.advance(3_500_000);
    expect(await serialOf(credentials)).toBe(1);
    expect(server.audiences).toHaveLength(1);
  });

  it('is replaced in the background in its last minute and a half', async () => {
    const credentials = create();
    await serialOf(credentials);
    clock.advance(3_511_000);
    expect(await serialOf(credentials)).toBe(1);
    await eventually(() => serialOf(credentials), 2);
    expect(server.audiences).toHaveLength(2);
  });

  it('is waited for when the last one has half a minute left', async () => {
    const credentials = create();
    await serialOf(credentials);
    clock.advance(3_570_000);
    expect(await serialOf(credentials)).toBe(2);
  });

  it.each([
    [429, Status.UNAVAILABLE],
    [502, Status.UNAVAILABLE],
    [503, Status.UNAVAILABLE],
    [504, Status.UNAVAILABLE],
    [302, Status.UNAUTHENTICATED],
    [400, Status.UNAUTHENTICATED],
    [403, Status.UNAUTHENTICATED],
    [404, Status.UNAUTHENTICATED],
    [500, Status.UNAUTHENTICATED],
    [204, Status.UNAUTHENTICATED],
  ])('fails calls after HTTP status %d with status %d, without the answer', async (http, code) => {
    server.answer = (_audience, response) => void response.writeHead(http).end();
    expect(await failureOf(create())).toEqual([code, prefixed(`HTTP status ${http}`)]);
  });

  it.each([
    ['nothing', '', 'not a JWT: not three parts in base64url'],
    ['text', 'secret text', 'not a JWT: not three parts in base64url'],
    ['a token with a line break', 'a.b\r\nx: y.c', 'not a JWT: not three parts in base64url'],
    ['a token without expiry', tokenOf({}), 'a JWT without the claim "exp"'],
  ])('fails calls with UNAUTHENTICATED if it is %s', async (_case, answer, reason) => {
    server.answer = (_audience, response) => void response.end(answer);
    expect(await failureOf(create())).toEqual([Status.UNAUTHENTICATED, prefixed(reason)]);
  });

  it('fails calls with UNAVAILABLE if the answer is too long, and reads no more of it', async () => {
    server.answer = (_audience, response) => {
      const chunk = Buffer.alloc(16_384, 'a');
      const write = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    };
    expect(await failureOf(create())).toEqual([
      Status.UNAVAILABLE,
      prefixed('the answer is longer than 65536 bytes'),
    ]);
    await eventually(() => server.connections, 0);
  });

  it.each([
    ['no answer', () => {}],
    [
      'half an answer',
      (_audience: string | null, response: { write(text: string): void }) => response.write('a'),
    ],
  ])('fails calls with UNAVAILABLE after 20 s with %s', async (_case, answer) => {
    server.answer = answer;
    const failure = failureOf(create());
    await eventually(() => server.audiences.length, 1);
    clock.advance(19_999);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    expect(await failure).toEqual([Status.UNAVAILABLE, prefixed('no answer within 20 s')]);
  });

  it('fails calls with UNAVAILABLE if the server cannot be reached, or resets the connection', async () => {
    server.answer = (_audience, response) => void response.destroy();
    expect(await failureOf(create())).toEqual([Status.UNAVAILABLE, prefixed('socket hang up')]);
    server.stop();
    expect(await failureOf(create())).toEqual([
      Status.UNAVAILABLE,
      prefixed(`connect ECONNREFUSED ${server.address}`),
    ]);
  });

  it('fails calls with UNAVAILABLE if the name of the server is none', async () => {
    expect(await failureOf(create('a b:x'))).toEqual([
      Status.UNAVAILABLE,
      'GCP metadata server a b:x: not a host and port',
    ]);
  });

  // 1. A failure. 2. Within a second, the same failure without a request. 3. Afterwards, a token.
  it('is requested again only after a backoff, for a call', async () => {
    server.answer = (_audience, response) => void response.writeHead(503).end();
    const credentials = create();
    const failure = [Status.UNAVAILABLE, prefixed('HTTP status 503')];
    expect(await failureOf(credentials)).toEqual(failure);
    clock.advance(999);
    expect(await failureOf(credentials)).toEqual(failure);
    expect(server.audiences).toHaveLength(1);
    answerWith(3600);
    clock.advance(1_000_000);
    expect(server.audiences).toHaveLength(1);
    expect(await serialOf(credentials)).toBe(2);
  });

  it('comes from a server at an IPv6 address, too', async () => {
    server.stop();
    server = await new MetadataServer().start('::1');
    answerWith(3600);
    expect(await serialOf(create())).toBe(1);
  });

  it('comes from the server that GCE_METADATA_HOST names', async () => {
    process.env['GCE_METADATA_HOST'] = server.address;
    try {
      const credentials = createGcpIdentityCredentials('x', { clock, random: () => 0.5 });
      expect(await serialOf(credentials)).toBe(1);
    } finally {
      delete process.env['GCE_METADATA_HOST'];
    }
  });
});
