// CPU time per call without metrics, and with those that are on by default, recorded in each of the two ways.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../support/child.mjs';
import { printTable } from '../support/table.mjs';
import { CALLS, measure, rowsOf, RUNS } from '../support/turns.mjs';

const inRpc = (name) => new URL(`../rpc/${name}`, import.meta.url).pathname;

async function startClients(bootstrap) {
  const environment = { GRPC_XDS_BOOTSTRAP: bootstrap };
  const start = (...observing) =>
    startChild(
      inRpc('client-child.cjs'),
      ['grpc-xds', 'xds:///one.example.com', ...observing],
      environment,
    );
  return new Map([
    ['no metrics', await start()],
    // How far apart two equal processes are: less than that is noise.
    ['no metrics again', await start()],
    ['metricProducer', await start('metricProducer')],
    ['meterProvider', await start('meterProvider')],
  ]);
}

function print(results) {
  console.log(
    `\nCPU per call with metrics, unary, 32 bytes (median of ${RUNS} runs of ${CALLS} calls)`,
  );
  printTable([['', 'µs', 'over none'], ...rowsOf(results)]);
  console.log('  Target: at most 4 % with a metricProducer.');
}

export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const world = await startChild(inRpc('world-child.cjs'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    print(await measure(() => startClients(bootstrap)));
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
