// How the cost of an update grows with what a process has: endpoints, clusters, virtual hosts, channels.
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { rows } from '../anchors/rows.mjs';
import { startChild } from '../support/child.mjs';
import { LeanWorld } from '../support/lean-world.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const clientChild = new URL('../eds/client-child.cjs', import.meta.url).pathname;
const base = rows['ring_hash 1,000'];

/** What grows, by its name: the sizes, and the row and the number of channels of each. */
const curves = {
  'endpoints of one ring_hash cluster, one replaced': {
    sizes: [1000, 10_000, 100_000],
    of: (endpoints) => ({ row: { ...base, endpoints } }),
  },
  'clusters of 5 endpoints, one changed': {
    sizes: [100, 1000, 10_000],
    of: (clusters) => ({ row: { ...rows['1,000 clusters'], clusters } }),
  },
  'virtual hosts, one of another service changed': {
    sizes: [20, 200, 2000],
    of: (virtualHosts) => ({ row: { ...base, endpoints: 5, virtualHosts, changes: 'R' } }),
  },
  'channels to one target with 1,000 endpoints, one replaced': {
    sizes: [2, 20, 200],
    of: (channels) => ({ row: base, channels }),
  },
};

const UPDATES = 15;
const WARM_UPS = 40;
const SETTLE_MS = 2000;

async function measure({ row, channels = 1 }, windowMs) {
  const world = await LeanWorld.start(row);
  const args = ['grpc-xds', String(channels)];
  const client = await startChild(clientChild, args, world.environment);
  try {
    await sleep(SETTLE_MS);
    const window = async (update, lengthMs = windowMs) => {
      await client.ask('reset');
      if (update) await world.update();
      await sleep(lengthMs);
      return client.ask('read');
    };
    const first = await window(true);
    for (let i = 1; i < WARM_UPS; i++) await window(true, windowMs / 5);
    const [cpu, pauses] = [[], []];
    for (let i = 0; i < UPDATES; i++) {
      const idle = await window(false);
      const busy = await window(true);
      cpu.push(busy.cpuMs - idle.cpuMs);
      pauses.push(busy.pauseMs);
    }
    const { heapBytes, externalBytes } = await client.ask('memory');
    return {
      cpuMs: median(cpu),
      pauseMs: median(pauses),
      firstCpuMs: first.cpuMs,
      firstPauseMs: first.pauseMs,
      firstCallMs: client.ready.firstCallMs,
      bytes: heapBytes + externalBytes,
    };
  } finally {
    await client.stop();
    await world.stop();
  }
}

const figures = ['cpuMs', 'pauseMs', 'firstCpuMs', 'firstPauseMs', 'firstCallMs'];

/** The power of the size by which a figure grows from the smallest size to the greatest. */
function exponent(sizes, values) {
  return Math.log(values.at(-1) / values[0]) / Math.log(sizes.at(-1) / sizes[0]);
}

async function runCurve(name, { sizes, of }) {
  const results = [];
  for (const size of sizes) results.push(await measure(of(size), size >= 100_000 ? 800 : 300));
  const rowsOfSizes = results.map((result, i) => [
    sizes[i].toLocaleString('en'),
    ...figures.map((key) => result[key].toFixed(1)),
    (result.bytes / 2 ** 20).toFixed(1),
  ]);
  const exponents = figures.map((key) =>
    exponent(
      sizes,
      results.map((result) => Math.max(result[key], 0.1)),
    ).toFixed(2),
  );
  const [least, most] = [results[0].bytes, results.at(-1).bytes];
  const bytesEach = (most - least) / (sizes.at(-1) - sizes[0]);
  console.log(`\n${name}`);
  printTable([
    ['', 'CPU ms', 'pause ms', 'first update, CPU ms', 'its pause ms', 'first call ms', 'MiB'],
    ...rowsOfSizes,
    ['exponent', ...exponents, `${bytesEach.toFixed(0)} bytes each`],
  ]);
}

export async function run(options) {
  const { curves: words } = new Command('npm run bench -- growth')
    .option('--curves <words>', 'only those whose name contains one of these, split by ;', '')
    .parse(options, { from: 'user' })
    .opts();
  const isChosen = (name) => words.split(';').some((word) => name.includes(word.trim()));
  for (const [name, curve] of Object.entries(curves)) {
    if (isChosen(name)) await runCurve(name, curve);
  }
  console.log(`
  CPU ms and pause ms: of an update, medians of ${UPDATES} after ${WARM_UPS} to warm up, the CPU less that of an idle window; then
  those of the first update. MiB: heap and buffers after a collection. An exponent of 1 is in proportion to the size.`);
}
