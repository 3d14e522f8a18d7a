import {
  decodeSessionHost,
  encodeSessionHost,
  findCookie,
  formatSetCookie,
  matchesCookiePath,
} from '../../../src/http-filters/stateful-session/cookie';
import { headersOf } from '../calls';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the path of a cookie', () => {
  it.each([
    ['/', '/a.B/C', true],
    ['/a.B/C', '/a.B/C', true],
    ['/a.B', '/a.B/C', true],
    ['/a.B/', '/a.B/C', true],
    ['/a', '/a.B/C', false],
    ['/a.B/', '/a.B', false],
    ['/a.B/C/', '/a.B/C', false],
    ['/A.B', '/a.B/C', false],
    ['a.B', '/a.B/C', false],
  ])('%s goes with %s: %s', (path, method, expected) => {
    expect(matchesCookiePath(method, path)).toBe(expected);
  });
});

describe('findCookie', () => {
  it.each<[string, string | readonly string[], string | undefined]>([
    ['alone', 'c=v', 'v'],
    ['among others', 'a=1; c=v; b=2', 'v'],
    ['in a later header', ['a=1', 'b=2;c=v'], 'v'],
    ['the first of two', ['c=v', 'c=w; c=x'], 'v'],
    ['in quotes', 'c="v"', 'v'],
    ['with padding', 'c=dg==', 'dg=='],
    ['with spaces around', ' c = v ', 'v'],
    ['that is empty', 'c=', ''],
    ['not one whose name begins with it', 'cc=v; xc=w', undefined],
    ['not one without a value', 'c; b=c', undefined],
    ['not one in other letters', 'C=v', undefined],
  ])('finds a cookie %s', (_case, cookie, expected) => {
    expect(findCookie(headersOf({ cookie }), 'c')).toBe(expected);
  });

  it('finds nothing in a call without cookies', () => {
    expect(findCookie(headersOf(), 'c')).toBeUndefined();
  });
});

describe('the value of a session cookie', () => {
  it.each([
    ['10.0.0.1:80;cluster:a', ['10.0.0.1:80'], 'cluster:a'],
    ['[::1]:80,10.0.0.1:80;cluster:a;b', ['[::1]:80', '10.0.0.1:80'], 'cluster:a;b'],
    ['10.0.0.1:80', ['10.0.0.1:80'], ''],
    ['10.0.0.1:80;', ['10.0.0.1:80'], ''],
  ])('%s names addresses and cluster', (text, addresses, cluster) => {
    expect(decodeSessionHost(base64(text))).toEqual({ addresses, cluster });
  });

  it('may have no padding', () => {
    const value = base64('10.0.0.1:80').replace(/=+$/, '');
    expect(decodeSessionHost(value)?.addresses).toEqual(['10.0.0.1:80']);
  });

  it.each([
    ['is empty', ''],
    ['is not base64', '10.0.0.1:80'],
    ['is not of bytes that are text', Buffer.of(0xff, 0xfe).toString('base64')],
    ['names no port', base64('10.0.0.1')],
    ['names a host', base64('localhost:80;cluster:a')],
    ['names one address too few', base64('10.0.0.1:80,;cluster:a')],
    ['has an IPv6 address without brackets', base64('::1:80')],
  ])('is not taken when it %s', (_case, value) => {
    expect(decodeSessionHost(value)).toBeUndefined();
  });

  it('decodes to the encoded host', () => {
    const host = { addresses: ['[fe80::1]:443', '10.0.0.1:443'], cluster: 'cluster:a' };
    expect(decodeSessionHost(encodeSessionHost(host))).toEqual(host);
  });
});

describe('formatSetCookie', () => {
  it.each([
    [0, 'c=v; Path=/p; HttpOnly'],
    [1500, 'c=v; Path=/p; Max-Age=2; HttpOnly'],
    [120_000, 'c=v; Path=/p; Max-Age=120; HttpOnly'],
  ])('writes a lifetime of %d ms', (ttlMs, expected) => {
    expect(formatSetCookie({ name: 'c', path: '/p', ttlMs }, 'v')).toBe(expected);
  });
});
