// Big clusters: what it costs the client when one endpoint is replaced, what an endpoint takes while nobody calls it, and
// what a pick among many costs.
import { printTable } from '../support/table.mjs';
import { runConnected } from './connected.mjs';
import { runPicks } from './picks.mjs';
import { HEADING, measureCase, toRows } from './update-case.mjs';

const PEER = '@grpc/grpc-js-xds';
// The peer takes ten seconds for an update of 10,000 endpoints, and is not usable with more.
const CASES = [
  {
    endpoints: 1000,
    ours: { updates: 25, windowMs: 200, warmUps: 60 },
    peer: { updates: 5, windowMs: 1000, warmUps: 20, warmUpMs: 200 },
  },
  {
    endpoints: 10_000,
    ours: { updates: 25, windowMs: 300, warmUps: 60 },
    peer: { updates: 1, windowMs: 15_000, warmUps: 1 },
  },
  { endpoints: 100_000, ours: { updates: 15, windowMs: 800, warmUps: 30 } },
];

/** What each endpoint adds to what is in use, by two cases of different size. */
function bytesPerEndpoint(results, variant) {
  const known = [...results].flatMap(([endpoints, result]) => {
    const one = result.get(variant);
    return one === undefined ? [] : [{ endpoints, ...one }];
  });
  const [few, many] = [known[0], known.at(-1)];
  const per = (key) => (many[key] - few[key]) / (many.endpoints - few.endpoints);
  return [
    variant,
    per('heapBytes').toFixed(0),
    per('externalBytes').toFixed(0),
    `${few.endpoints.toLocaleString('en')} to ${many.endpoints.toLocaleString('en')}`,
  ];
}

async function runUpdates() {
  const rows = [];
  const byCase = new Map();
  for (const { endpoints, ours, peer } of CASES) {
    const variants = [{ variant: 'grpc-xds', ...ours }];
    if (peer !== undefined) variants.push({ variant: PEER, ...peer });
    const results = await measureCase({ clusters: 1, endpoints, lbPolicy: 'RING_HASH', variants });
    rows.push(...toRows(`${endpoints} endpoints`, results));
    byCase.set(endpoints, results);
  }
  console.log(
    '\nring_hash, one endpoint replaced (medians of warmed-up updates; CPU less that of an idle window)',
  );
  printTable([HEADING, ...rows]);
  const cpu = [...byCase.values()].map((results) => results.get('grpc-xds').cpuMs);
  const factors = cpu.slice(1).map((cpuMs, i) => (cpuMs / cpu[i]).toFixed(1));
  console.log(`  CPU grows by ${factors.join(' and ')} while the endpoints grow tenfold.`);
  console.log('  Targets: 2 ms and 3 ms with 1,000, 8 and 8 with 10,000, 80 and 20 with 100,000.');
  console.log('\nAn idle endpoint of ring_hash, everything included (bytes)');
  printTable([
    ['', 'heap', 'outside the heap', 'endpoints'],
    bytesPerEndpoint(byCase, 'grpc-xds'),
    bytesPerEndpoint(byCase, PEER),
  ]);
  console.log('  Target: 400 on the heap.');
}

export async function run() {
  await runUpdates();
  await runConnected();
  await runPicks();
}
