// CPU time per call over that of a plain round_robin channel of the same process, to the same four backends: with this
// package, and with the peer. The channels take short turns in one process, because equal processes differ by more than what
// is measured. What metrics and the live page add have benchmarks of their own.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../support/child.mjs';
import { METRICS, PAGE } from '../support/observed-clients.mjs';
import { printTable } from '../support/table.mjs';
import { extentOf, headingOf, measure, rowsOf, variantOf } from '../support/turns.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

const EXTENT = { runs: 8, turns: 40 };
/** The calls whose allocations are counted. */
const CALLS = 8000;
const LIBRARIES = ['grpc-xds', '@grpc/grpc-js-xds'];
const TARGETS = {
  '1 route': 'xds:///one.example.com',
  '1,000 routes': 'xds:///many.example.com',
};

/** Returns the target of the plain channels, and what starts a process with channels to targets. */
function starter(world, bootstrap) {
  const plain = `ipv4:${world.ready.addresses.join(',')}`;
  const start = (library, observing, targets) => {
    const args = [library, observing ?? '', ...targets];
    return startChild(here('./client-child.cjs'), args, { GRPC_XDS_BOOTSTRAP: bootstrap });
  };
  return { plain, start };
}

/** The first two channels of each process are plain: what they differ by is noise. */
async function cpuTimes({ plain, start }) {
  for (const library of LIBRARIES) {
    const targets = [['plain', plain], ['plain again', plain], ...channelsOf(library)];
    const results = await measure(async () => {
      const addresses = targets.map(([, target]) => target);
      const child = await start(library, '', addresses);
      return new Map(targets.map(([name], i) => [name, variantOf(child, i)]));
    }, EXTENT);
    console.log(`\nCPU per call, unary, 32 bytes, 4 backends (${extentOf(EXTENT)})`);
    printTable([headingOf('plain'), ...rowsOf(results)]);
  }
  console.log('  Target for grpc-xds: at most 3 % over plain with 1 and with 1,000 routes.');
}

/** What a call allocates does not depend on what else the machine does. */
async function allocations({ plain, start }) {
  const rows = [];
  const count = async (name, library, observing, target) => {
    const client = variantOf(await start(library, observing, [target]));
    const { all, own } = await client.ask({ allocating: CALLS });
    rows.push([name, all.toFixed(0), name.startsWith('grpc-xds') ? own.toFixed(0) : '']);
    await client.stop();
  };
  await count('plain', 'grpc-xds', '', plain);
  for (const library of LIBRARIES) {
    for (const [name, target] of channelsOf(library)) await count(name, library, '', target);
  }
  for (const [name, observing] of [...METRICS, ...PAGE]) {
    await count(`grpc-xds, 1 route, ${name}`, 'grpc-xds', observing, TARGETS['1 route']);
  }
  console.log(`\nBytes allocated per call (by samples of ${CALLS} calls)`);
  printTable([['', 'in all', 'in code of grpc-xds'], ...rows]);
}

/** Returns the channels of a library, by their names in tables, with their targets. */
function channelsOf(library) {
  return Object.entries(TARGETS).map(([name, target]) => [`${library}, ${name}`, target]);
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
    const processes = starter(world, bootstrap);
    await allocations(processes);
    await cpuTimes(processes);
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { run };
