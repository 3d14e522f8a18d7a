import {
  decodeSessionHost,
  encodeSessionHost,
  findCookie,
  formatSetCookie,
  matchesCookiePath,
  MAX_VALUE_LENGTH,
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
    ['that is one quote', 'c="', '"'],
    ['with padding', 'c=dg==', 'dg=='],
    ['with spaces around', ' c = v ', 'v'],
    ['that is empty', 'c=', ''],
    ['not one whose name begins with it', 'cc=v; xc=w', undefined],
    ['not one without a value', 'c; b=c', undefined],
    ['not one in other letters', 'C=v', undefined],
  ])('finds a cookie %s', (_case, cookie, expected) => {
    expect(findCookie(headersOf({ cookie }), 'c')).toBe(expected);
  });

  it.each<[string, readonly string[], string | undefined]>([
    ['a megabyte of separators in front', [';'.repeat(2 ** 20), 'c=v'], 'v'],
    ['ten thousand of the name', Array<string>(10_000).fill('c=v'), 'v'],
    ['ten thousand empty headers', [...Array<string>(10_000).fill(''), 'c=v'], 'v'],
  ])('searches headers with %s', (_case, cookie, expected) => {
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
    ['has an IPv6 zone', base64('[fe80::1%eth0]:80')],
    ['has a port of six digits', base64('10.0.0.1:100000')],
    ['has a megabyte of addresses', base64('10.0.0.1:80,'.repeat(90_000).slice(0, -1))],
    ['is a megabyte of base64 of zeros', Buffer.alloc(2 ** 20).toString('base64')],
  ])('is not taken when it %s', (_case, value) => {
    expect(decodeSessionHost(value)).toBeUndefined();
  });

  it('decodes to the encoded host', () => {
    const host = { addresses: ['[fe80::1]:443', '10.0.0.1:443'], cluster: 'cluster:a' };
    expect(decodeSessionHost(encodeSessionHost(host) ?? '')).toEqual(host);
  });
});

describe('a session cookie of an endpoint with many addresses', () => {
  const addresses = Array.from({ length: 10_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}:80`);

  it('has the first of them, in the length that browsers keep', () => {
    const value = encodeSessionHost({ addresses, cluster: 'cluster:a' });
    expect(value?.length).toBeLessThanOrEqual(MAX_VALUE_LENGTH);
    expect(value?.length).toBeGreaterThan(MAX_VALUE_LENGTH - 40);
    const decoded = decodeSessionHost(value ?? '');
    expect(decoded?.addresses).toEqual(addresses.slice(0, decoded?.addresses.length));
    expect(decoded?.cluster).toBe('cluster:a');
  });

  it('does not exist if the cluster leaves no room for one address', () => {
    expect(encodeSessionHost({ addresses, cluster: 'c'.repeat(8192) })).toBeUndefined();
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
