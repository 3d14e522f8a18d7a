// Ten thousand clusters, one of which changes: state of the world beside the incremental variant.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
const CLUSTERS = 10_000;
const WARM_UP = 10;

const variants = [
  { variant: 'state of the world', features: [], windows: 7, updates: 1, windowMs: 1500 },
  { variant: 'incremental', features: ['grpc_xds_delta'], windows: 9, updates: 20, windowMs: 1000 },
];

/**
 * Medians over windows, by update: bytes, and milliseconds of CPU less those of an idle window of the same length. What
 * takes little time is measured several times in one window.
 */
async function measureVariant(world, folder, { features, windows, updates, windowMs }) {
  const [server] = world.ready.bootstrap.xds_servers;
  const servers = [{ ...server, server_features: [...server.server_features, ...features] }];
  const bootstrap = join(folder, 'bootstrap.json');
  writeFileSync(bootstrap, JSON.stringify({ ...world.ready.bootstrap, xds_servers: servers }));
  const client = await startChild(here('../eds/client-child.cjs'), ['grpc-xds'], {
    GRPC_XDS_BOOTSTRAP: bootstrap,
  });
  try {
    const window = async (count) => {
      await client.ask('reset');
      await world.ask('bytes');
      const parts = Math.max(1, count);
      for (let i = 0; i < parts; i++) {
        if (i < count) await world.ask('change');
        await sleep(windowMs / parts);
      }
      const { cpuMs } = await client.ask('read');
      const { received, sent } = await world.ask('bytes');
      return { cpuMs, received: received / parts, sent: sent / parts };
    };
    // The first updates compile what the later ones run.
    for (let i = 0; i < WARM_UP; i++) await window(1);
    const results = [];
    for (let i = 0; i < windows; i++) {
      const idle = await window(0);
      const busy = await window(updates);
      results.push({ ...busy, cpuMs: (busy.cpuMs - idle.cpuMs) / updates });
    }
    const of = (key) => median(results.map((result) => result[key]));
    return {
      firstCallMs: client.ready.firstCallMs,
      received: of('received'),
      sent: of('sent'),
      cpuMs: of('cpuMs'),
    };
  } finally {
    await client.stop();
  }
}

const format = (number) => number.toLocaleString('en', { maximumFractionDigits: 0 });

export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const world = await startChild(here('./world-child.cjs'), [String(CLUSTERS)]);
  const results = new Map();
  try {
    for (const options of variants) {
      results.set(options.variant, await measureVariant(world, folder, options));
    }
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const [sotw, delta] = [...results.values()];
  const bytes = ({ received, sent }) => received + sent;
  console.log(
    '\n10,000 clusters subscribed to, one changes; bytes on the wire and CPU of the client',
  );
  printTable([
    ['', 'bytes received', 'bytes sent', 'CPU ms', 'start to first call ms'],
    ...[...results].map(([variant, { received, sent, cpuMs, firstCallMs }]) => [
      variant,
      format(received),
      format(sent),
      cpuMs.toFixed(2),
      firstCallMs.toFixed(0),
    ]),
  ]);
  console.log(
    `  Incremental: ${format(bytes(sotw) / bytes(delta))} times fewer bytes, ` +
      `${format(sotw.cpuMs / Math.max(delta.cpuMs, 0.01))} times less CPU.`,
  );
  console.log('  Targets: 1,000 times fewer bytes, and 0.5 ms of CPU.');
}
