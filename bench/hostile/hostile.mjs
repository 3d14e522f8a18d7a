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
/** Longest pause that is allowed, in milliseconds: for what is refused, and for what is accepted. */
const REFUSED_PAUSE_MS = 250;
const ACCEPTED_PAUSE_MS = 100;

/** A child process that may die, with the next message of it or `undefined`. */
class Child {
  constructor(script, argument, { descriptors = 0, heapMb } = {}) {
    const args = [...(heapMb ? [`--max-old-space-size=${heapMb}`] : []), here(script), argument];
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
  const options = { bootstrap: started.bootstrap, dist, headers, rest: rest && true, csds };
  const client = new Child('./client-child.cjs', JSON.stringify(options), {
    descriptors,
    heapMb: HEAP_MB,
  });
  try {
    const ready = await client.next();
    if (ready === undefined) throw new Error(`${name}: ${client.errors}`);
    await client.ask('begin');
    if (csds) await client.ask('wait until in use');
    await world.ask(ready);
    await sleep(seconds * 1000);
    const result = await client.ask('read');
    const rejections = await world.ask({});
    return { result, rejections, seconds, errors: client.errors };
  } finally {
    await client.stop();
    await world.stop();
  }
}

function verdict({ result }, { accepted, clusters = 0 }) {
  if (result === undefined) return 'DIED';
  if (result.clusters < clusters) return `${result.clusters} CLUSTERS IN USE`;
  const limit = accepted ? ACCEPTED_PAUSE_MS : REFUSED_PAUSE_MS;
  if (result.pauseMs > limit) return `PAUSE > ${limit}`;
  return result.goodCalls.failed > 0 ? 'CALLS FAILED' : 'ok';
}

function row(name, outcome) {
  const { result, rejections } = outcome;
  const state = cases[name].accepted ? 'accepted' : 'hostile';
  const refused = rejections && Object.keys(rejections).length > 0 ? 'refused' : '-';
  const last = verdict(outcome, cases[name]);
  if (result === undefined) return [name, state, '-', '-', '-', '-', refused, last];
  const { pauseMs, cpuMs, rssMiB, goodCalls } = result;
  const calls = `${goodCalls.failed}/${goodCalls.ok + goodCalls.failed}`;
  const cpu = `${((cpuMs / outcome.seconds / 1000) * 100).toFixed(0)} %`;
  return [name, state, pauseMs.toFixed(0), cpu, rssMiB.toFixed(0), calls, refused, last];
}

/** `HOSTILE_DIST` runs another build, `HOSTILE_ONLY` the cases whose names contain it, `HOSTILE_VERBOSE` prints more. */
export async function run() {
  const { HOSTILE_DIST, HOSTILE_ONLY = '', HOSTILE_VERBOSE } = process.env;
  const dist = resolve(HOSTILE_DIST ?? here('../../dist/index.js'));
  console.log(
    `\nHostile input, in a process with a heap of ${HEAP_MB} MB and 50 good calls per second\n`,
  );
  const rows = [
    ['case', '', 'longest pause ms', 'CPU', 'RSS MiB', 'good calls failed', 'answer', 'verdict'],
  ];
  for (const name of Object.keys(cases).filter((each) => each.includes(HOSTILE_ONLY))) {
    const outcome = await runCase(name, dist);
    rows.push(row(name, outcome));
    if (HOSTILE_VERBOSE) console.log(name, JSON.stringify(outcome, null, 1));
  }
  printTable(rows);
  if (rows.slice(1).some((cells) => cells.at(-1) !== 'ok')) process.exitCode = 1;
}
