import { Metadata } from '../../../src/grpc-js';
import { buildKeys, cacheKeyOf, readKeyBuilders } from '../../../src/lb/rls/key-builders';
import { Violations } from '../../../src/util/violations';
import { GrpcKeyBuilder } from '../../../src/wire/generated/grpc/lookup/v1/rls_config';

type Builder = Parameters<typeof GrpcKeyBuilder.fromPartial>[0];

const EXACT: Builder = {
  names: [{ service: 'a.S', method: 'M' }],
  headers: [{ key: 'user', names: ['x-user', 'x-Fallback'] }],
  extraKeys: { host: 'h', service: 's', method: 'm' },
  constantKeys: new Map([['c', '1']]),
};
const REST: Builder = {
  names: [{ service: 'a.S' }, { service: 'b.S' }],
  headers: [{ key: 'bytes', names: ['x-bin-bin'] }],
};

function keysOf(
  path: string,
  headers: Readonly<Record<string, readonly (string | Buffer)[]>> = {},
) {
  const metadata = new Metadata();
  for (const [name, values] of Object.entries(headers))
    for (const value of values) metadata.add(name, value);
  const violations = Violations.root();
  const builders = readKeyBuilders(
    [EXACT, REST].map((each) => GrpcKeyBuilder.fromPartial(each)),
    violations,
  );
  expect(violations.all).toEqual([]);
  return buildKeys(builders, { path, host: 'host.test', headers: metadata });
}

describe('the keys of a call', () => {
  const parts = { h: 'host.test', s: 'a.S', m: 'M', c: '1' };

  it.each<[string, string, Parameters<typeof keysOf>[1], object]>([
    ['by the builder of its method', '/a.S/M', {}, parts],
    ['by that of its service', '/b.S/M', {}, {}],
    ['by none', '/c.S/M', { 'x-user': ['u'] }, {}],
    ['by none for a path without a service', 'M', {}, {}],
    [
      'from the first header',
      '/a.S/M',
      { 'x-user': ['u'], 'x-fallback': ['f'] },
      { user: 'u', ...parts },
    ],
    ['from another header', '/a.S/M', { 'x-fallback': ['f'] }, { user: 'f', ...parts }],
    [
      'from a header without a value',
      '/a.S/M',
      { 'x-user': [''], 'x-fallback': ['f'] },
      { user: '', ...parts },
    ],
    ['from several values', '/a.S/M', { 'x-user': ['u', 'v'] }, { user: 'u,v', ...parts }],
    ['from binary values', '/a.S/Other', { 'x-bin-bin': [Buffer.from('é')] }, { bytes: 'w6k=' }],
  ])('are built %s', (_what, path, headers, expected) => {
    expect(Object.fromEntries(keysOf(path, headers))).toEqual(expected);
  });

  it('are not mistaken for others in the cache', () => {
    const ambiguous = [
      keysOf('/a.S/M', { 'x-user': ['a,h=b'] }),
      keysOf('/a.S/M', { 'x-user': ['a'] }),
    ].map((keys) => cacheKeyOf('/a.S/M', keys));
    expect(
      new Set([...ambiguous, cacheKeyOf('/a.S/N', keysOf('/a.S/M', { 'x-user': ['a'] }))]).size,
    ).toBe(3);
  });
});
