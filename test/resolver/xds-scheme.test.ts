import { dataPlaneAuthority, parseTarget, parseTargetName } from '../../src/resolver/xds-scheme';

describe('parseTargetName', () => {
  it.each([
    ['xds:name', { scheme: 'xds', path: 'name' }, '', 'name'],
    ['xds:///name', { scheme: 'xds', authority: '', path: 'name' }, '', 'name'],
    ['xds:/name', { scheme: 'xds', path: '/name' }, '', 'name'],
    ['xds://auth/name', { scheme: 'xds', authority: 'auth', path: 'name' }, 'auth', 'name'],
    ['xds:///name:80', { scheme: 'xds', authority: '', path: 'name:80' }, '', 'name:80'],
    ['xds://name', { scheme: 'xds', path: '//name' }, 'name', ''],
    ['xds://name:80/', { scheme: 'xds', path: '//name:80/' }, 'name:80', ''],
    ['xds:////name', { scheme: 'xds', authority: '', path: '/name' }, '', '/name'],
    ['xds:///a/b', { scheme: 'xds', authority: '', path: 'a/b' }, '', 'a/b'],
  ])('takes %s apart', (_text, target, authority, path) => {
    expect(parseTargetName(target)).toEqual({ ok: true, value: { authority, path } });
  });
});

// What url.Parse of Go makes of them, and Endpoint() of a grpc-go target.
describe('parseTarget', () => {
  it.each([
    ['xds:///a%2Fb', '', 'a/b'],
    ['xds:///a%2fb', '', 'a/b'],
    ['xds:///a%20b', '', 'a b'],
    ['xds:///a b', '', 'a b'],
    ['xds:///a%25b', '', 'a%b'],
    ['xds:///a%252Fb', '', 'a%2Fb'],
    ['xds:///a%3Fb%23c', '', 'a?b#c'],
    ['xds:///%C3%A4', '', 'ä'],
    ['xds:///ä', '', 'ä'],
    ['xds:///a?x=1', '', 'a'],
    ['xds:///a??b', '', 'a'],
    ['xds:///a#f', '', 'a'],
    ['xds:///a#b?c', '', 'a'],
    ['xds:///a?b#c', '', 'a'],
    ['xds:///a?%zz', '', 'a'],
    ['xds:///?x', '', ''],
    ['xds:?x', '', ''],
    ['xds:///#f', '', ''],
    ['xds:////a', '', '/a'],
    ['xds:/a%2Fb?x', '', 'a/b'],
    ['xds:a%2Fb?x#y', '', 'a%2Fb'],
    ['xds:50%', '', '50%'],
    ['xds://auth/a%20b#?', 'auth', 'a b'],
    ['xds://auth?x/name', 'auth', ''],
    ['xds://auth#x/name', 'auth', ''],
    ['xds:///a:80?x', '', 'a:80'],
    ['xds:///[::1]:80', '', '[::1]:80'],
  ])('reads %s as grpc-go does', (text, authority, path) => {
    expect(parseTarget(text)).toEqual({ ok: true, value: { authority, path } });
  });

  it.each([
    ['xds:///a%zz', 'xds:///a%zz: invalid escape "%zz": write % itself as %25'],
    ['xds:///50%', 'xds:///50%: invalid escape "%": write % itself as %25'],
    ['xds://auth/%1', 'xds://auth/%1: invalid escape "%1": write % itself as %25'],
    ['xds:///%%41', 'xds:///%%41: invalid escape "%%4": write % itself as %25'],
    ['xds:///a%FFb', 'xds:///a%FFb: its name is not UTF-8 once its escapes are decoded'],
    ['dns:///a', 'not an xds: target: dns:///a; use xds:///<name>'],
    ['xds:', 'not an xds: target: xds:; use xds:///<name>'],
  ])('refuses %s', (text, error) => {
    expect(parseTarget(text)).toEqual({ ok: false, error });
  });
});

describe('dataPlaneAuthority', () => {
  it.each([
    ['name:80', 'name:80'],
    ['/name', 'name'],
    ['a/b', 'a%2Fb'],
    ['/a/b/', 'a%2Fb%2F'],
    ['[::1]:80', '[::1]:80'],
    ['a b', 'a%20b'],
    ['/a%2fb/c', 'a%2Fb%2Fc'],
    ['/a%252fb', 'a%252fb'],
    ['/a?b', 'a'],
    ['/a%3Fb', 'a%3Fb'],
    ['a%2fb/c', 'a%252fb%2Fc'],
    ['50%', '50%25'],
    ['\ud800', '%EF%BF%BD'],
    ['a\r\nb', 'a%0D%0Ab'],
  ])('of a target with the path %s is %s', (path, authority) => {
    expect(dataPlaneAuthority({ scheme: 'xds', path }, {})).toBe(authority);
  });

  it('is the channel option grpc.default_authority where it is set', () => {
    const target = { scheme: 'xds', authority: '', path: 'name' };
    expect(dataPlaneAuthority(target, { 'grpc.default_authority': 'other:1' })).toBe('other:1');
    expect(dataPlaneAuthority(target, { 'grpc.default_authority': '' })).toBe('name');
  });
});
