import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseListenAddress } from '../../packages/relay/src/listen-address';
import { makeForeign } from '../support/foreign-socket';
import { ClaimedPath } from '../../packages/relay/src/claimed-path';
import { leaveSocket } from './leave-socket';

const claim = (path: string) => ClaimedPath.claim(path);

describe('the path of a socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'path-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(() => jest.restoreAllMocks());

  it('is freed of the socket of a process that was killed', async () => {
    const path = join(folder, 'stale');
    leaveSocket(path);
    const claimed = await claim(path);
    expect(claimed.isOurs()).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await expect(claim(path)).rejects.toThrow(`${path}: another process listens on it`);
    claimed.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps the socket of another user', async () => {
    const path = join(folder, 'foreign');
    leaveSocket(path);
    const users = makeForeign(path);
    await expect(claim(path)).rejects.toThrow(`${path}: the socket belongs to the user ${users}`);
    expect(existsSync(path)).toBe(true);
  });

  it('is not longer than a socket may be', async () => {
    const path = join(folder, 'x'.repeat(100));
    await expect(claim(path)).rejects.toThrow('bytes, and that of a socket at most');
  });
});

it.each([
  ['unix:/run/x', { path: '/run/x' }],
  ['unix:///run/x', { path: '/run/x' }],
  ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
  ['127.9.0.1:1', { host: '127.9.0.1', port: 1 }],
  ['[::1]:18000', { host: '::1', port: 18000 }],
  ['localhost:18000', { host: 'localhost', port: 18000 }],
  ['10.0.0.1:18000', undefined],
  ['127.x:18000', undefined],
  ['[::]:18000', undefined],
  ['127.0.0.1', undefined],
  ['', undefined],
])('reads where a relay listens: %j', (text, expected) => {
  expect(parseListenAddress(text)).toEqual(expected);
});
