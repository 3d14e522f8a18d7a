import { parseTargetName } from '../../src/resolver/target-name';

describe('parseTargetName', () => {
  it.each([
    ['xds:name', { scheme: 'xds', path: 'name' }, '', 'name'],
    ['xds:///name', { scheme: 'xds', authority: '', path: 'name' }, '', 'name'],
    ['xds:/name', { scheme: 'xds', path: '/name' }, '', 'name'],
    ['xds://auth/name', { scheme: 'xds', authority: 'auth', path: 'name' }, 'auth', 'name'],
    ['xds:///name:80', { scheme: 'xds', authority: '', path: 'name:80' }, '', 'name:80'],
    ['xds:///a/b', { scheme: 'xds', authority: '', path: 'a/b' }, '', 'a/b'],
  ])('takes %s apart', (_text, target, authority, path) => {
    expect(parseTargetName(target)).toEqual({ authority, path });
  });
});
