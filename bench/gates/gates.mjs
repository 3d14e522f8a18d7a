// Counts that stand for how much there is to understand and to run: functions of one update of endpoints, of one call and of the first
// call of a process, and lines of code. Each has a limit in etc/size.json, which may only fall.
//
//   npm run bench -- gates              compares
//   npm run bench -- gates --lower      writes limits that have become lower
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '../support/child.mjs';
import { printTable } from '../support/table.mjs';
import { measureCode } from './code.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const root = join(dirname(here('.')), '..');
const recordPath = join(root, 'etc', 'size.json');
/** Which functions run beside what is measured, such as those of timers, differs a little: the fewest count. */
const RUNS = 5;
/** On a busy machine something may run beside all of them. */
const ROUNDS = 3;
/** For the same reason, what runs may be this much more than its limit. Lines may not. */
const TOLERANCE = 0.05;

/** One run of a client, whose control plane gets what the client asks for. */
async function runClient(folder, subject) {
  const controlPlane = await startChild(here('./control-plane-child.cjs'), [folder]);
  const client = fork(here('./client-child.cjs'), [
    folder,
    subject,
    JSON.stringify(controlPlane.ready),
  ]);
  try {
    for (;;) {
      const [message] = await Promise.race([once(client, 'message'), endOf(client)]);
      if (message.result !== undefined) return message.result;
      await controlPlane.ask(message);
      client.send('published');
    }
  } finally {
    client.kill();
    await controlPlane.stop();
  }
}

async function endOf(client) {
  const [code] = await once(client, 'exit');
  throw new Error(`the client ended with ${code}`);
}

/** The fewest of several runs, and of more if a limit is exceeded. @returns such as `{ 'update.functions': 774 }` */
async function fewest(folder, subject, limits) {
  const least = {};
  const isAbove = () => Object.entries(least).some(([name, now]) => exceeds(limits, name, now));
  for (let i = 0; i < RUNS || (i < ROUNDS * RUNS && isAbove()); i++) {
    for (const [part, counts] of Object.entries(await runClient(folder, subject))) {
      for (const [name, count] of Object.entries(counts)) {
        const key = `${part}.${name}`;
        least[key] = Math.min(least[key] ?? Infinity, count);
      }
    }
  }
  return least;
}

/** Whether a count of what runs is above its limit. */
function exceeds(limits, name, now) {
  return now > (limits[name] ?? Infinity) * (1 + TOLERANCE);
}

/** What runs, in a build with a file for each module. */
async function measureRuns(limits) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-gates-'));
  try {
    execFileSync(process.execPath, ['scripts/build.mjs', '--tree', folder], { cwd: root });
    const { 'first.functions': functions, 'first.loadedBytes': loadedBytes } = await fewest(
      folder,
      'first',
      limits,
    );
    const steady = await fewest(folder, 'steady', limits);
    return {
      'update.functions': steady['update.functions'],
      'update.invocations': steady['update.invocations'],
      'update.files': steady['update.files'],
      'call.functions': steady['call.functions'],
      'call.invocations': steady['call.invocations'],
      'first.functions': functions,
      'first.loadedBytes': loadedBytes,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measureLines() {
  const { lines, characters, steppedFiles, folders } = measureCode(root, 'src');
  const byFolder = Object.entries(folders).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    lines,
    characters,
    steppedFiles,
    ...Object.fromEntries(byFolder.map(([name, count]) => [`src/${name}`, count])),
  };
}

function compare(limits, runs, code) {
  const rows = (counts, tolerance) =>
    Object.entries(counts).map(([name, now]) => {
      const limit = limits[name] ?? 0;
      return { name, now, limit, isAbove: now > limit * (1 + tolerance) };
    });
  return [...rows(runs, TOLERANCE), ...rows(code, 0)];
}

/** @returns the limits with those that may fall. One that is new begins where it is; one of what is gone goes. */
const lowered = (limits, counts) =>
  Object.fromEntries(
    Object.entries(counts).map(([name, now]) => [name, Math.min(limits[name] ?? now, now)]),
  );

/** @param options `--lower` writes limits that have become lower. */
export async function run(options = []) {
  const record = JSON.parse(readFileSync(recordPath, 'utf8'));
  const limits = record.gates ?? {};
  const [runs, code] = [await measureRuns(limits), measureLines()];
  if (options.includes('--lower')) {
    record.gates = lowered(limits, { ...runs, ...code });
    writeFileSync(recordPath, `${JSON.stringify(record, null, 2)}\n`);
    return;
  }
  const rows = compare(limits, runs, code);
  printTable([
    ['', 'now', 'limit', ''],
    ...rows.map(({ name, now, limit, isAbove }) => [name, now, limit, isAbove ? 'ABOVE' : 'ok']),
  ]);
  if (!rows.some(({ isAbove }) => isAbove)) return;
  console.error(
    'A limit rises only by hand, in the commit that adds the feature for which it does.',
  );
  process.exitCode = 1;
}
