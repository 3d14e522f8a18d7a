// The whole of grpc-xds at work, on this machine and in under half a minute: a control plane that serves a
// YAML file, real backends in two localities, and a client on an `xds:` target while the file changes. The last table is
// what the client has reported to the control plane. `npx grpc-xds-cli demo` and `npm run demo` run this file.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { ControlPlane, watchResourceFile } from 'grpc-xds/control-plane';
import { register, shutdown } from 'grpc-xds';
import { Backend } from './backends.mjs';
import { Load } from './load.mjs';
import { steps } from './steps.mjs';

// The ports in resources.yaml stand for these backends.
const BACKENDS = new Map([
  [50051, 'west-1'],
  [50052, 'west-2'],
  [50053, 'west-3'],
  [50054, 'east-1'],
  [50055, 'v2-1'],
]);
const CAPACITY = 100;
/** One of them is on a bigger machine. */
const BIG = { name: 'west-3', capacity: 200 };

async function startBackends() {
  const backends = new Map();
  for (const name of BACKENDS.values()) {
    const backend = new Backend(name, name === BIG.name ? BIG.capacity : CAPACITY);
    await backend.start();
    backends.set(name, backend);
  }
  return backends;
}

function loadResources(backends) {
  const text = readFileSync(new URL('resources.yaml', import.meta.url), 'utf8');
  const withPorts = text.replace(/port_value: (\d+)/g, (whole, port) => {
    const name = BACKENDS.get(Number(port));
    return name === undefined ? whole : `port_value: ${backends.get(name).port}`;
  });
  return parse(withPorts);
}

function writeAtomically(file, resources) {
  writeFileSync(`${file}.new`, stringify(resources));
  renameSync(`${file}.new`, file);
}

async function startControlPlane(file) {
  const controlPlane = new ControlPlane({ loadReporting: { intervalMs: 1000 } });
  const watch = watchResourceFile(file, {
    onSnapshot: (snapshot) => controlPlane.setSnapshot(snapshot),
    onError: (message) => console.error(`control plane: ${message}`),
  });
  const { address } = await controlPlane.start();
  return { controlPlane, watch, address };
}

function printHeading(names) {
  console.log(`\n${'second'.padStart(6)}  ${names.map((name) => name.padStart(7)).join('')}`);
}

function printCounts(second, names, counts) {
  const cells = names.map((name) => String(counts.get(name) ?? '.').padStart(7));
  console.log(`${String(second).padStart(6)}  ${cells.join('')}`);
}

async function play(load, backends, file, resources) {
  const names = [...BACKENDS.values()];
  let second = 0;
  printHeading(names);
  for (const step of steps) {
    console.log(`        > ${step.text}`);
    if (step.edit !== undefined) {
      step.edit(resources, backends);
      writeAtomically(file, resources);
    }
    await step.act?.(backends);
    for (let i = 0; i < step.seconds; i++) {
      await sleep(1000);
      printCounts(++second, names, load.takeCounts());
    }
  }
}

/** Prints the load reports of the client, and returns the sums. */
function printLoads(controlPlane) {
  console.log('\nLoad reports: cluster, locality, attempts of calls issued, succeeded and failed');
  const sums = { attempts: 0, failed: 0 };
  for (const { cluster, localities } of controlPlane.loads()) {
    for (const { region, zone, issued, succeeded, failed } of localities) {
      const numbers = [issued, succeeded, failed].map((count) => String(count).padStart(6));
      console.log(`  ${cluster.padEnd(8)} ${`${region}/${zone}`.padEnd(8)}${numbers.join('')}`);
      sums.attempts += issued;
      sums.failed += failed;
    }
  }
  return sums;
}

/** Prints the sum of the calls. A call that succeeds at its second attempt has not failed. */
function report(load, { attempts, failed: failedAttempts }) {
  const failed = [...load.failures.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `\n${load.total} calls, ${failed} failed; ${attempts} attempts, ${failedAttempts} failed.`,
  );
  for (const [message, count] of load.failures) console.log(`  ${count}x ${message}`);
  return failed === 0;
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-demo-'));
  const file = join(folder, 'resources.yaml');
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(1);
    });
  }
  const backends = await startBackends();
  const resources = loadResources(backends);
  writeAtomically(file, resources);
  const { controlPlane, watch, address } = await startControlPlane(file);
  console.log(`Control plane on ${address}, serving ${file}`);

  register({
    bootstrap: {
      xds_servers: [{ server_uri: address, channel_creds: [{ type: 'insecure' }] }],
      node: { id: 'demo-client' },
    },
  });
  const load = new Load('xds:///shop.example.com');
  load.start();
  let loads;
  try {
    await play(load, backends, file, resources);
  } finally {
    await load.stop();
    // Waits for the last report.
    await shutdown();
    loads = printLoads(controlPlane);
    watch.close();
    await controlPlane.close();
    for (const backend of backends.values()) backend.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  if (!report(load, loads)) process.exitCode = 1;
}

await main();
