// What a relay costs, and saves: many clients with many clusters, of which one changes, beside the same clients without it.
import { spawn, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../support/child.mjs';
import { quantile } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';
import { runAgents } from './agents.mjs';
import { cpuMsOf, memoryOf } from './usage.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
const CLUSTERS = 1000;
const WORKERS = 32;
const MANY = 500;
const UPDATES = 60;
const WARM_UPS = 10;
/** Between two updates, in milliseconds. */
const PAUSE_MS = 250;
/** How long a process may take to have the configuration. */
const START_MS = 180_000;
const INCREMENTAL = ['xds_v3', 'grpc_xds_delta'];

const bootstrapOf = (server_uri, id) => ({
  xds_servers: [
    { server_uri, channel_creds: [{ type: 'insecure' }], server_features: INCREMENTAL },
  ],
  node: { id },
});

/** `grpc-xds relay` below a control plane. */
class RelayProcess {
  static async start(upstream, folder) {
    const relay = new RelayProcess();
    relay.address = `unix:${join(folder, 'relay.sock')}`;
    const node = ['--expose-gc', '--require', here('./relay-child.cjs')];
    const args = [
      ...node,
      here('../../packages/cli/dist/main.js'),
      'relay',
      '--listen',
      relay.address,
    ];
    const GRPC_XDS_BOOTSTRAP_CONFIG = JSON.stringify(bootstrapOf(upstream, 'relay'));
    const env = { ...process.env, GRPC_XDS_BOOTSTRAP: '', GRPC_XDS_BOOTSTRAP_CONFIG };
    relay.process = spawn(process.execPath, args, {
      env,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    await once(relay.process.stdout, 'data');
    relay.process.stdout.resume();
    return relay;
  }

  get pid() {
    return this.process.pid;
  }

  /** Returns what it has in memory, in MiB: that of the process, and of it what is in use after a collection. */
  async memory() {
    const all = memoryOf(this.pid);
    const kept = once(this.process, 'message');
    this.process.send('memory');
    const [bytes] = await kept;
    return { all, kept: bytes / 2 ** 20 };
  }

  async stop() {
    this.process.kill();
    await once(this.process, 'exit');
  }
}

/** Processes with a client of this package each. */
class Workers {
  processes = [];
  #arrivals = [];
  #onArrived = () => {};

  static async start(address, count) {
    const workers = new Workers();
    for (let i = 0; i < count; i++) {
      const bootstrap = JSON.stringify(bootstrapOf(address, `worker-${i}`));
      const child = fork(here('./client-child.cjs'), [bootstrap, 'xds:///bench']);
      workers.processes.push(child);
      const ended = once(child, 'exit').then(([code]) => {
        throw new Error(`worker ${i} ended with ${code}`);
      });
      ended.catch(() => {});
      const signal = AbortSignal.timeout(START_MS);
      await Promise.race([once(child, 'message', { signal }), ended]);
      child.on('message', (message) => workers.#onMessage(message));
    }
    return workers;
  }

  get pids() {
    return this.processes.map(({ pid }) => pid);
  }

  /** Resolves with the times when the workers had the next change in use. */
  next() {
    this.#arrivals = [];
    return new Promise((resolve) => (this.#onArrived = resolve));
  }

  async stop() {
    await Promise.all(
      this.processes.map((child) => {
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
  }

  #onMessage({ at }) {
    this.#arrivals.push(at);
    if (this.#arrivals.length === this.processes.length) this.#onArrived(this.#arrivals);
  }
}

/** One process with many streams that decodes nothing. */
class Streams {
  static async start(address, count, names) {
    const streams = new Streams();
    const args = [address, String(count), JSON.stringify(names)];
    streams.process = fork(here('./streams-child.cjs'), args);
    await streams.next(START_MS);
    return streams;
  }

  get pids() {
    return [this.process.pid];
  }

  async next(timeoutMs = START_MS) {
    const [{ arrivals }] = await once(this.process, 'message', {
      signal: AbortSignal.timeout(timeoutMs),
    });
    return arrivals;
  }

  async stop() {
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}

/** Changes a cluster again and again. @returns the milliseconds until each client had it, and the CPU time per update. */
async function measureUpdates(world, clients, pidsByName) {
  const cpu = () =>
    Object.fromEntries(
      Object.entries(pidsByName).map(([name, pids]) => [
        name,
        pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0),
      ]),
    );
  const latencies = [];
  const update = async () => {
    const arrived = clients.next();
    const { sentAt } = await world.ask('update');
    const ms = (await arrived).map((at) => at - sentAt);
    await sleep(PAUSE_MS);
    return ms;
  };
  for (let i = 0; i < WARM_UPS; i++) await update();
  const before = cpu();
  for (let i = 0; i < UPDATES; i++) latencies.push(...(await update()));
  const after = cpu();
  const cpuMs = Object.fromEntries(
    Object.keys(before).map((name) => [name, (after[name] - before[name]) / UPDATES]),
  );
  return { latencies, cpuMs };
}

/** @param startClients Starts the clients at an address. */
async function measure(hasRelay, startClients) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const world = await startChild(here('./world-child.cjs'), [String(CLUSTERS)]);
  const { address, names, pid, bytes } = world.ready;
  const relay = hasRelay ? await RelayProcess.start(address, folder) : undefined;
  const idle = await relay?.memory();
  const clients = await startClients(relay?.address ?? address, names);
  try {
    const result = await measureUpdates(world, clients, {
      controlPlane: [pid],
      relay: relay ? [relay.pid] : [],
      clients: clients.pids,
    });
    const used = await relay?.memory();
    const added = relay && { all: used.all - idle.all, kept: used.kept - idle.kept };
    return { ...result, bytes, added };
  } finally {
    await clients.stop();
    await relay?.stop();
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const milliseconds = (value) => value.toFixed(1);

function row(name, { latencies, cpuMs, added }) {
  const { controlPlane, relay, clients } = cpuMs;
  return [
    name,
    ...[0.5, 0.99].map((share) => milliseconds(quantile(latencies, share))),
    ...[controlPlane, relay, clients, controlPlane + relay + clients].map(milliseconds),
    ...(added === undefined ? ['-', '-'] : [added.all, added.kept].map((mib) => mib.toFixed(1))),
  ];
}

const HEADING = [
  'until a change is in use or received',
  'p50 ms',
  'p99 ms',
  'CPU ms: control plane',
  'relay',
  'clients',
  'all',
  'MiB of the relay: all',
  'kept',
];

/** `RELAY_ONLY` runs the rows whose names contain it. */
export async function run() {
  const { RELAY_ONLY = '' } = process.env;
  await runAgents(RELAY_ONLY);
  const starts = {
    [`${WORKERS} processes`]: (address) => Workers.start(address, WORKERS),
    [`${WORKERS} streams`]: (address, names) => Streams.start(address, WORKERS, names),
    [`${MANY} streams`]: (address, names) => Streams.start(address, MANY, names),
  };
  const rows = [HEADING];
  const before = loadavg();
  for (const [name, start] of Object.entries(starts)) {
    if (!name.includes(RELAY_ONLY)) continue;
    const direct = await measure(false, start);
    rows.push(row(`${name}, direct`, direct));
    const relayed = await measure(true, start);
    rows.push(row(`${name}, behind a relay`, relayed));
    const added = [0.5, 0.99].map((share) =>
      milliseconds(quantile(relayed.latencies, share) - quantile(direct.latencies, share)),
    );
    rows.push(['  added', ...added, '', '', '', '', '', limitOf(name, relayed)]);
  }
  if (rows.length === 1) return;
  console.log(
    `\n${CLUSTERS} clusters, incremental variant: one changes every ${PAUSE_MS} ms, ${UPDATES} times; CPU per change\n`,
  );
  printTable(rows);
  console.log(`  Load of the machine: ${before.map(milliseconds).join(', ')} before`);
  console.log(
    '  Targets: 2 ms and 10 ms added; at most 1.5 × the bytes of the resources + 1 MB per client.',
  );
}

/** The memory that a relay may have. */
function limitOf(name, { bytes }) {
  return `limit ${((1.5 * bytes) / 2 ** 20 + Number.parseInt(name, 10)).toFixed(1)}`;
}
