// CPU time per call of a client that is observed in some ways, over that of one that is not.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.mjs';
import { printTable } from './table.mjs';
import { extentOf, headingOf, measure, rowsOf, variantOf } from './turns.mjs';

const inRpc = (name) => new URL(`../rpc/${name}`, import.meta.url).pathname;

/** The ways to record metrics, each by its name and the argument of the client. */
export const METRICS = [
  ['metricProducer', 'metricProducer'],
  ['meterProvider', 'meterProvider'],
];

/** The states of the live page. */
export const PAGE = [
  ['page served', 'page'],
  ['page open', 'open page'],
];

/**
 * @param what What the client is observed by, such as `metrics`.
 * @param variants The ways, each by its name and the argument of the client; the first two are without any, since what
 *   two equal processes differ by is noise.
 * @param extent How many runs and turns; by default those of `measure`.
 */
export async function compareObserved({ what, variants, target, extent = {} }) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const world = await startChild(inRpc('world-child.cjs'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    const results = await measure(() => startClients(bootstrap, variants), extent);
    console.log(`\nCPU per call with ${what}, unary, 32 bytes (${extentOf(extent)})`);
    printTable([headingOf('none'), ...rowsOf(results)]);
    console.log(`  Target: ${target}`);
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startClients(bootstrap, variants) {
  const clients = new Map();
  for (const [name, observing] of variants) {
    const args = ['grpc-xds', observing ?? '', 'xds:///one.example.com'];
    const environment = { GRPC_XDS_BOOTSTRAP: bootstrap };
    clients.set(name, variantOf(await startChild(inRpc('client-child.cjs'), args, environment)));
  }
  return clients;
}
