// One case of the update benchmarks: a world, and one client after the other that is sent updates.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
/** Between updates that are only there to have the code compiled that later ones run. */
const WARM_UP_MS = 30;
const CONNECT_TIMEOUT_MS = 180_000;

/** Waits until so many connections to the backend are open, if a case is about that. */
async function waitForConnections(world, count) {
  const end = Date.now() + CONNECT_TIMEOUT_MS;
  for (;;) {
    const { open } = await world.ask('connections');
    if (open >= count) return;
    if (Date.now() > end) throw new Error(`Only ${open} of ${count} connections`);
    await sleep(200);
  }
}

/**
 * Starts a client of one variant, `starts` times, and sends updates to the last one: `warmUps` before anything is
 * measured, and `updates`, each in a window of its own.
 * @returns medians of CPU (less what an idle window of the same length takes) and longest pause, in milliseconds.
 */
async function measureVariant(world, bootstrap, options) {
  const { variant, updates, windowMs, starts = 1, connections = 0 } = options;
  const { warmUps = Math.min(5, updates - 1), warmUpMs = WARM_UP_MS } = options;
  const start = () =>
    startChild(here('./client-child.cjs'), [variant], { GRPC_XDS_BOOTSTRAP: bootstrap });
  const firstCallsMs = [];
  for (let i = 1; i < starts; i++) {
    const client = await start();
    firstCallsMs.push(client.ready.firstCallMs);
    await client.stop();
  }
  const client = await start();
  firstCallsMs.push(client.ready.firstCallMs);
  try {
    if (connections > 0) await waitForConnections(world, connections);
    const window = async (update, lengthMs = windowMs) => {
      await client.ask('reset');
      if (update) await world.ask('change');
      await sleep(lengthMs);
      return client.ask('read');
    };
    const first = await window(true);
    for (let i = 1; i < warmUps; i++) await window(true, warmUpMs);
    const opened = async () => (await world.ask('connections')).opened;
    const openedBefore = await opened();
    const results = [];
    for (let i = 0; i < updates; i++) {
      const idle = await window(false);
      const busy = await window(true);
      results.push({
        cpuMs: busy.cpuMs - idle.cpuMs,
        pauseMs: busy.pauseMs,
        idlePauseMs: idle.pauseMs,
      });
    }
    const openedAfter = await opened();
    const of = (key) => results.map((result) => result[key]);
    return {
      firstCallMs: median(firstCallsMs),
      firstPauseMs: client.ready.firstPauseMs,
      firstCpuMs: first.cpuMs,
      cpuMs: median(of('cpuMs')),
      pauseMs: median(of('pauseMs')),
      leastPauseMs: Math.min(...of('pauseMs')),
      idlePauseMs: median(of('idlePauseMs')),
      connectionsPerUpdate: (openedAfter - openedBefore) / updates,
      ...(await client.ask('memory')),
    };
  } finally {
    await client.stop();
  }
}

/** Runs every variant of a case against one world. */
export async function measureCase({ clusters, endpoints, lbPolicy, variants }) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const args = [String(clusters), String(endpoints), lbPolicy];
  const world = await startChild(here('./world-child.cjs'), args);
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    const results = new Map();
    for (const options of variants) {
      results.set(options.variant, await measureVariant(world, bootstrap, options));
    }
    return results;
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Rows of a table: one per variant. */
export function toRows(label, results) {
  return [...results].map(([variant, result]) => [
    `${label}, ${variant}`,
    result.cpuMs.toFixed(1),
    result.pauseMs.toFixed(1),
    result.leastPauseMs.toFixed(1),
    result.idlePauseMs.toFixed(1),
    result.firstCpuMs.toFixed(1),
    result.firstCallMs.toFixed(0),
    result.firstPauseMs.toFixed(0),
  ]);
}

export const HEADING = [
  '',
  'CPU ms',
  'pause ms',
  'least pause ms',
  'idle pause ms',
  'first update, CPU ms',
  'first call ms',
  'pause until then ms',
];
