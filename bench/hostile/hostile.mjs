// What a hostile control plane, or a hostile caller of the admin port, does to a process of 512 MB: each case in a child
// process of its own, with fifty good calls a second beside it.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';
import { Child } from './child.mjs';
import { runRelays } from './relays.mjs';
import { runServers } from './servers.mjs';

const { cases } = createRequire(import.meta.url)('./cases.cjs');
const here = (name) => new URL(name, import.meta.url).pathname;

const HEAP_MB = 512;
const SECONDS = 10;
/** How much longer than that of a message of the same size whose bytes are ignored a pause may be, in milliseconds. */
const PAUSE_MS = 50;
/** Memory over the good state, and the time until a good change is in use. */
const ADDED_MIB = 200;
const HEALED_MS = 2000;
/** What a control plane that does not stop sending may take of a core, besides what calls take without it. */
const ADS_PERCENT = 50;
/** How long calls are measured alone, once what was sent before has been read, in milliseconds. */
const ALONE_MS = 3000;
const CALM_MS = 1000;

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
    const alone = isFlood(name) && healed && (await measureAlone(client));
    const { errors } = client;
    return {
      result,
      rejections,
      seconds,
      healedMs: healed?.ms,
      aloneShare: alone?.cpuShare,
      errors,
    };
  } finally {
    await client.stop();
    await world.stop();
  }
}

/** Whether a case sends for as long as it runs. */
const isFlood = (name) => cases[name].flood !== undefined || cases[name].flaps !== undefined;

/** Measures what calls take of a core when the control plane sends nothing. */
async function measureAlone(client) {
  await sleep(CALM_MS);
  return client.ask({ aloneMs: ALONE_MS });
}

/** The longest pauses of messages whose bytes are ignored, by case: of each run. */
const ignoredMs = new Map();

/** Returns the case whose bytes are ignored that a case is compared with: of the same transport and about the same size. */
function baselineOf(name) {
  const isLarge = /60 MB|30,000,000|50 MB|200 MB|4,000,000|1,000,000 endpoints/.test(name);
  if (!cases[name].rest) return `ignored: ${isLarge ? 60 : 2} MB in a field that is not known`;
  return isLarge
    ? 'ignored: 50 MB over REST in a field that is not known'
    : 'ignored: an answer over REST without resources';
}

function verdict(name, outcome) {
  const { result, healedMs } = outcome;
  const { rest, clusters = 0, accepted } = cases[name];
  if (result === undefined) return 'DIED';
  if (result.clusters < clusters) return `${result.clusters} CLUSTERS IN USE`;
  const limitMs = PAUSE_MS + median(ignoredMs.get(baselineOf(name)) ?? [0]);
  if (result.pauseMs > limitMs) return `PAUSE > ${limitMs.toFixed(0)}`;
  // What is accepted is kept; while it is applied, the heap has the old and the new one, and what is not collected yet.
  if ((accepted ? result.keptMiB : result.addedMiB) > ADDED_MIB) return `MEMORY > ${ADDED_MIB}`;
  if (result.goodCalls.failed > 0) return 'CALLS FAILED';
  if (isFlood(name) && !(adsPercent(outcome) <= ADS_PERCENT)) return `CPU > ${ADS_PERCENT} %`;
  return rest || healedMs <= HEALED_MS ? 'ok' : 'GOOD CHANGE LATE';
}

const cpuPercent = ({ cpuMs }, seconds) => (cpuMs / seconds / 1000) * 100;

/** What ADS or LRS took of a core: all, without what calls take alone. Not a number if the client ended meanwhile. */
const adsPercent = ({ result, seconds, aloneShare = NaN }) =>
  cpuPercent(result, seconds) - aloneShare * 100;

function row(name, outcome) {
  const { result, rejections, healedMs, seconds } = outcome;
  const state = cases[name].accepted ? 'accepted' : 'hostile';
  const refused = rejections && Object.keys(rejections).length > 0 ? 'refused' : '-';
  const last = verdict(name, outcome);
  if (result === undefined) return [name, state, '-', '-', '-', '-', '-', '-', refused, last];
  const { pauseMs, addedMiB, keptMiB, goodCalls } = result;
  const calls = `${goodCalls.failed}/${goodCalls.ok + goodCalls.failed}`;
  const cpu = `${cpuPercent(result, seconds).toFixed(0)} %`;
  const healed = healedMs === undefined ? '-' : healedMs.toFixed(0);
  return [
    name,
    state,
    `${pauseMs.toFixed(0)}${outcome.runs > 1 ? ` (of ${outcome.runs})` : ''}`,
    cpu,
    isFlood(name) ? `${adsPercent(outcome).toFixed(0)} %` : '-',
    `${addedMiB.toFixed(0)}, ${keptMiB.toFixed(0)}`,
    calls,
    healed,
    refused,
    last,
  ];
}

/** Returns the cases whose names contain a text, after those that they are compared with. */
function selected(text) {
  const names = Object.keys(cases).filter((name) => name.includes(text));
  return [...new Set([...names.map(baselineOf), ...names])];
}

/** How often a case is run whose pause is above its target in the first run: the machine may have paused as well. */
const RUNS = 3;

/** Runs a case, and again with the one it is compared with if it pauses for too long. @returns the run of the median pause. */
async function measureCase(name, dist) {
  const runOnce = async (each) => {
    const outcome = await runCase(each, dist);
    if (cases[each].ignored) {
      ignoredMs.set(each, [...(ignoredMs.get(each) ?? []), outcome.result?.pauseMs ?? 0]);
    }
    return outcome;
  };
  const outcomes = [await runOnce(name)];
  while (outcomes.length < RUNS && verdict(name, outcomes[0]).startsWith('PAUSE')) {
    await runOnce(baselineOf(name));
    outcomes.push(await runOnce(name));
  }
  // One that died is the worst.
  const pauseOf = ({ result }) => result?.pauseMs ?? Infinity;
  outcomes.sort((a, b) => pauseOf(a) - pauseOf(b));
  const worst = outcomes.at(-1);
  return worst.result === undefined
    ? worst
    : { ...outcomes[outcomes.length >> 1], runs: outcomes.length };
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
      'of it ADS, LRS',
      'MiB more: at most, kept',
      'good calls failed',
      'good change in use ms',
      'answer',
      'verdict',
    ],
  ];
  for (const name of selected(HOSTILE_ONLY)) {
    const outcome = await measureCase(name, dist);
    rows.push(row(name, outcome));
    console.error(rows.at(-1).join(' | '));
    if (HOSTILE_VERBOSE) console.log(name, JSON.stringify(outcome, null, 1));
  }
  if (rows.length > 1) printTable(rows);
  const limits = { heapMb: HEAP_MB, pauseMs: PAUSE_MS, addedMiB: ADDED_MIB };
  const ofServers = await runServers(HOSTILE_ONLY, limits);
  const ofRelays = await runRelays(HOSTILE_ONLY, limits);
  const verdicts = [...rows.slice(1), ...ofServers, ...ofRelays].map((cells) => cells.at(-1));
  if (verdicts.some((each) => each !== 'ok')) process.exitCode = 1;
}
