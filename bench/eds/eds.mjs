// One endpoint of a big ring_hash cluster is replaced: what that costs the client.
import { printTable } from '../support/table.mjs';
import { HEADING, measureCase, toRows } from './update-case.mjs';

const PEER = '@grpc/grpc-js-xds';
// The peer takes ten seconds for an update of 10,000 endpoints, and is not usable with more.
const CASES = [
  { endpoints: 1000, ours: { updates: 15, windowMs: 300 }, peer: { updates: 5, windowMs: 1000 } },
  {
    endpoints: 10_000,
    ours: { updates: 15, windowMs: 400 },
    peer: { updates: 1, windowMs: 15_000 },
  },
  { endpoints: 100_000, ours: { updates: 8, windowMs: 1000 } },
];

export async function run() {
  const rows = [];
  const growth = [];
  for (const { endpoints, ours, peer } of CASES) {
    const variants = [{ variant: 'grpc-xds', ...ours }];
    if (peer !== undefined) variants.push({ variant: PEER, ...peer });
    const results = await measureCase({ clusters: 1, endpoints, lbPolicy: 'RING_HASH', variants });
    rows.push(...toRows(`${endpoints} endpoints`, results));
    growth.push(results.get('grpc-xds').cpuMs);
  }
  console.log('\nring_hash, one endpoint replaced (medians; CPU less that of an idle window)');
  printTable([HEADING, ...rows]);
  const factors = growth.slice(1).map((cpuMs, i) => (cpuMs / growth[i]).toFixed(1));
  console.log(`  CPU grows by ${factors.join(' and ')} while the endpoints grow tenfold.`);
  console.log('  Targets: 2 ms and 3 ms with 1,000, 8 and 8 with 10,000, 80 and 20 with 100,000.');
}
