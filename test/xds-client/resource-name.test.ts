import { parseOpaqueName, parseResourceName } from '../../src/xds-client/resource-name';

const TYPE_URL = 'type.googleapis.com/a.b.C';

describe('parseResourceName', () => {
  it.each([
    ['plain', undefined, 'plain'],
    ['', undefined, ''],
    ['xdstp', undefined, 'xdstp'],
    ['http://x/y?b=1&a=2', undefined, 'http://x/y?b=1&a=2'],
    ['xdstp://auth/a.b.C/id', 'auth', 'xdstp://auth/a.b.C/id'],
    ['xdstp:///a.b.C/id', '', 'xdstp:///a.b.C/id'],
    ['xdstp://auth:1/a.b.C/dir/sub/*', 'auth:1', 'xdstp://auth:1/a.b.C/dir/sub/*'],
    ['xdstp://auth/a.b.C/id?b=2&a=1', 'auth', 'xdstp://auth/a.b.C/id?a=1&b=2'],
    ['xdstp://auth/a.b.C/id?a=1&a=2', 'auth', 'xdstp://auth/a.b.C/id?a=2'],
    ['xdstp://auth/a.b.C/id?a=', 'auth', 'xdstp://auth/a.b.C/id?a='],
    ['xdstp://auth/a.b.C/id?a=b=c', 'auth', 'xdstp://auth/a.b.C/id?a=b=c'],
    ['xdstp://auth/a.b.C/id?__proto__=1&a=2', 'auth', 'xdstp://auth/a.b.C/id?__proto__=1&a=2'],
    ['xdstp://auth/a.b.C/id?', 'auth', 'xdstp://auth/a.b.C/id'],
    ['xdstp://auth/a.b.C/id?a=1#alt=x', 'auth', 'xdstp://auth/a.b.C/id?a=1'],
    ['xdstp://auth/a.b.C/id#?a=1', 'auth', 'xdstp://auth/a.b.C/id'],
    ['xdstp://auth/a.b.C/a%2Fb%20c', 'auth', 'xdstp://auth/a.b.C/a%2Fb%20c'],
    ['xdstp://auth/a.b.C/%c3%bc%2f', 'auth', 'xdstp://auth/a.b.C/%C3%BC%2F'],
    ['xdstp://auth/%61.b.C/%41%7e%2D', 'auth', 'xdstp://auth/a.b.C/A~-'],
    ['xdstp://auth/a.b.C/100%', 'auth', 'xdstp://auth/a.b.C/100%'],
    ['xdstp://auth/a.b.C/%zz%4', 'auth', 'xdstp://auth/a.b.C/%zz%4'],
    ['xdstp://auth/a.b.C/id?%62=%7e&a=%3d', 'auth', 'xdstp://auth/a.b.C/id?a=%3D&b=~'],
    ['xdstp://auth/a.b.C/id?a=1&%61=2', 'auth', 'xdstp://auth/a.b.C/id?a=2'],
    ['xdstp://%61%20%c3%bc/a.b.C/id', 'a ü', 'xdstp://a%20%C3%BC/a.b.C/id'],
    ['xdstp://%ff/a.b.C/id', '%FF', 'xdstp://%FF/a.b.C/id'],
  ])('reads %p', (name, authority, canonical) => {
    expect(parseResourceName(name, TYPE_URL)).toEqual({
      ok: true,
      value: { authority, canonical },
    });
  });

  it.each([
    ['xdstp:', 'not of the form xdstp://authority/type/id'],
    ['xdstp:a.b.C/id', 'not of the form xdstp://authority/type/id'],
    ['xdstp://auth', 'not of the form xdstp://authority/type/id'],
    ['xdstp://auth/a.b.C', 'not of the form xdstp://authority/type/id'],
    ['xdstp://auth/a.b.C/', 'not of the form xdstp://authority/type/id'],
    ['xdstp://auth//id', 'not of the form xdstp://authority/type/id'],
    ['xdstp://auth/a.b.D/id', 'its type is "a.b.D", expected "a.b.C"'],
    ['xdstp://auth/a.b.C/id?a', 'its context parameter "a" is not of the form key=value'],
    ['xdstp://auth/a.b.C/id?=1', 'its context parameter "=1" is not of the form key=value'],
    ['xdstp://auth/a.b.C/id?a=1&', 'its context parameter "" is not of the form key=value'],
  ])('refuses %p', (name, error) => {
    expect(parseResourceName(name, TYPE_URL)).toEqual({ ok: false, error });
  });

  it('takes a type URL without a prefix as it is', () => {
    expect(parseResourceName('xdstp://auth/a.b.C/id', 'a.b.C').ok).toBe(true);
  });
});

describe('parseOpaqueName', () => {
  it.each(['plain', '', 'xdstp://auth/a.b.C/id?b=2&a=1#x', 'xdstp:', 'xdstp://auth/a.b.D/%c3'])(
    'leaves %p as it is',
    (name) => {
      expect(parseOpaqueName(name)).toEqual({
        ok: true,
        value: { authority: undefined, canonical: name },
      });
    },
  );

  it('refuses a name of more than 8,192 characters, as parseResourceName does', () => {
    const name = `xdstp://auth/a.b.C/${'x'.repeat(8192)}`;
    expect(parseOpaqueName(name)).toEqual({ ok: false, error: 'longer than 8192 characters' });
    expect(parseResourceName(name, TYPE_URL)).toEqual(parseOpaqueName(name));
  });
});
