// A thousand clusters of five endpoints: starting, and an update of one of them.
import { printTable } from '../support/table.mjs';
import { HEADING, measureCase, toRows } from '../eds/update-case.mjs';

export async function run() {
  const results = await measureCase({
    clusters: 1000,
    endpoints: 5,
    lbPolicy: 'RING_HASH',
    variants: [
      { variant: 'grpc-xds', updates: 15, windowMs: 300, starts: 7, warmUps: 60 },
      { variant: '@grpc/grpc-js-xds', updates: 3, windowMs: 3000 },
    ],
  });
  console.log(
    '\n1,000 clusters with 5 endpoints each, one endpoint of one cluster in use replaced',
  );
  printTable([HEADING, ...toRows('1,000 clusters', results)]);
  console.log('  Targets: 3 ms and 3 ms, and 500 ms to the first call.');
}
