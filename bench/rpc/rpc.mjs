// CPU time per call: a plain round_robin channel, this package, also with metrics and with the live page, and the peer,
// over the same four backends. The variants take short turns, so that a slow moment of the machine hits all of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../support/child.mjs';
import { METRICS, PAGE } from '../support/observed-clients.mjs';
import { printTable } from '../support/table.mjs';
import { CALLS, headingOf, measure, rowsOf, RUNS } from '../support/turns.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

async function startClients(world, bootstrap) {
  const environment = { GRPC_XDS_BOOTSTRAP: bootstrap };
  const start = (...args) => startChild(here('./client-child.cjs'), args, environment);
  const peer = '@grpc/grpc-js-xds';
  const plain = () => start('plain', `ipv4:${world.ready.addresses.join(',')}`);
  const clients = new Map([
    ['plain round_robin', await plain()],
    // How far apart two equal processes are: less than that is noise.
    ['plain round_robin again', await plain()],
    ['grpc-xds, 1 route', await start('grpc-xds', 'xds:///one.example.com')],
    ['grpc-xds, 1,000 routes', await start('grpc-xds', 'xds:///many.example.com')],
    [`${peer}, 1 route`, await start(peer, 'xds:///one.example.com')],
    [`${peer}, 1,000 routes`, await start(peer, 'xds:///many.example.com')],
  ]);
  for (const [name, observing] of [...METRICS, ...PAGE]) {
    const client = await start('grpc-xds', 'xds:///one.example.com', observing);
    clients.set(`grpc-xds, 1 route, ${name}`, client);
  }
  return clients;
}

function print(results) {
  console.log(
    `\nCPU per call, unary, 32 bytes, 4 backends (median of ${RUNS} runs of ${CALLS} calls)`,
  );
  printTable([headingOf('plain'), ...rowsOf(results)]);
  console.log('  Target for grpc-xds: at most 4 % over plain with 1 route, 1 % more with 1,000.');
}

/** What a call allocates does not depend on what else the machine does. */
async function allocations(world, bootstrap) {
  const rows = [];
  for (const [name, client] of await startClients(world, bootstrap)) {
    const { all, own } = await client.ask({ allocating: CALLS });
    rows.push([name, all.toFixed(0), name.startsWith('grpc-xds') ? own.toFixed(0) : '']);
    await client.stop();
  }
  console.log(`\nBytes allocated per call (by samples of ${CALLS} calls)`);
  printTable([['', 'in all', 'in code of grpc-xds'], ...rows]);
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
    await allocations(world, bootstrap);
    print(await measure(() => startClients(world, bootstrap)));
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { run };
