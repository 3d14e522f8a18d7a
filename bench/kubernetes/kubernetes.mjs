// What a change of one endpoint costs a control plane, by how many clients need it; memory, and the start from nothing. Runs
// again in a network namespace of its own, as `npm run kubernetes` does.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMsOf, memoryOf } from '../relay/usage.mjs';
import { quantile } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';
import { GoControlPlane, KubernetesControlPlane } from './control-planes.mjs';
import { clusterOf, SERVICES, targetOf, zoneOf } from './world.mjs';

const require = createRequire(import.meta.url);
const { isInNamespace, runInNamespace } = require('../../test/kubernetes/cluster/namespace.ts');

const here = (name) => new URL(name, import.meta.url).pathname;
const STREAMS = 490;
const CLIENTS = 10;
const SERVICES_OF_CLIENT = 20;
const WARM_UPS = 5;
const UPDATES = 60;
const PAUSE_MS = 50;
const START_MS = 180_000;

/** The services that are changed, by how many of the streams need them. */
const CHANGED = [
  { index: SERVICES - 1, needed: STREAMS },
  { index: SERVICES - 2, needed: STREAMS / 10 },
  { index: SERVICES - 3, needed: 1 },
  { index: SERVICES - 4, needed: 0 },
];

/** The subscriptions of a stream: services of its own choice, and those that are changed, if it is to need them. */
const streamOf = (number) => {
  const own = Array.from({ length: SERVICES_OF_CLIENT }, (_, i) => (number * 37 + i * 61) % 1900);
  const changed = CHANGED.filter(({ needed }) => number < needed).map(({ index }) => index);
  return {
    id: `stream-${number}`,
    zone: zoneOf(number),
    names: [...new Set([...own, ...changed])].map(clusterOf),
  };
};

/** A process with many streams that decodes nothing. */
class Streams {
  async start(address, folder) {
    const path = join(folder, 'streams.json');
    writeFileSync(path, JSON.stringify(Array.from({ length: STREAMS }, (_, i) => streamOf(i))));
    this.process = fork(here('./streams-child.cjs'), [address, path]);
    await once(this.process, 'message', { signal: AbortSignal.timeout(START_MS) });
  }

  /** Resolves with what was received when so many responses have arrived. */
  async next(expect) {
    const answer = once(this.process, 'message', { signal: AbortSignal.timeout(START_MS) });
    this.process.send({ expect });
    const [received] = await answer;
    return received;
  }

  async stop() {
    this.process?.kill('SIGKILL');
  }
}

/** Processes with a client of this package each, which have the service that all need. */
class Clients {
  processes = [];

  async start(address) {
    for (let i = 0; i < CLIENTS; i++) {
      const bootstrap = {
        xds_servers: [
          {
            server_uri: address,
            channel_creds: [{ type: 'insecure' }],
            server_features: ['xds_v3', 'grpc_xds_delta'],
          },
        ],
        node: { id: `client-${i}`, locality: { zone: zoneOf(i) } },
      };
      const args = [JSON.stringify(bootstrap), targetOf(CHANGED[0].index)];
      // The pods are not there.
      const env = { ...process.env, GRPC_VERBOSITY: 'NONE' };
      const child = fork(here('../relay/client-child.cjs'), args, { env });
      await once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
      this.processes.push(child);
    }
  }

  /** Resolves with the times when each had the next change in use. */
  next() {
    const signal = AbortSignal.timeout(START_MS);
    return Promise.all(
      this.processes.map((child) => once(child, 'message', { signal }).then(([{ at }]) => at)),
    );
  }

  stop() {
    for (const child of this.processes) child.kill('SIGKILL');
  }
}

/** Changes an endpoint of a service again and again. */
async function measureUpdates(controlPlane, streams, { index, needed }, versions) {
  const latencies = [];
  let bytes = 0;
  const update = async () => {
    const received = streams.next(needed);
    const answeredMs = await controlPlane.update(index, versions.next++);
    const { arrivals, bytes: sent } = await received;
    bytes += sent;
    latencies.push(...arrivals.map((at) => Math.max(0, at - answeredMs)));
    await sleep(PAUSE_MS);
  };
  for (let i = 0; i < WARM_UPS; i++) await update();
  latencies.length = 0;
  bytes = 0;
  const cpuBefore = cpuMsOf(controlPlane.pid);
  for (let i = 0; i < UPDATES; i++) await update();
  const cpuMs = (cpuMsOf(controlPlane.pid) - cpuBefore) / UPDATES;
  return { needed, cpuMs, bytes: bytes / UPDATES, latencies };
}

/** Changes an endpoint that clients of this package have in use. @returns the milliseconds from the answer to each. */
async function measureInUse(controlPlane, clients, versions) {
  const latencies = [];
  for (let i = 0; i < UPDATES; i++) {
    const arrived = clients.next();
    const answeredMs = await controlPlane.update(CHANGED[0].index, versions.next++);
    latencies.push(...(await arrived).map((at) => Math.max(0, at - answeredMs)));
    await sleep(PAUSE_MS);
  }
  return latencies;
}

async function measure(controlPlane) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const [streams, clients] = [new Streams(), new Clients()];
  const versions = { next: 1 };
  try {
    await controlPlane.start();
    const idle = memoryOf(controlPlane.pid);
    await streams.start(controlPlane.address, folder);
    const updates = [];
    for (const changed of CHANGED) {
      updates.push(await measureUpdates(controlPlane, streams, changed, versions));
    }
    const { hasAllTypes } = controlPlane;
    if (hasAllTypes) await clients.start(controlPlane.address);
    const inUse = hasAllTypes ? await measureInUse(controlPlane, clients, versions) : [];
    const { name, startMs, pid } = controlPlane;
    return { name, startMs, idle, used: memoryOf(pid), updates, inUse };
  } finally {
    clients.stop();
    await streams.stop();
    await controlPlane.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const fixed = (value, digits = 1) => (value === undefined ? '-' : value.toFixed(digits));

function printUpdates(results) {
  const rows = [
    ['one endpoint changes', 'clients that need it', 'CPU ms', 'bytes', 'p50 ms', 'p99 ms'],
  ];
  for (const { name, updates } of results) {
    for (const { needed, cpuMs, bytes, latencies } of updates) {
      const at = (share) => fixed(quantile(latencies, share));
      rows.push([name, needed, fixed(cpuMs, 2), Math.round(bytes), at(0.5), at(0.99)]);
    }
  }
  printTable(rows);
}

function printProcesses(results) {
  const rows = [
    ['process', 'start ms', 'MiB at start', 'MiB with clients', 'in use: p50 ms', 'p99 ms'],
  ];
  for (const { name, startMs, idle, used, inUse } of results) {
    const at = (share) => fixed(quantile(inUse, share));
    rows.push([name, Math.round(startMs), fixed(idle), fixed(used), at(0.5), at(0.99)]);
  }
  printTable(rows);
}

/** The CPU time of the first in that of the second. */
function printRatio([own, other]) {
  const ratios = own.updates.map(({ needed, cpuMs }, i) => {
    return `${needed} clients ${fixed(cpuMs / other.updates[i].cpuMs, 2)}`;
  });
  console.log(`  CPU, as a ratio of ${own.name} to ${other.name}: ${ratios.join(', ')}`);
}

/** `KUBERNETES_ONLY` runs the control planes whose names contain it. */
async function compare() {
  const { KUBERNETES_ONLY = '' } = process.env;
  const before = loadavg();
  const results = [];
  for (const controlPlane of [new KubernetesControlPlane(), new GoControlPlane()]) {
    if (!controlPlane.name.includes(KUBERNETES_ONLY)) continue;
    const problem = await controlPlane.findProblem();
    if (problem === undefined) results.push(await measure(controlPlane));
    else console.log(`  ${controlPlane.name} did not run: ${problem}`);
  }
  console.log(
    `\n${SERVICES} services, ${STREAMS} streams of endpoints and ${CLIENTS} clients of this package\n`,
  );
  printUpdates(results);
  console.log();
  printProcesses(results);
  console.log();
  if (results.length === 2) printRatio(results);
  console.log(`  Load of the machine before: ${before.map((value) => fixed(value)).join(', ')}`);
}

export async function run() {
  if (isInNamespace()) return compare();
  // There is no network in the namespace to load packages from.
  await new GoControlPlane().findProblem();
  process.exitCode = await runInNamespace(['kubernetes']);
}
