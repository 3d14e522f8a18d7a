// Time to find the route of a call, alone: this package's compiled table from its sources, and the peer's matchers.
require('../../test/support/run-typescript.cjs');
const { Metadata } = require('@grpc/grpc-js');
const { RouteTable } = require('../../src/resolver/route-table.ts');
const { ClusterRefs } = require('../../src/resolver/cluster-refs.ts');
const { HttpFilterRegistry } = require('../../src/http-filters/registry.ts');

const LOOKUPS = 200_000;

function routes(count, kind) {
  return Array.from({ length: count }, (_, i) => ({
    name: '',
    match: {
      path: {
        kind,
        text: `/demo.Service${i}/${kind === 'path' ? 'Method' : ''}`,
        caseSensitive: true,
      },
      headers: [],
      fractionPerMillion: undefined,
    },
    action: {
      kind: 'forward',
      clusters: { kind: 'cluster', name: 'c' },
      maxStreamDurationMs: undefined,
      retryPolicy: undefined,
      hashPolicies: [],
      hostRewrite: undefined,
    },
    filterOverrides: new Map(),
  }));
}

function tableOf(virtualHostRoutes) {
  const config = {
    listener: {
      kind: 'api-listener',
      name: 'l',
      httpConnectionManager: { httpFilters: [], maxStreamDurationMs: undefined },
    },
    virtualHost: {
      name: 'v',
      domains: ['*'],
      routes: virtualHostRoutes,
      retryPolicy: undefined,
      filterOverrides: new Map(),
      clusters: new Set(virtualHostRoutes.map(({ action }) => action.clusters.name)),
    },
  };
  const refs = new ClusterRefs(
    () => ({ release() {} }),
    (name) => ({ policyName: name }),
    () => {},
  );
  return new RouteTable(config, refs, new HttpFilterRegistry([]), 'svc');
}

function time(find, count) {
  const paths = Array.from({ length: 1000 }, (_, i) => `/demo.Service${(i * 7919) % count}/Method`);
  for (let i = 0; i < LOOKUPS; i++) find(paths[i % 1000]);
  const startedAt = performance.now();
  for (let i = 0; i < LOOKUPS; i++) find(paths[i % 1000]);
  return ((performance.now() - startedAt) / LOOKUPS) * 1000;
}

function ours(count, kind) {
  const table = tableOf(routes(count, kind));
  const metadata = new Metadata();
  return time((path) => table.find(path, metadata, Math.random), count);
}

const results = {};
for (const count of [1, 1000, 10_000]) {
  results[count] = { path: ours(count, 'path'), prefix: ours(count, 'prefix') };
}
process.send(results);
