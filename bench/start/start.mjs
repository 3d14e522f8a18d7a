// Cold start: what loading and registering costs, and when the first call is done, each as the median of
// fresh processes. The three variants take turns, so that a slow moment of the machine hits all of them.
import { execFile } from 'node:child_process';
import * as nodeModule from 'node:module';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const DEFAULT_RUNS = 7;
/** The end of the name of a variant that runs with the compile cache of Node.js. */
const CACHED = ', compile cache';
const { enableCompileCache } = nodeModule;
const execute = promisify(execFile);
const child = (name) => new URL(name, import.meta.url).pathname;

const signed = (number) => `${number < 0 ? '' : '+'}${number.toFixed(1)}`;

/** Less than a millisecond is noise, and nothing to divide by. */
const ratio = (peerMs, oursMs) =>
  `${oursMs < 1 ? 'more than ' : ''}${(peerMs / Math.max(oursMs, 1)).toFixed(1)}x`;

/** @param cache The folder of the compile cache; each variant that uses it fills it first. */
async function measure(runs, script, variants, environment, cache) {
  const results = new Map(variants.map((variant) => [variant, []]));
  const start = async (variant) => {
    const caching = variant.endsWith(CACHED) ? { NODE_COMPILE_CACHE: cache } : {};
    const { stdout } = await execute(process.execPath, [script, variant.replace(CACHED, '')], {
      env: { ...process.env, ...environment, ...caching },
      timeout: 60_000,
    });
    return JSON.parse(stdout);
  };
  for (const variant of variants) if (variant.endsWith(CACHED)) await start(variant);
  for (let i = 0; i < runs; i++) {
    for (const variant of variants) results.get(variant).push(await start(variant));
  }
  const value = (variant, key) => median(results.get(variant).map((result) => result[key]));
  return value;
}

async function loading(runs) {
  const variants = ['@grpc/grpc-js', 'grpc-xds', '@grpc/grpc-js-xds'];
  const value = await measure(runs, child('./load-child.cjs'), variants, {});
  const [base] = variants;
  console.log(`\nLoad and register(), over require('@grpc/grpc-js') (median of ${runs} processes)`);
  printTable([
    ['', 'ms', 'over', 'RSS MiB', 'over', 'modules'],
    ...variants.map((variant) => [
      variant,
      value(variant, 'ms').toFixed(1),
      signed(value(variant, 'ms') - value(base, 'ms')),
      value(variant, 'rssMiB').toFixed(1),
      signed(value(variant, 'rssMiB') - value(base, 'rssMiB')),
      value(variant, 'modules'),
    ]),
  ]);
  const cost = (variant) => value(variant, 'ms') - value(base, 'ms');
  console.log(`  Ratio peer / grpc-xds: ${ratio(cost(variants[2]), cost(variants[1]))}`);
  console.log('  Target for grpc-xds: at most +20 ms and +8 MiB.');
}

async function firstCall(runs) {
  const world = await startChild(child('./world-child.cjs'));
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    const cached = enableCompileCache === undefined ? [] : [`plain${CACHED}`, `grpc-xds${CACHED}`];
    const peer = '@grpc/grpc-js-xds';
    const variants = ['plain', 'ADS by hand', 'grpc-xds', peer, ...cached];
    const environment = {
      GRPC_XDS_BOOTSTRAP: bootstrap,
      BENCH_BACKEND: world.ready.backendAddress,
      BENCH_SERVER: world.ready.bootstrap.xds_servers[0].server_uri,
    };
    const script = child('./first-call-child.cjs');
    const value = await measure(runs, script, variants, environment, join(folder, 'cache'));
    const baseline = (variant) => (variant.endsWith(CACHED) ? `plain${CACHED}` : 'plain');
    const over = (variant) => value(variant, 'ms') - value(baseline(variant), 'ms');
    console.log(`\nProcess start to end of first call (median of ${runs} processes)`);
    printTable([
      ['', 'ms', 'over plain'],
      ...variants.map((variant) => [
        variant,
        value(variant, 'ms').toFixed(1),
        signed(over(variant)),
      ]),
    ]);
    console.log(`  Ratio peer / grpc-xds: ${ratio(over(peer), over('grpc-xds'))}`);
    console.log('  Target for grpc-xds: at most +45 ms.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await world.stop();
  }
}

export async function run(options) {
  const { runs } = new Command('npm run bench -- start')
    .option('--runs <count>', 'processes of each variant', Number, DEFAULT_RUNS)
    .parse(options, { from: 'user' })
    .opts();
  await loading(runs);
  await firstCall(runs);
}
