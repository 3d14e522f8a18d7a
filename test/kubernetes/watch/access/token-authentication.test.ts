import { TokenAuthentication } from '../../../../packages/kubernetes/src/access/token-authentication';
import { FakeClock } from '../../../support/fake-clock';
import { acceptedAs, ReviewingApi, tokenOf } from './reviewing-api';

const WEB = 'system:serviceaccount:shop:web';
const web = {
  ok: true,
  value: { namespace: 'shop', name: 'web', expiresAtMs: expect.any(Number) },
};

describe('the authentication of tokens by the API server', () => {
  let api: ReviewingApi;
  let clock: FakeClock;
  let lines: string[];
  let tokens: TokenAuthentication;

  beforeEach(() => {
    api = new ReviewingApi();
    clock = new FakeClock();
    lines = [];
    const write = (text: () => string) => void lines.push(text());
    const logger = { trace() {}, info: write, error: write };
    tokens = new TokenAuthentication({ api, audience: 'xds', clock, logger });
  });

  /** A token that expires in so many seconds. */
  const lasting = (seconds: number, signature?: string) =>
    tokenOf({ aud: ['xds', 'other'], exp: clock.now() / 1000 + seconds }, signature);
  const distinct = (count: number) =>
    Array.from({ length: count }, (_, i) => lasting(3600, `sig${i}`));

  it('reviews a token once, and remembers the service account', async () => {
    const token = lasting(3600);
    const both = [tokens.authenticate(token, '10.0.0.1'), tokens.authenticate(token, '10.0.0.2')];
    expect(api.requests).toEqual([
      {
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token, audiences: ['xds'] },
        },
      },
    ]);
    api.answer(acceptedAs(WEB));
    expect(await Promise.all(both)).toEqual([web, web]);
    expect(await tokens.authenticate(token, '10.0.0.3')).toEqual(web);
    expect(await both[0]).toMatchObject({ value: { expiresAtMs: clock.now() + 3_600_000 } });
    expect(tokens.counts).toEqual({ reviews: 1, accepted: 3, refused: 0, failed: 0 });
  });

  it('reviews a token again after ten minutes, and refuses one that is not accepted any more', async () => {
    const token = lasting(3600);
    const first = tokens.authenticate(token, 'a');
    api.answer(acceptedAs(WEB));
    await first;
    clock.advance(600_000);
    const second = tokens.authenticate(token, 'a');
    api.answer({ authenticated: false });
    expect(await second).toMatchObject({ error: { code: 16 } });
    expect(await tokens.authenticate(token, 'a')).toMatchObject({ error: { code: 16 } });
    expect(tokens.counts.reviews).toBe(2);
  });

  it('accepts a known token until it expires while the API server is away', async () => {
    const token = lasting(1200);
    const first = tokens.authenticate(token, 'a');
    api.answer(acceptedAs(WEB));
    await first;
    clock.advance(600_000);
    const away = tokens.authenticate(token, 'a');
    api.fail(undefined, 'connect ECONNREFUSED');
    expect(await away).toEqual(web);
    const unknown = tokens.authenticate(lasting(600, 'new'), 'a');
    api.fail(undefined, 'connect ECONNREFUSED');
    const error = { code: 14, details: 'the bearer token cannot be reviewed now: try again later' };
    expect(await unknown).toEqual({ ok: false, error });
    clock.advance(600_000);
    expect(await tokens.authenticate(token, 'a')).toMatchObject({ error: { code: 16 } });
    expect(lines).toEqual([
      'kubernetes: tokens of clients cannot be reviewed: connect ECONNREFUSED; those that were accepted before are, until they expire; others are refused until it works again',
    ]);
  });

  it('says once which rule the ClusterRole lacks, and when reviews work again', async () => {
    for (const token of distinct(2)) {
      const refused = tokens.authenticate(token, 'a');
      api.fail(403, 'HTTP status 403: forbidden');
      expect(await refused).toMatchObject({ error: { code: 14 } });
    }
    const accepted = tokens.authenticate(lasting(3600, 'x'), 'a');
    api.answer(acceptedAs(WEB));
    expect(await accepted).toEqual(web);
    expect(lines).toEqual([
      'kubernetes: tokens of clients cannot be reviewed: HTTP status 403: forbidden; bind the ClusterRole system:auth-delegator to the service account of this process, or add the rule {apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"]} to its ClusterRole',
      'kubernetes: tokens of clients are reviewed again',
    ]);
  });

  it('gives up a review after five seconds', async () => {
    const waiting = tokens.authenticate(lasting(3600), 'a');
    clock.advance(5000);
    expect(await waiting).toMatchObject({ error: { code: 14 } });
    expect(api.pendingCount).toBe(0);
    expect(lines[0]).toContain('no answer within 5 s');
  });

  const expired = 'the bearer token has expired: read its file again, which the kubelet renews';
  const noJwt = 'the bearer token is no JWT: send a projected service account token';
  const noExpiry = 'the bearer token does not expire: send a projected service account token';
  const elsewhere = (own: string) =>
    `the bearer token is for ${own}: project one with the audience "xds"`;
  const long = tokenOf({ aud: ['xds'], exp: 9e9 }, 'x'.repeat(16_384));
  const tooLong = `the bearer token has ${long.length} characters, more than 16384: send a projected service account token`;
  it.each<[string, string | ((nowSeconds: number) => string), string]>([
    [
      'of another audience',
      (now) => tokenOf({ aud: 'b', exp: now + 9 }),
      elsewhere('the audience "b"'),
    ],
    ['of no audience', (now) => tokenOf({ exp: now + 9 }), elsewhere('no audience')],
    ['of no texts', (now) => tokenOf({ aud: [1, {}], exp: now + 9 }), elsewhere('no audience')],
    ['that has expired', (now) => tokenOf({ aud: ['xds'], exp: now }), expired],
    ['that does not expire', tokenOf({ aud: ['xds'] }), noExpiry],
    ['whose expiry is a text', tokenOf({ aud: ['xds'], exp: '9999999999' }), noExpiry],
    ['that is no JWT', 'abc', noJwt],
    ['without a signature', tokenOf({ aud: ['xds'], exp: 9e9 }, ''), noJwt],
    ['that is no object', tokenOf([]), noJwt],
    ['of deep claims', `a.${Buffer.from('['.repeat(5000)).toString('base64url')}.c`, noJwt],
    ['that is long', long, tooLong],
  ])('refuses a token %s without a review', async (_kind, token, details) => {
    const text = typeof token === 'string' ? token : token(clock.now() / 1000);
    expect(await tokens.authenticate(text, 'a')).toEqual({
      ok: false,
      error: { code: 16, details },
    });
    expect(api.requests).toEqual([]);
  });

  it.each<[string, object, string]>([
    [
      'refuses',
      { authenticated: false, error: 'bad' },
      'the API server does not accept the bearer token',
    ],
    ['says nothing of', {}, 'the API server does not accept the bearer token'],
    [
      'says it by a text of',
      { authenticated: 'true' },
      'the API server does not accept the bearer token',
    ],
    [
      'knows no audience of',
      { authenticated: true, user: { username: WEB } },
      'the API server has not checked the audience of the bearer token',
    ],
    [
      'has checked another audience of',
      acceptedAs(WEB, ['other']),
      'the API server has not checked the audience of the bearer token',
    ],
    ['knows a user by', acceptedAs('jane'), 'the bearer token is not that of a service account'],
    [
      'knows no name by',
      acceptedAs('system:serviceaccount:a:b:c'),
      'the bearer token is not that of a service account',
    ],
  ])('refuses a token if the API server %s it', async (_kind, status, details) => {
    const result = tokens.authenticate(lasting(3600), 'a');
    api.answer(status);
    expect(await result).toEqual({ ok: false, error: { code: 16, details } });
  });

  it('remembers a refused token for ten seconds', async () => {
    const token = lasting(3600);
    const first = tokens.authenticate(token, 'a');
    api.answer({ authenticated: false });
    const refused = await first;
    expect(await tokens.authenticate(token, 'a')).toEqual(refused);
    clock.advance(10_000);
    const later = tokens.authenticate(token, 'a');
    expect(api.pendingCount).toBe(1);
    api.answer(acceptedAs(WEB));
    expect(await later).toEqual(web);
  });

  it('lets bad tokens of an address neither reach the API server nor delay others', async () => {
    const bad = distinct(1000);
    for (let second = 0; second < 10; second++) {
      const results = bad.map((token, i) =>
        tokens.authenticate(`${token}${second}x${i}`, '10.0.0.66'),
      );
      const goodToken = lasting(3600, `good${second}`);
      const good = tokens.authenticate(goodToken, `10.0.0.${second}`);
      const judge = (token: string) =>
        token === goodToken ? acceptedAs(WEB) : { authenticated: false };
      // Those that were sent before it, and then it.
      api.answer(judge);
      api.answer(judge);
      expect(await good).toEqual(web);
      expect(api.pendingCount).toBe(0);
      expect((await Promise.all(results)).some(({ ok }) => ok)).toBe(false);
      clock.advance(1000);
    }
    // Ten at once, one a second with those that are in progress then, and the good ones.
    expect(tokens.counts.reviews).toBeLessThanOrEqual(10 + 20 + 10);
  });

  it('serves a known token at an address whose other tokens are refused', async () => {
    const known = lasting(3600);
    const first = tokens.authenticate(known, 'a');
    api.answer(acceptedAs(WEB));
    await first;
    const bad = distinct(30).map((token) => tokens.authenticate(token, 'a'));
    while (api.pendingCount > 0) api.answer({ authenticated: false });
    await Promise.all(bad);
    const details = 'too many tokens from this address were refused: try again later';
    const next = await tokens.authenticate(lasting(3600, 'n'), 'a');
    expect(next).toEqual({ ok: false, error: { code: 14, details } });
    expect(await tokens.authenticate(known, 'a')).toEqual(web);
    clock.advance(600_000);
    const again = tokens.authenticate(known, 'a');
    api.answer(acceptedAs(WEB));
    expect(await again).toEqual(web);
  });
});
