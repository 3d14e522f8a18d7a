// The tables of processes that hostile clients attack, with good calls beside them.
import { startChild } from '../support/child.mjs';
import { printTable } from '../support/table.mjs';

/** How long an attack lasts. */
export const SECONDS = 10;
const GOOD_CALL_MS = 20;
const RUNS = 3;
/** How long a new connection and its first call may take once the attack is over. */
const RECOVERED_MS = 2000;

const HEADINGS = [
  'case',
  'longest pause ms',
  'CPU',
  'MiB more: at most, kept',
  'good calls failed',
  'slowest good call ms',
  'attempts: refused',
  'a new connection ms',
  'verdict',
];

/** Calls as often as good clients do, until it is stopped. @param call Returns the error of a call; `undefined` for none. */
export function beginGoodCalls(call) {
  const tally = { ok: 0, failed: 0, slowestMs: 0 };
  const timer = setInterval(async () => {
    const startedMs = performance.now();
    const error = await call();
    if (error === undefined) tally.ok++;
    else tally.failed++;
    tally.lastError = error?.message ?? tally.lastError;
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - startedMs);
  }, GOOD_CALL_MS);
  return { tally, stop: () => clearInterval(timer) };
}

/** Runs hostile clients in a process of their own. @param question See `attack-tools.cjs`. */
export async function runAttack(script, question) {
  const attacker = await startChild(script);
  try {
    return await attacker.ask({ seconds: SECONDS, ...question });
  } finally {
    await attacker.stop();
  }
}

function verdictOf({ sent, isRefused = false, hostMs = 0 }, outcome, limits) {
  const { result, attempts, recoveredMs, goodCalls } = outcome;
  if (result === undefined) return 'DIED';
  const pauseMs = limits.pauseMs + hostMs;
  if (result.pauseMs > pauseMs) return `PAUSE > ${pauseMs}`;
  if (result.addedMiB > limits.addedMiB) return `MEMORY > ${limits.addedMiB}`;
  if (goodCalls.failed > 0 || goodCalls.ok === 0) return 'CALLS FAILED';
  if (attempts.attempts === 0) return 'NOT ATTEMPTED';
  if (isRefused && !(attempts.refused > 0)) return 'NOT REFUSED';
  if (sent !== undefined && !isRefused && attempts.refused > 0) return 'REFUSED';
  return recoveredMs <= RECOVERED_MS ? 'ok' : 'NEW CONNECTION LATE';
}

function rowOf([name, hostile], outcome, limits) {
  const verdict = verdictOf(hostile, outcome, limits);
  const { result, attempts, recoveredMs, seconds, goodCalls } = outcome;
  if (result === undefined) return [name, '-', '-', '-', '-', '-', '-', '-', verdict];
  const { pauseMs, cpuMs, addedMiB, keptMiB } = result;
  return [
    name,
    pauseMs.toFixed(0),
    `${(cpuMs / seconds / 10).toFixed(0)} %`,
    `${addedMiB.toFixed(0)}, ${keptMiB.toFixed(0)}`,
    `${goodCalls.failed}/${goodCalls.ok + goodCalls.failed}`,
    goodCalls.slowestMs.toFixed(0),
    `${attempts.attempts}: ${attempts.refused ?? '-'}`,
    recoveredMs.toFixed(0),
    verdict,
  ];
}

/** Runs a case, and twice more if it pauses for too long: the machine may have paused as well. @returns the run of the median pause. */
async function measureCase(hostile, runCase, { heapMb, ...limits }) {
  const outcomes = [await runCase(hostile, heapMb)];
  const isLong = verdictOf(hostile, outcomes[0], limits).startsWith('PAUSE');
  while (isLong && outcomes.length < RUNS) outcomes.push(await runCase(hostile, heapMb));
  const pauseOf = ({ result }) => result?.pauseMs ?? Infinity;
  return outcomes.sort((a, b) => pauseOf(a) - pauseOf(b))[outcomes.length >> 1];
}

/**
 * Runs the cases whose names contain a text, and prints them.
 *
 * @param table `{ title, cases, runCase }`. Of a case, `hostMs` counts beside the bound of a pause, `isRefused` says that attempts are.
 * @param limits `{ heapMb, pauseMs, addedMiB }`
 * @returns the rows of the table.
 */
export async function runTable({ title, cases, runCase }, text, limits) {
  const rows = [];
  for (const each of Object.entries(cases).filter(([name]) => name.includes(text))) {
    const outcome = await measureCase(each[1], runCase, limits);
    rows.push(rowOf(each, outcome, limits));
    console.error(rows.at(-1).join(' | '));
    if (process.env.HOSTILE_VERBOSE) console.log(each[0], JSON.stringify(outcome, null, 1));
  }
  if (rows.length === 0) return rows;
  console.log(`\n${title}\n`);
  printTable([HEADINGS, ...rows]);
  return rows;
}
