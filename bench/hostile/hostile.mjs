// What a hostile control plane, or a hostile caller of the admin port, does to a process of 512 MB: each case in a child
// process of its own, with fifty good calls a second beside it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printTable } from '../support/table.mjs';

const { cases } = createRequire(import.meta.url)('./cases.cjs');
const here = (name) => new URL(name, import.meta.url).pathname;

const HEAP_MB = 512;
const SECONDS = 10;
/** How much longer than that of a message of the same size whose bytes are ignored a pause may be, in milliseconds. */
const PAUSE_MS = 50;
/** Memory over the good state, the time until a good change is in use, and the share of a core that may be used. */
const ADDED_MIB = 200;
const HEALED_MS = 2000;
const CPU_PERCENT = 50;

/** A child process that may die, with the next message of it or `undefined`. */
class Child {
  constructor(script, argument, { descriptors = 0, heapMb } = {}) {
    const args = [
      ...(heapMb ? ['--expose-gc'] : []),
      ...(heapMb ? [`--max-old-space-size=${heapMb}`] : []),
      here(script),
      argument,
    ];
    const limit = descriptors > 0 ? `ulimit -n ${descriptors} && ` : '';
    const stdio = ['ignore', 'inherit', 'pipe', 'ipc'];
    this.process = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, ...args], {
      stdio,
    });
    this.errors = '';
    this.process.stderr.on('data', (text) => (this.errors += text));
    this.ended = once(this.process, 'exit').then(() => undefined);
  }

  async next(timeoutMs = 120_000) {
    const message = once(this.process, 'message').then(([value]) => value);
    const timeout = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined);
    const first = await Promise.race([message, this.ended, late]);
    timeout.abort();
    return first;
  }

  ask(question) {
    const answer = this.next();
    this.process.send(question, () => {});
    return answer;
  }

  async stop() {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

async function runCase(name, dist) {
  const { headers, rest, csds, descriptors, seconds = SECONDS } = cases[name];
  const world = new Child('./world-child.cjs', name);
  const started = await world.next();
  if (started === undefined) throw new Error(`${name}: ${world.errors}`);
  const options = { bootstrap: started.bootstrap, dist, rest: rest && true, csds };
  const client = new Child('./client-child.cjs', JSON.stringify(options), {
    descriptors,
    heapMb: HEAP_MB,
  });
  try {
    const ready = await client.next();
    if (ready === undefined) throw new Error(`${name}: ${client.errors}`);
    await client.ask({ begin: headers ?? {} });
    if (csds) await client.ask('wait until in use');
    await world.ask(ready);
    await sleep(seconds * 1000);
    const result = await client.ask('read');
    const rejections = await world.ask({});
    const { healedPort } = rest ? {} : ((await world.ask({ heal: true })) ?? {});
    const healed = healedPort && (await client.ask({ healedPort }));
    return { result, rejections, seconds, healedMs: healed?.ms, errors: client.errors };
  } finally {
    await client.stop();
    await world.stop();
  }
}

/** The pauses of messages whose bytes are ignored: the longest for large ones, and for small ones. */
const ignored = { largeMs: 0, smallMs: 0 };

function noteIgnored(name, { result }) {
  if (!cases[name].ignored || result === undefined) return;
  if (name.includes('60 MB')) ignored.largeMs = result.pauseMs;
  else ignored.smallMs = result.pauseMs;
}

function verdict(name, { result, healedMs, seconds }) {
  const { rest, clusters = 0, accepted, flood } = cases[name];
  if (result === undefined) return 'DIED';
  if (result.clusters < clusters) return `${result.clusters} CLUSTERS IN USE`;
  const isLarge = /60 MB|30,000,000|50 MB|200 MB|4,000,000|1,000,000 endpoints/.test(name);
  const limitMs = PAUSE_MS + (isLarge ? ignored.largeMs : ignored.smallMs);
  if (result.pauseMs > limitMs) return `PAUSE > ${limitMs.toFixed(0)}`;
  // What is accepted is kept; while it is applied, the heap has the old and the new one, and what is not collected yet.
  if ((accepted ? result.keptMiB : result.addedMiB) > ADDED_MIB) return `MEMORY > ${ADDED_MIB}`;
  if (result.goodCalls.failed > 0) return 'CALLS FAILED';
  if (flood && cpuPercent(result, seconds) > CPU_PERCENT) return `CPU > ${CPU_PERCENT} %`;
  return rest || healedMs <= HEALED_MS ? 'ok' : 'GOOD CHANGE LATE';
}

const cpuPercent = ({ cpuMs }, seconds) => (cpuMs / seconds / 1000) * 100;

function row(name, outcome) {
  const { result, rejections, healedMs, seconds } = outcome;
  const state = cases[name].accepted ? 'accepted' : 'hostile';
  const refused = rejections && Object.keys(rejections).length > 0 ? 'refused' : '-';
  const last = verdict(name, outcome);
  if (result === undefined) return [name, state, '-', '-', '-', '-', '-', refused, last];
  const { pauseMs, addedMiB, keptMiB, goodCalls } = result;
  const calls = `${goodCalls.failed}/${goodCalls.ok + goodCalls.failed}`;
  const cpu = `${cpuPercent(result, seconds).toFixed(0)} %`;
  const healed = healedMs === undefined ? '-' : healedMs.toFixed(0);
  return [
    name,
    state,
    pauseMs.toFixed(0),
    cpu,
    `${addedMiB.toFixed(0)}, ${keptMiB.toFixed(0)}`,
    calls,
    healed,
    refused,
    last,
  ];
}

/** `HOSTILE_DIST` runs another build, `HOSTILE_ONLY` the cases whose names contain it, `HOSTILE_VERBOSE` prints more. */
export async function run() {
  const { HOSTILE_DIST, HOSTILE_ONLY = '', HOSTILE_VERBOSE } = process.env;
  const dist = resolve(HOSTILE_DIST ?? here('../../dist/index.js'));
  console.log(
    `\nHostile input, in a process with a heap of ${HEAP_MB} MB and 50 good calls per second\n`,
  );
  const rows = [
    [
      'case',
      '',
      'longest pause ms',
      'CPU',
      'MiB more: at most, kept',
      'good calls failed',
      'good change in use ms',
      'answer',
      'verdict',
    ],
  ];
  for (const name of Object.keys(cases).filter((each) => each.includes(HOSTILE_ONLY))) {
    const outcome = await runCase(name, dist);
    noteIgnored(name, outcome);
    rows.push(row(name, outcome));
    console.error(rows.at(-1).join(' | '));
    if (HOSTILE_VERBOSE) console.log(name, JSON.stringify(outcome, null, 1));
  }
  printTable(rows);
  if (rows.slice(1).some((cells) => cells.at(-1) !== 'ok')) process.exitCode = 1;
}
