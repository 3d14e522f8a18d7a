import { findHostCopies, findPeer } from '../../src/grpc-js/host-copies';

const ownPath = '/app/node_modules/@grpc/grpc-js/build/src/index.js';
const experimental = {};
const own = { exports: { experimental } };

describe('findHostCopies', () => {
  it('finds only the own copy in an ordinary process', () => {
    const modules = { [ownPath]: own, '/app/node_modules/grpc-xds/dist/index.js': { exports: {} } };
    expect(findHostCopies(modules, experimental)).toEqual({ ownPath, others: [] });
  });

  it.each([
    ['on POSIX', '/app/node_modules/nest/node_modules/@grpc/grpc-js/build/src/index.js'],
    ['on Windows', 'C:\\app\\node_modules\\@grpc\\grpc-js\\build\\src\\index.js'],
  ])('finds a copy with another experimental namespace %s', (_name, path) => {
    const exports = { experimental: {} };
    const modules = { [ownPath]: own, [path]: { exports } };
    expect(findHostCopies(modules, experimental)).toEqual({ ownPath, others: [{ path, exports }] });
  });

  it('finds a copy outside the bundle that the own copy is part of', () => {
    const modules = { [ownPath]: { exports: { experimental: {} } } };
    expect(findHostCopies(modules, experimental)).toMatchObject({
      ownPath: undefined,
      others: [{ path: ownPath }],
    });
  });

  it.each([
    ['no exports', undefined],
    ['exports without the namespace, as while it is being loaded', {}],
  ])('finds a copy that has %s', (_name, exports) => {
    const { others } = findHostCopies({ [ownPath]: { exports } }, experimental);
    expect(others).toEqual([{ path: ownPath, exports }]);
  });

  it('ignores the peer and entries without a module', () => {
    const peer = '/app/node_modules/@grpc/grpc-js-xds/build/src/index.js';
    expect(findHostCopies({ [peer]: { exports: {} } }, experimental).others).toEqual([]);
    expect(findPeer({ [ownPath]: own, [peer]: { exports: {} } })).toBe(peer);
    expect(findPeer({ [ownPath]: own })).toBeUndefined();
  });
});
