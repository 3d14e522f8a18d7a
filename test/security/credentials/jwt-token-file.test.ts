import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CachedToken,
  createJwtTokenFile,
  TokenError,
} from '../../../src/security/credentials/cached-token';
import { readJwtExpiry } from '../../../src/util/jwt-expiry';
import type { Result } from '../../../src/util/result';
import { FakeClock } from '../../support/fake-clock';

const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64url');
const tokenOf = (claims: unknown) => `${base64({ alg: 'none' })}.${base64(claims)}.c2ln`;

const NO_OBJECT = 'not a JWT: the second part is not a JSON object';

describe('the expiry of a JWT', () => {
  it('is the claim "exp", in seconds', () => {
    expect(readJwtExpiry(tokenOf({ exp: 1_700_000_000.5, iat: 1 }))).toEqual({
      ok: true,
      value: 1_700_000_000_500,
    });
  });

  it.each([
    ['', 'not a JWT: not three parts in base64url'],
    ['abc', 'not a JWT: not three parts in base64url'],
    [`${base64({})}.${base64({ exp: 1 })}`, 'not a JWT: not three parts in base64url'],
    ['a.b c.d', 'not a JWT: not three parts in base64url'],
    ['a.%%.d', 'not a JWT: not three parts in base64url'],
    ['a.bm8.d', 'not a JWT: the second part is not a JSON object'],
    [tokenOf(7), 'not a JWT: the second part is not a JSON object'],
    [tokenOf(null), 'not a JWT: the second part is not a JSON object'],
    [tokenOf({}), 'a JWT without the claim "exp"'],
    [tokenOf({ exp: '1700000000' }), 'a JWT without the claim "exp"'],
    [tokenOf({ exp: null }), 'a JWT without the claim "exp"'],
    [tokenOf({ exp: [[1]] }), 'a JWT without the claim "exp"'],
    [tokenOf({ exp: { valueOf: 1 } }), 'a JWT without the claim "exp"'],
    [tokenOf({ exp: -1e300 }).replace('c2ln', 'a\nb'), 'not a JWT: not three parts in base64url'],
    ['a.b\r\nx-y: z.c', 'not a JWT: not three parts in base64url'],
    [`a.${Buffer.from('['.repeat(40_000)).toString('base64url')}.c`, NO_OBJECT],
    [`a.${Buffer.from('{"a":'.repeat(9000)).toString('base64url')}.c`, NO_OBJECT],
    ['a.'.repeat(500_000), 'longer than 65536 bytes'],
    [tokenOf({ exp: 1, a: 'x'.repeat(65_536) }), 'longer than 65536 bytes'],
    [tokenOf({ exp: 1e308 }), 'a JWT whose claim "exp" is not a time'],
  ])('is missing in %j', (token, error) => {
    expect(readJwtExpiry(token)).toEqual({ ok: false, error });
  });
});

describe('a token in a file', () => {
  let clock: FakeClock;
  let content: string | Error;
  /** Readings that have not been answered. */
  let pending: (() => void)[];
  let reads = 0;

  beforeEach(() => {
    clock = new FakeClock();
    pending = [];
    reads = 0;
  });

  const create = () =>
    new CachedToken(
      {
        description: 'jwt_token_file /token',
        fetch(callback) {
          reads++;
          pending.push(() => {
            if (typeof content === 'string') callback({ ok: true, value: content });
            else callback({ ok: false, error: new TokenError(14, content.message) });
          });
        },
      },
      { clock, random: () => 0.5 },
    );

  const answer = () => {
    for (const task of pending.splice(0)) task();
  };

  /** A token that has so many seconds to live. */
  const lasting = (seconds: number) => tokenOf({ exp: clock.now() / 1000 + seconds });

  /** The current result of `get`; `undefined` while a read is pending. */
  function ask(file: CachedToken) {
    const told: { result?: Result<string, TokenError> } = {};
    file.get((result) => {
      told.result = result;
    });
    return told;
  }

  const got = (text: string) => ({ result: { ok: true, value: text } });
  const failed = (code: number, message: string) => ({
    result: { ok: false, error: expect.objectContaining({ code, message }) as TokenError },
  });

  it('is read once for all pending callbacks, without surrounding space', () => {
    const file = create();
    expect(reads).toBe(0);
    const [first, second] = [ask(file), ask(file)];
    expect([first, second]).toEqual([{}, {}]);
    content = `\n${lasting(3600)}\n`;
    answer();
    expect([first, second, reads]).toEqual([got(content.trim()), got(content.trim()), 1]);
    expect(ask(file)).toEqual(first);
    expect(reads).toBe(1);
  });

  it('is read again in the background a minute and a half before it expires', () => {
    const file = create();
    const first = lasting(3600);
    content = first;
    ask(file);
    answer();
    clock.advance(3_509_000);
    expect([ask(file), reads]).toEqual([got(first), 1]);
    clock.advance(2000);
    const second = lasting(3600);
    content = second;
    expect([ask(file), ask(file), reads]).toEqual([got(first), got(first), 2]);
    answer();
    expect([ask(file), reads]).toEqual([got(second), 2]);
  });

  it('is read before use when the last one has half a minute left', () => {
    const file = create();
    content = lasting(3600);
    ask(file);
    answer();
    clock.advance(3_571_000);
    const next = ask(file);
    expect(next).toEqual({});
    content = lasting(3600);
    answer();
    expect(next).toEqual(got(content));
  });

  it('is used while it is valid even if the file cannot be read ahead of time', () => {
    const file = create();
    const token = lasting(3600);
    content = token;
    ask(file);
    answer();
    clock.advance(3_520_000);
    content = new Error('EACCES');
    ask(file);
    answer();
    expect([ask(file), reads]).toEqual([got(token), 2]);
    clock.advance(1500);
    expect([ask(file), reads]).toEqual([got(token), 3]);
  });

  it('is UNAVAILABLE if the file cannot be read', () => {
    const file = create();
    content = new Error("ENOENT: no such file or directory, open '/token'");
    const told = ask(file);
    answer();
    expect(told).toEqual(
      failed(14, "jwt_token_file /token: ENOENT: no such file or directory, open '/token'"),
    );
  });

  it('is UNAUTHENTICATED if the file has other content', () => {
    const file = create();
    content = 'secret';
    const told = ask(file);
    answer();
    expect(told).toEqual(
      failed(16, 'jwt_token_file /token: not a JWT: not three parts in base64url'),
    );
  });

  it('is UNAUTHENTICATED when it has expired', () => {
    const file = create();
    content = lasting(-1);
    const told = ask(file);
    answer();
    expect(told).toEqual(
      failed(16, 'jwt_token_file /token: the token has expired: 2023-11-14T22:13:19.000Z'),
    );
  });

  it.each([10, 45, 80])('is read at most once a second when it has %d s left', (seconds) => {
    const file = create();
    content = lasting(seconds);
    const told = ask(file);
    answer();
    expect(told).toEqual(got(content));
    for (let i = 0; i < 1000; i++) expect(ask(file)).toEqual(got(content));
    clock.advance(999);
    expect([ask(file), reads]).toEqual([got(content), 1]);
    clock.advance(1);
    ask(file);
    answer();
    expect(reads).toBe(2);
    for (let i = 0; i < 10_000; i++) {
      content = lasting(seconds);
      ask(file);
      answer();
      clock.advance(0.1);
    }
    expect(reads).toBeLessThan(5);
  });

  it('is read again only after a backoff, and only on request', () => {
    const file = create();
    content = new Error('gone');
    const failure = failed(14, 'jwt_token_file /token: gone');
    ask(file);
    answer();
    clock.advance(900);
    expect([ask(file), reads]).toEqual([failure, 1]);
    clock.advance(100);
    expect([ask(file), reads]).toEqual([{}, 2]);
    answer();
    clock.advance(1500);
    expect([ask(file), reads]).toEqual([failure, 2]);
    clock.advance(1_000_000);
    expect(reads).toBe(2);
    content = lasting(3600);
    const told = ask(file);
    answer();
    expect(told).toEqual(got(content));
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a token in a file of the file system', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What is known of the token when the attempt to read it has ended, which waits for nothing. */
  function read(path: string) {
    const told: Result<string, TokenError>[] = [];
    const file = createJwtTokenFile(path, { clock: new FakeClock(), random: () => 0.5 });
    file.get((result) => told.push(result));
    return told;
  }

  it('is read', () => {
    const path = join(folder, 'token');
    const token = tokenOf({ exp: new FakeClock().now() / 1000 + 3600 });
    writeFileSync(path, `${token}\n`);
    expect(read(path)).toEqual([{ ok: true, value: token }]);
  });

  // Opened in the usual way, a FIFO without a writer occupies a thread of the process for ever, and its read never ends.
  it('is UNAVAILABLE from a FIFO, a device or a file of more than 64 KiB, without blocking', () => {
    const fifo = join(folder, 'fifo');
    const large = join(folder, 'large');
    execFileSync('mkfifo', [fifo]);
    writeFileSync(large, Buffer.alloc(1024 * 1024 + 1));
    const failed = (message: string) => [
      { ok: false, error: expect.objectContaining({ code: 14, message }) as TokenError },
    ];
    expect(read(fifo)).toEqual(failed(`jwt_token_file ${fifo}: a FIFO, not a regular file`));
    expect(read('/dev/zero')).toEqual(
      failed('jwt_token_file /dev/zero: a device, not a regular file'),
    );
    expect(read(large)).toEqual(failed(`jwt_token_file ${large}: 1048577 bytes, more than 65536`));
  });
});
