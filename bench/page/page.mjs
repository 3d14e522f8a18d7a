// CPU time per call without the live page, with one that no browser reads, and with one that is open.
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
    ['no page', await start()],
    // How far apart two equal processes are: less than that is noise.
    ['no page again', await start()],
    ['page served', await start('page')],
    ['page open', await start('open page')],
  ]);
}

function print(results) {
  console.log(
    `\nCPU per call with the live page, unary, 32 bytes (median of ${RUNS} runs of ${CALLS} calls)`,
  );
  printTable([['', 'µs', 'over none'], ...rowsOf(results)]);
  console.log(
    '  Target: nothing without a reader; the topology of a small target costs at most 5 % of the time.',
  );
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
