// Cold start: what loading and registering costs, and when the first call is done, each as the median of
// fresh processes. The three variants take turns, so that a slow moment of the machine hits all of them.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const RUNS = 7;
const run = promisify(execFile);
const child = (name) => new URL(name, import.meta.url).pathname;

const signed = (number) => `${number < 0 ? '' : '+'}${number.toFixed(1)}`;

/** Less than a millisecond is noise, and nothing to divide by. */
const ratio = (peerMs, oursMs) =>
  `${oursMs < 1 ? 'more than ' : ''}${(peerMs / Math.max(oursMs, 1)).toFixed(1)}x`;

async function measure(script, variants, environment) {
  const results = new Map(variants.map((variant) => [variant, []]));
  for (let i = 0; i < RUNS; i++) {
    for (const variant of variants) {
      const { stdout } = await run(process.execPath, [script, variant], {
        env: { ...process.env, ...environment },
        timeout: 60_000,
      });
      results.get(variant).push(JSON.parse(stdout));
    }
  }
  const value = (variant, key) => median(results.get(variant).map((result) => result[key]));
  return value;
}

async function loading() {
  const variants = ['@grpc/grpc-js', 'grpc-xds', '@grpc/grpc-js-xds'];
  const value = await measure(child('./load-child.cjs'), variants, {});
  const [base] = variants;
  console.log(`\nLoad and register(), over require('@grpc/grpc-js') (median of ${RUNS} processes)`);
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

async function firstCall() {
  const world = await startChild(child('./world-child.cjs'));
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    const variants = ['plain', 'grpc-xds', '@grpc/grpc-js-xds'];
    const value = await measure(child('./first-call-child.cjs'), variants, {
      GRPC_XDS_BOOTSTRAP: bootstrap,
      BENCH_BACKEND: world.ready.backendAddress,
    });
    console.log(`\nProcess start to end of first call (median of ${RUNS} processes)`);
    printTable([
      ['', 'ms', 'over plain'],
      ...variants.map((variant) => [
        variant,
        value(variant, 'ms').toFixed(1),
        signed(value(variant, 'ms') - value('plain', 'ms')),
      ]),
    ]);
    const over = (variant) => value(variant, 'ms') - value('plain', 'ms');
    console.log(`  Ratio peer / grpc-xds: ${ratio(over(variants[2]), over(variants[1]))}`);
    console.log('  Target for grpc-xds: at most +45 ms.');
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await world.stop();
  }
}

async function runBenchmark() {
  await loading();
  await firstCall();
}

export { runBenchmark as run };
