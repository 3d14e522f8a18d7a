// Time to find the route of a call, alone: this package's index of routes from its sources, and the peer's matchers.
require('../../test/support/run-typescript.cjs');
const { Metadata } = require('@grpc/grpc-js');
const { clientHeaders, MatchedCall } = require('../../src/routing/matched-call.ts');
const { RouteIndex } = require('../../src/routing/route-index.ts');

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

function time(find, count) {
  const paths = Array.from({ length: 1000 }, (_, i) => `/demo.Service${(i * 7919) % count}/Method`);
  for (let i = 0; i < LOOKUPS; i++) find(paths[i % 1000]);
  const startedAt = performance.now();
  for (let i = 0; i < LOOKUPS; i++) find(paths[i % 1000]);
  return ((performance.now() - startedAt) / LOOKUPS) * 1000;
}

function ours(count, kind) {
  const index = new RouteIndex(routes(count, kind));
  const call = new MatchedCall(Math.random, clientHeaders);
  const metadata = new Metadata();
  return time((path) => {
    call.begin(path, metadata);
    return index.find(call);
  }, count);
}

const results = {};
for (const count of [1, 1000, 10_000]) {
  results[count] = { path: ours(count, 'path'), prefix: ours(count, 'prefix') };
}
process.send(results);
