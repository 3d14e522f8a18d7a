// What a server costs that the control plane configures: CPU time per call and per connection over those of a plain server of
// the same process, and memory per connection. Beside it the peer, and grpc-go's xDS server over grpc-go's plain one, as ratios.
// The servers take short turns; their clients are a process of their own, whose CPU time does not count.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LineProcess } from '../../interop/cross/line-process.mjs';
import { prepare } from '../../interop/cross/tools.mjs';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';
import { extentOf, headingOf, measure, rowsOf } from '../support/turns.mjs';
import { makeCertificates } from '../tls/certificates.mjs';
import { bootstrapOf } from './bootstrap.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

const EXTENT = { runs: 6, turns: 40 };
const HANDSHAKE_EXTENT = { runs: 5, turns: 15 };
const HANDSHAKES = 60;
const CONNECTIONS = 1000;
const PEER = '@grpc/grpc-js-xds';

/** The servers of a library that the control plane configures, by name. */
const CONFIGURED = {
  '1 route': { routes: 1 },
  '100 routes': { routes: 100 },
  '1,000 routes': { routes: 1000 },
  '100 rules': { routes: 1, rules: 100 },
};
const PLAIN = { plain: 'plain' };
const NO_OP = { plain: 'plain, no-op interceptor' };

/** The peer denies what the last of these rules allows: its calls would be no calls. */
const isServed = (library, { rules }) => library !== PEER || rules === undefined;

const configuredBy = (library) =>
  Object.entries(CONFIGURED)
    .filter(([, kind]) => isServed(library, kind))
    .map(([name, kind]) => [`${library}, ${name}`, kind]);

/** Starts a process with servers, once they serve. @param named The servers by name. */
async function startServers({ world, environment, files }, library, named, execArgv = '') {
  const kinds = named.map(([, kind]) => kind);
  const options = JSON.stringify({ library, kinds, files });
  const server = await startChild(here('./server-child.cjs'), [options], {
    ...environment,
    NODE_OPTIONS: execArgv,
    // The filter is off by default there.
    GRPC_XDS_EXPERIMENTAL_RBAC: 'true',
  });
  const ports = server.ready;
  await world.ask(kinds.map((kind, i) => ({ ...kind, port: ports[i] })));
  await server.ask('serve');
  const load = await startChild(here('./load-child.cjs'), [JSON.stringify(files)]);
  return { server, load, ports, stop: () => Promise.all([server.stop(), load.stop()]) };
}

/** Returns what measures the CPU time of a server. @param work What its clients do in a turn, and how often. */
function variantOf({ readCpu, load, stop }, port, work) {
  return {
    async ask({ calls }) {
      const { count, ...question } = work(calls);
      const before = await readCpu();
      await load.ask({ port, ...question });
      return { microseconds: ((await readCpu()) - before) / count };
    },
    stop,
  };
}

const callsOf = (calls) => ({ calls, count: calls });
const handshakes = () => ({ handshakes: HANDSHAKES, count: HANDSHAKES });

/** Measures the servers of a process in turns, after some to warm up. */
async function measureServers(context, library, named, { work, extent, warmUps }) {
  return measure(async () => {
    const { server, load, ports, stop } = await startServers(context, library, named);
    const readCpu = () => server.ask('cpu');
    const variants = named.map(([name], i) => [
      name,
      variantOf({ readCpu, load, stop }, ports[i], work),
    ]);
    await warmUp(variants, warmUps);
    return new Map(variants);
  }, extent);
}

async function warmUp(variants, turns) {
  for (let turn = 0; turn < turns; turn++) {
    for (const [, variant] of variants) await variant.ask({ calls: 500 });
  }
}

async function compareCalls(context) {
  for (const library of ['grpc-xds', PEER]) {
    const named = [
      ['plain', PLAIN],
      ['plain again', PLAIN],
      ['plain, no-op interceptor', NO_OP],
      ...configuredBy(library),
    ];
    console.log(
      `\nCPU of a server per call, unary, 32 bytes, one connection (${extentOf(EXTENT)})`,
    );
    const options = { work: callsOf, extent: EXTENT, warmUps: 10 };
    await printRows(() => measureServers(context, library, named, options), 'plain');
  }
  console.log('  Target for grpc-xds: at most 6 % over plain.');
}

async function compareHandshakes(context) {
  const named = [
    ['plain', { ...PLAIN, tls: true }],
    ['plain again', { ...PLAIN, tls: true }],
    ['grpc-xds', { tls: true }],
  ];
  const peer = [...named.slice(0, 2), [PEER, { tls: true }]];
  const { runs, turns } = HANDSHAKE_EXTENT;
  for (const [library, servers] of [
    ['grpc-xds', named],
    [PEER, peer],
  ]) {
    console.log(
      `\nCPU of a server per connection, mutual TLS, P-256, until its settings (median of ${runs} runs of ${turns} turns of ${HANDSHAKES})`,
    );
    const options = { work: handshakes, extent: HANDSHAKE_EXTENT, warmUps: 3 };
    await printRows(() => measureServers(context, library, servers, options), 'plain');
  }
  console.log('  Target for grpc-xds: at most 10 % over plain.');
}

/** A server that cannot be measured, such as one that ends, is a line and not the end of the benchmark. */
async function printRows(measureAll, baseline) {
  try {
    printTable([headingOf(baseline), ...rowsOf(await measureAll())]);
  } catch (error) {
    console.log(`  not measured: ${error.message.slice(0, 200)}`);
  }
}

async function memoryOf(context, library, name, kind) {
  const runs = [];
  for (let run = 0; run < 3; run++) {
    const servers = await startServers(context, library, [[name, kind]], '--expose-gc');
    const { server, load, ports } = servers;
    const question = { port: ports[0], tls: kind.tls === true };
    // What is made with the first connections is no part of the others.
    await load.ask({ ...question, open: 100 });
    const before = await server.ask('memory');
    await load.ask({ ...question, open: CONNECTIONS });
    const after = await server.ask('memory');
    runs.push({ rss: after.rss - before.rss, heap: after.heap - before.heap });
    await servers.stop();
  }
  const kilobytes = (key) =>
    (median(runs.map((each) => each[key])) / CONNECTIONS / 1024).toFixed(1);
  return [name, kilobytes('heap'), kilobytes('rss')];
}

async function compareMemory(context) {
  const rows = [];
  for (const tls of [false, true]) {
    const suffix = tls ? ', mutual TLS' : '';
    rows.push(await memoryOf(context, 'grpc-xds', `plain${suffix}`, { ...PLAIN, tls }));
    rows.push(await memoryOf(context, 'grpc-xds', `grpc-xds${suffix}`, { tls }));
  }
  console.log(`\nMemory of a server per idle connection (${CONNECTIONS} connections)`);
  printTable([['', 'heap KiB', 'RSS KiB'], ...rows]);
}

/** As `measureServers`, with the servers of grpc-go. */
async function measureGo(context, named) {
  const { world, environment, files } = context;
  return measure(async () => {
    const program = new URL('../../interop/go/build/peer', import.meta.url).pathname;
    const server = await LineProcess.start([program, 'measured-servers'], environment);
    const load = await startChild(here('./load-child.cjs'), [JSON.stringify(files)]);
    const started = [];
    for (const [, kind] of named) {
      started.push(await server.ask({ do: kind.plain === undefined ? 'xds' : 'plain' }));
    }
    const ports = started.map(({ port }) => port);
    await world.ask(named.map(([, kind], i) => ({ ...kind, port: ports[i] })));
    const readCpu = async () => (await server.ask({ do: 'cpu' })).microseconds;
    const stop = () => Promise.all([server.stop(), load.stop()]);
    const variants = named.map(([name], i) => [
      name,
      variantOf({ readCpu, load, stop }, ports[i], callsOf),
    ]);
    await warmUp(variants, 4);
    return new Map(variants);
  }, EXTENT);
}

async function compareGo(context) {
  const { kind, missing } = await prepare('go');
  console.log(`\nCPU of a server of grpc-go per call, from the same clients (${extentOf(EXTENT)})`);
  if (kind === 'missing') {
    console.log(`  not measured: ${missing.join(', ')} is not installed`);
    return;
  }
  const named = [
    ['grpc-go, plain', PLAIN],
    ['grpc-go, plain again', PLAIN],
    ...configuredBy('grpc-go'),
  ];
  await printRows(() => measureGo(context, named), 'plain');
}

const PARTS = {
  calls: compareCalls,
  handshakes: compareHandshakes,
  memory: compareMemory,
  go: compareGo,
};

/** @param options `--part=NAME` for one part only. */
async function run(options = []) {
  const chosen = options.flatMap((option) => /^--part=(.*)$/.exec(option)?.[1] ?? []);
  const unknown = chosen.filter((name) => !(name in PARTS));
  if (unknown.length > 0) throw new Error(`--part is one of: ${Object.keys(PARTS).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const files = makeCertificates(folder);
  const world = await startChild(here('./world-child.cjs'));
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(bootstrapOf(world.ready.address, files)));
    const context = { world, files, environment: { GRPC_XDS_BOOTSTRAP: bootstrap } };
    for (const [name, compare] of Object.entries(PARTS)) {
      if (chosen.length === 0 || chosen.includes(name)) await compare(context);
    }
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { run };
