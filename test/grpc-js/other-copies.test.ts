import { findCollisions } from '../../src/grpc-js/other-copies';

const ours = '/app/node_modules/@grpc/grpc-js/build/src/index.js';

describe('packages that get in the way', () => {
  it('are none in an ordinary process', () => {
    const loaded = [ours, '/app/node_modules/grpc-xds/dist/index.js', '/app/main.js'];
    expect(findCollisions(loaded, ours)).toEqual([]);
  });

  it('are a second copy of grpc-js, whose path and trouble are named', () => {
    const other = '/app/node_modules/nest/node_modules/@grpc/grpc-js/build/src/index.js';
    const [collision] = findCollisions([ours, other], ours);
    expect(collision?.path).toBe(other);
    expect(collision?.problem).toContain('cannot resolve xds: targets');
    expect(collision?.problem).toContain(ours);
  });

  it('are the other package that registers the scheme, also on Windows', () => {
    const peer = 'C:\\app\\node_modules\\@grpc\\grpc-js-xds\\build\\src\\index.js';
    const [collision] = findCollisions([peer], ours);
    expect(collision?.problem).toContain('registers the scheme xds too');
  });
});
