// One case of the update benchmarks: a world, and one client after the other that is sent updates.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

/**
 * Starts a client of one variant, `starts` times, and sends updates to the last one.
 * @returns medians of CPU (less what an idle window of the same length takes) and longest pause, in milliseconds.
 */
async function measureVariant(world, bootstrap, { variant, updates, windowMs, starts = 1 }) {
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
    const window = async (update) => {
      await client.ask('reset');
      if (update) await world.ask('change');
      await sleep(windowMs);
      return client.ask('read');
    };
    // The first updates compile what the later ones run.
    for (let i = 0; i < Math.min(5, updates - 1); i++) await window(true);
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
    const of = (key) => median(results.map((result) => result[key]));
    return {
      firstCallMs: median(firstCallsMs),
      cpuMs: of('cpuMs'),
      pauseMs: of('pauseMs'),
      idlePauseMs: of('idlePauseMs'),
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
  return [...results].map(([variant, { cpuMs, pauseMs, idlePauseMs, firstCallMs }]) => [
    `${label}, ${variant}`,
    cpuMs.toFixed(1),
    pauseMs.toFixed(1),
    idlePauseMs.toFixed(1),
    firstCallMs.toFixed(0),
  ]);
}

export const HEADING = ['', 'CPU ms', 'pause ms', 'idle pause ms', 'start to first call ms'];
