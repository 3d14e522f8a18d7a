// CPU time per call: a plain round_robin channel, this package and the peer, over the same four backends. The
// variants take short turns, so that a slow moment of the machine hits all of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const RUNS = 5;
const CALLS = 20_000;
// A run is made in turns of this many calls, so that all variants share the machine's good and bad moments.
const TURN = 1000;
const here = (name) => new URL(name, import.meta.url).pathname;

async function startClients(world, bootstrap) {
  const environment = { GRPC_XDS_BOOTSTRAP: bootstrap };
  const start = (variant, target) =>
    startChild(here('./client-child.cjs'), [variant, target], environment);
  const peer = '@grpc/grpc-js-xds';
  const plain = () => start('plain', `ipv4:${world.ready.addresses.join(',')}`);
  return new Map([
    ['plain round_robin', await plain()],
    // How far apart two equal processes are: less than that is noise.
    ['plain round_robin again', await plain()],
    ['grpc-xds, 1 route', await start('grpc-xds', 'xds:///one.example.com')],
    ['grpc-xds, 1,000 routes', await start('grpc-xds', 'xds:///many.example.com')],
    [`${peer}, 1 route`, await start(peer, 'xds:///one.example.com')],
    [`${peer}, 1,000 routes`, await start(peer, 'xds:///many.example.com')],
  ]);
}

/**
 * Each run has processes of its own: how a process happens to be compiled and laid out is part of the noise.
 * @returns for each variant the CPU time per call in microseconds, turn by turn.
 */
async function measure(world, bootstrap) {
  const results = new Map();
  for (let run = 0; run < RUNS; run++) {
    const clients = await startClients(world, bootstrap);
    try {
      for (const [name, turns] of await measureRun(clients)) {
        results.set(name, [...(results.get(name) ?? []), turns]);
      }
    } finally {
      await Promise.all([...clients.values()].map((client) => client.stop()));
    }
  }
  return results;
}

async function measureRun(clients) {
  const turns = new Map([...clients.keys()].map((name) => [name, []]));
  for (let done = 0; done < CALLS; done += TURN) {
    for (const [name, client] of clients) {
      const { microseconds } = await client.ask(TURN);
      turns.get(name).push(microseconds);
    }
  }
  return turns;
}

function print(results) {
  const [baseline] = results.values();
  const ofRun = (turns) => turns.reduce((sum, value) => sum + value, 0) / turns.length;
  // Turn by turn with the plain channel's: what drifts, or disturbs a turn, does not count.
  const overInRun = (turns, run) => median(turns.map((value, i) => value / baseline[run][i] - 1));
  const over = (runs) => median(runs.map(overInRun));
  console.log(
    `\nCPU per call, unary, 32 bytes, 4 backends (median of ${RUNS} runs of ${CALLS} calls)`,
  );
  printTable([
    ['', 'µs', 'over plain'],
    ...[...results].map(([name, values]) => [
      name,
      median(values.map(ofRun)).toFixed(1),
      `${(100 * over(values)).toFixed(1)} %`,
    ]),
  ]);
  console.log('  Target for grpc-xds: at most 4 % over plain with 1 route, 1 % more with 1,000.');
}

async function matching() {
  const child = await startChild(here('./match-child.cjs'));
  await child.stop();
  console.log('\nFinding the route of a call, alone');
  printTable([
    ['routes', 'exact paths, µs', 'prefixes, µs'],
    ...Object.entries(child.ready).map(([count, { path, prefix }]) => [
      count,
      path.toFixed(2),
      prefix.toFixed(2),
    ]),
  ]);
  console.log('  Target: under 0.5 µs with 10,000 routes. The peer: 14.5 µs with 1,000.');
}

async function run() {
  await matching();
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const world = await startChild(here('./world-child.cjs'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    print(await measure(world, bootstrap));
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { run };
