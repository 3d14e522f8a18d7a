import { dataPlaneAuthority, parseTargetName } from '../../src/resolver/xds-scheme';

describe('parseTargetName', () => {
  it.each([
    ['xds:name', { scheme: 'xds', path: 'name' }, '', 'name'],
    ['xds:///name', { scheme: 'xds', authority: '', path: 'name' }, '', 'name'],
    ['xds:/name', { scheme: 'xds', path: '/name' }, '', 'name'],
    ['xds://auth/name', { scheme: 'xds', authority: 'auth', path: 'name' }, 'auth', 'name'],
    ['xds:///name:80', { scheme: 'xds', authority: '', path: 'name:80' }, '', 'name:80'],
    ['xds://name', { scheme: 'xds', path: '//name' }, 'name', ''],
    ['xds://name:80/', { scheme: 'xds', path: '//name:80/' }, 'name:80', ''],
    ['xds:////name', { scheme: 'xds', authority: '', path: '/name' }, '', 'name'],
    ['xds:///a/b', { scheme: 'xds', authority: '', path: 'a/b' }, '', 'a/b'],
  ])('takes %s apart', (_text, target, authority, path) => {
    expect(parseTargetName(target)).toEqual({ authority, path });
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
    ['a%2fb/c', 'a%2fb%2Fc'],
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
