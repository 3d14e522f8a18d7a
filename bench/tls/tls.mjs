// What mutual TLS costs when the control plane configures it: handshakes and calls, beside the credentials of grpc-js and the
// peer's on the same certificates. The variants take short turns, so that a slow moment of the machine hits all of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';
import { makeCertificates, SERVER_ID } from './certificates.mjs';

const RUNS = 5;
const HANDSHAKES = { count: 1000, turn: 100 };
const CALLS = { count: 20_000, turn: 1000 };
const ENDPOINTS = 1000;
const PEER = '@grpc/grpc-js-xds';
const here = (name) => new URL(name, import.meta.url).pathname;
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/**
 * Measures variants in turns, in several runs, each with processes of its own: how a process happens to be compiled is noise.
 * @returns by variant and run what each turn was answered with.
 */
async function measure(start, { count, turn }) {
  const results = new Map();
  for (let run = 0; run < RUNS; run++) {
    const children = await start();
    const turns = new Map([...children.keys()].map((name) => [name, []]));
    try {
      for (let done = 0; done < count; done += turn) {
        for (const [name, child] of children) turns.get(name).push(await child.ask(turn));
      }
    } finally {
      await Promise.all([...children.values()].map((child) => child.stop()));
    }
    for (const [name, answers] of turns) results.set(name, [...(results.get(name) ?? []), answers]);
  }
  return results;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const medianOf = (runs, key) => median(runs.map((turns) => mean(turns.map((turn) => turn[key]))));

/** How much more CPU than another variant, compared turn by turn: what drifts, or disturbs a turn, does not count. */
const overOf = (runs, others) =>
  median(
    runs.map((turns, run) =>
      median(turns.map(({ microseconds }, i) => microseconds / others[run][i].microseconds - 1)),
    ),
  );

async function handshakes({ files, world }) {
  const options = JSON.stringify({ port: world.ready.handshakePort, files, serverId: SERVER_ID });
  const start = (variant) => startChild(here('./handshake-child.cjs'), [variant, options]);
  const results = await measure(
    async () =>
      new Map([
        ['createSsl', await start('createSsl')],
        // How far apart two equal processes are: less than that is noise.
        ['createSsl again', await start('createSsl')],
        ['grpc-xds', await start('grpc-xds')],
        [PEER, await start(PEER)],
      ]),
    HANDSHAKES,
  );
  const baseline = results.get('createSsl');
  console.log(
    `\nHandshakes, mutual TLS, P-256 (median of ${RUNS} runs of ${HANDSHAKES.count}); the server is a process of its own`,
  );
  printTable([
    ['', 'per second', 'CPU µs', 'over createSsl'],
    ...[...results].map(([name, runs]) => [
      name,
      medianOf(runs, 'perSecond').toFixed(0),
      medianOf(runs, 'microseconds').toFixed(0),
      percent(overOf(runs, baseline)),
    ]),
  ]);
  console.log('  Target for grpc-xds: within 10 % of createSsl.');
}

async function calls({ files, world, environment }) {
  const start = async (variant, security) => {
    const target =
      variant === 'plain'
        ? `ipv4:${world.ready[security === 'tls' ? 'tls' : 'plain'].join(',')}`
        : `xds:///${security === 'tls' ? 'tls' : 'plain'}.bench`;
    const args = [variant, security, target, JSON.stringify(files)];
    const child = await startChild(here('./client-child.cjs'), args, environment);
    return {
      ask: (count) => child.ask({ client: 0, calls: count }),
      stop: () => child.stop(),
    };
  };
  const results = await measure(
    async () =>
      new Map([
        ['plain, insecure', await start('plain', 'insecure')],
        ['plain, createSsl', await start('plain', 'tls')],
        ['plain, createSsl again', await start('plain', 'tls')],
        ['grpc-xds, insecure', await start('grpc-xds', 'insecure')],
        ['grpc-xds, TLS', await start('grpc-xds', 'tls')],
        [`${PEER}, TLS`, await start(PEER, 'tls')],
      ]),
    CALLS,
  );
  const insecure = results.get('plain, insecure');
  const secure = results.get('plain, createSsl');
  console.log(
    `\nCPU per call on open connections, unary, 32 bytes, 4 backends (median of ${RUNS} runs of ${CALLS.count} calls)`,
  );
  printTable([
    ['', 'µs', 'over plain, insecure', 'over plain, createSsl'],
    ...[...results].map(([name, runs]) => [
      name,
      medianOf(runs, 'microseconds').toFixed(1),
      percent(overOf(runs, insecure)),
      percent(overOf(runs, secure)),
    ]),
  ]);
  const ofTls = overOf(results.get('grpc-xds, TLS'), secure);
  const ofXds = overOf(results.get('grpc-xds, insecure'), insecure);
  console.log(
    `  grpc-xds over plain: ${percent(ofXds)} insecure, ${percent(ofTls)} with TLS. Target: no difference beyond noise.`,
  );
}

async function endpoints({ world, environment }) {
  const rows = [];
  for (const security of ['plain', 'tls']) {
    const service = `many-${security}.bench`;
    const client = await startChild(here('./endpoints-child.cjs'), [service], environment);
    const opened = async () => (await world.ask('connections'))[security];
    try {
      const atFirst = await opened();
      await client.ask(1);
      const afterOne = await opened();
      await client.ask(10);
      const { cpuMs, rssMiB } = client.ready;
      rows.push([security, cpuMs.toFixed(0), rssMiB.toFixed(0), atFirst, afterOne, await opened()]);
    } finally {
      await client.stop();
    }
  }
  console.log(`\n${ENDPOINTS} endpoints of a ring_hash cluster beside one that is used`);
  printTable([
    ['', 'CPU ms', 'RSS MiB', 'connections before use', 'after a call', 'after 10 keys'],
    ...rows,
  ]);
  console.log('  Target: no connection before use, and one for each key at most.');
}

async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const files = makeCertificates(folder);
  const options = JSON.stringify({ files, serverId: SERVER_ID, endpoints: ENDPOINTS });
  const world = await startChild(here('./world-child.cjs'), [options]);
  try {
    const bootstrap = join(folder, 'bootstrap.json');
    writeFileSync(bootstrap, JSON.stringify(world.ready.bootstrap));
    const context = { files, world, environment: { GRPC_XDS_BOOTSTRAP: bootstrap } };
    await handshakes(context);
    await calls(context);
    await endpoints(context);
  } finally {
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export { run };
