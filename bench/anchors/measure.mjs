// Measures one client in one row: updates while calls are due, or its first calls.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LineProcess } from '../../interop/cross/line-process.mjs';
import { LeanWorld } from '../support/lean-world.mjs';
import { median } from '../support/statistics.mjs';

const TARGET = 'xds:///echo.example.com';
export const CALL_INTERVAL_MS = 5;
export const UPDATE_INTERVAL_MS = 200;
export const WARM_UPS = 40;
export const UPDATES_PER_WINDOW = 10;
export const WINDOWS = 9;
/** The number of windows without calls, in which CPU is measured. */
export const CPU_WINDOWS = 5;
/** Before them: compiling goes on in the background for that long. */
export const CPU_WARM_UPS = 150;
/** Such that a client makes one call, and no other. */
const NO_CALLS_MS = 3_600_000;
/** Processes of which the first update is measured; the last of them goes on. */
export const FIRST_UPDATES = 5;
/** For clients that take seconds for an update: so many are made as fit into it, and one at least. */
const WINDOW_LIMIT_MS = 10_000;
const WARM_UP_INTERVAL_MS = 60;
const SETTLE_MS = 1000;
const PAUSE_LIMIT_MS = 2000;

/** Starts a program and makes its first call. @returns it, and the milliseconds that took. */
async function startClient(world, { command, env }, target) {
  const startedAt = performance.now();
  const client = await LineProcess.start(command, { ...env, ...world.environment });
  const answer = await client.ask({
    do: 'call',
    target,
    count: 1,
    method: 'EmptyCall',
    timeoutMs: 60_000,
  });
  if ((answer.message ?? '') !== '') throw new Error(answer.message);
  return { client, ms: performance.now() - startedAt };
}

/**
 * Measures updates: those of a client that makes calls all the time, then the CPU of those of another, which makes none.
 *
 * @returns the medians of the windows, the first update, and what the process has at the end.
 */
export async function measureUpdates(row, program) {
  const world = await LeanWorld.start(row);
  try {
    const firsts = [];
    let client;
    for (let i = 0; i < FIRST_UPDATES; i++) {
      await client?.stop();
      client = await startProbes(world, row, program);
      await sleep(3 * SETTLE_MS + pauseMs(i));
      firsts.push(await new Window(world, client).run(1));
    }
    const window = new Window(world, client);
    await window.run(WARM_UPS, WARM_UP_INTERVAL_MS);
    const results = await runWindows(window, WINDOWS);
    const process = processFigures(client.pid);
    await client.stop();
    const cpuMs = await measureCpu(world, row, program);
    return { cpuMs, ...summarize(firsts, results), ...process };
  } finally {
    await world.stop();
  }
}

/** Measures the CPU of an update while there are no calls, which take a hundred times as much. */
async function measureCpu(world, row, program) {
  const client = await startProbes(world, row, program, NO_CALLS_MS);
  const window = new Window(world, client);
  await window.run(CPU_WARM_UPS, WARM_UP_INTERVAL_MS);
  const results = await runWindows(window, CPU_WINDOWS);
  await client.stop();
  return median(results.map(({ idle, busy }) => cpuOf(busy, rateOf(idle))));
}

/** Runs windows with and without updates in turn; fewer if not all updates fit into one. */
async function runWindows(window, count) {
  const results = [];
  for (let i = 0; i < count; i++) {
    await sleep(pauseMs(2 * i));
    const idle = await window.idle();
    await sleep(pauseMs(2 * i + 1));
    results.push({ idle, busy: await window.run(UPDATES_PER_WINDOW) });
    if (results.at(-1).busy.updates < UPDATES_PER_WINDOW) break;
  }
  return results;
}

/** Starts a program that makes a call every so many milliseconds. */
async function startProbes(world, row, program, intervalMs = CALL_INTERVAL_MS) {
  const { client } = await startClient(world, program, TARGET);
  await world.waitForConnections(row.connections);
  await sleep(SETTLE_MS);
  await client.ask({ do: 'probe', target: TARGET, intervalMs });
  return client;
}

/** Of another length each time: otherwise what a process does every few seconds would fall into the same windows. */
function pauseMs(i) {
  const goldenRatio = (1 + Math.sqrt(5)) / 2;
  return ((i * goldenRatio) % 1) * PAUSE_LIMIT_MS;
}

class Window {
  constructor(world, client) {
    this.world = world;
    this.client = client;
  }

  /** Sends updates, each not before the last one was acknowledged. */
  async run(updates, intervalMs = UPDATE_INTERVAL_MS) {
    await this.measured();
    const startedAt = performance.now();
    const acksMs = [];
    while (acksMs.length < updates && performance.now() - startedAt < WINDOW_LIMIT_MS) {
      const pause = sleep(intervalMs);
      acksMs.push(await this.world.update());
      await pause;
    }
    return this.result(startedAt, acksMs);
  }

  async idle() {
    await this.measured();
    const startedAt = performance.now();
    await sleep(UPDATES_PER_WINDOW * UPDATE_INTERVAL_MS);
    return this.result(startedAt, []);
  }

  async result(startedAt, acksMs) {
    const { slowestMs, cpuMs, failed } = await this.measured();
    const lengthMs = performance.now() - startedAt;
    return { slowestMs, cpuMs, failed, lengthMs, acksMs, updates: acksMs.length };
  }

  measured() {
    return this.client.ask({ do: 'measured' });
  }
}

const rateOf = ({ cpuMs, lengthMs }) => cpuMs / lengthMs;
const cpuOf = ({ cpuMs, lengthMs, updates }, idleRate) => (cpuMs - idleRate * lengthMs) / updates;

function summarize(firsts, results) {
  const of = (value) => median(results.map(value));
  const idleRate = of(({ idle }) => rateOf(idle));
  const failedIn = (windows) => windows.reduce((sum, { failed }) => sum + failed, 0);
  return {
    ackMs: median(results.flatMap(({ busy }) => busy.acksMs)),
    slowestMs: of(({ busy }) => busy.slowestMs),
    idleSlowestMs: of(({ idle }) => idle.slowestMs),
    firstCpuMs: median(firsts.map((first) => cpuOf(first, idleRate))),
    firstSlowestMs: median(firsts.map(({ slowestMs }) => slowestMs)),
    failed: failedIn([...firsts, ...results.flatMap(({ idle, busy }) => [idle, busy])]),
  };
}

/** What the process has: memory and sockets. `undefined` where there is no `/proc`. */
function processFigures(pid) {
  try {
    const [, kB] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    const files = readdirSync(`/proc/${pid}/fd`).map((fd) => targetOf(`/proc/${pid}/fd/${fd}`));
    const sockets = files.filter((file) => file.startsWith('socket:')).length;
    return { rssMiB: Number(kB) / 1024, sockets };
  } catch {
    return { rssMiB: undefined, sockets: undefined };
  }
}

function targetOf(link) {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed since
  }
}

/** Measures first calls, with and without xDS in turn. @returns both medians in milliseconds. */
export async function measureFirstCalls(row, program, starts) {
  const world = await LeanWorld.start(row);
  const [plain, xds] = [[], []];
  try {
    for (let i = 0; i < starts; i++) {
      for (const [times, which, target] of [
        [plain, program.plain ?? program, world.backendAddress],
        [xds, program, TARGET],
      ]) {
        const { client, ms } = await startClient(world, which, target);
        times.push(ms);
        await client.stop();
      }
    }
    return { plainMs: median(plain), xdsMs: median(xds) };
  } finally {
    await world.stop();
  }
}
