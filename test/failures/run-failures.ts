// Prints what each failure looks like to an operator: the status of calls with deadlines of 1, 5 and 30 s, with and without
// wait-for-ready, the time until it, and the lines of the log at its default level: `npm run trial -- failures`. With `--only TEXT`, of
// failures with that in their name. With `--check`, compares with the table of the last `--write` instead: the times only by
// what they are due to, the texts without numbers. With `--golden`, writes what `npm test` compares with; both writes keep what `--only` leaves out.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
// Loaded before the first call, which otherwise takes a part of its deadline for that.
import '../../src/runtime/xds-runtime';
import type { Failure } from './failures';
import { FAILURES } from './server-failures';
import { GOLDEN_FILE, goldenOf, rowOf, TABLE_FILE } from './expected';
import { Observation, observeShortly, toRow, type Line, type Outcome } from './observe';
import { chooseCases } from '../support/choose-cases';
import { readOptions } from '../support/options';

const DEADLINES_MS = [1000, 5000, 30_000];
/** Most of the time they wait. */
const AT_A_TIME = 5;
/** On a busy machine, a call with a short deadline may end before its cause is known. */
const ATTEMPTS = 3;

const values = readOptions('npm run trial -- failures', {
  only: { default: '', about: 'only failures whose name contains this' },
  golden: { default: false, about: 'write what npm test compares with' },
  check: { default: false, about: 'compare with the table of the last --write' },
  write: { default: false, about: 'write the table' },
  child: { default: undefined },
});

interface Observed {
  readonly outcomes: readonly Outcome[];
  readonly lines: readonly Line[];
}

async function observe(failure: Failure, index: number): Promise<Observed> {
  const observation = await Observation.start(failure, index);
  const attempts = DEADLINES_MS.flatMap((deadlineMs) =>
    [false, true].map((waitForReady) => observation.call({ deadlineMs, waitForReady })),
  );
  const outcomes = await Promise.all(attempts);
  const lines = [...observation.lines];
  await observation.stop();
  return { outcomes, lines };
}

/** Each failure has a process of its own, so that they do not share a log. */
async function observeInChild(index: number): Promise<Observed> {
  const hook = join(__dirname, '../support/run-typescript.cjs');
  const args = ['--require', hook, __filename, '--child', String(index)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  return JSON.parse(stdout);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function report({ name }: Failure, { outcomes, lines }: Observed): void {
  print(`\n## ${name}`);
  for (const { deadlineMs, waitForReady, ms, status } of outcomes) {
    const wait = waitForReady ? ' wait-for-ready' : '';
    print(`  ${deadlineMs / 1000} s${wait}, after ${(ms / 1000).toFixed(1)} s: ${status}`);
  }
  for (const { ms, text } of lines) print(`  log, ${(ms / 1000).toFixed(1)} s: ${text}`);
}

type Handle = (failure: Failure, observed: Observed, index: number) => unknown;

async function observeAll(handle: Handle): Promise<void> {
  const indexed = FAILURES.map((failure, index) => ({ failure, index }));
  const only = { option: '--only', text: values.only };
  const chosen = [...chooseCases(indexed, ({ failure }) => failure.name, only)];
  while (chosen.length > 0) {
    const part = chosen.splice(0, AT_A_TIME);
    const observed = await Promise.all(part.map(({ index }) => observeInChild(index)));
    for (const [i, { failure, index }] of part.entries()) {
      const found = observed[i];
      if (found !== undefined) await handle(failure, found, index);
    }
  }
}

async function checkAll(): Promise<void> {
  let different = 0;
  await observeAll(async ({ name }, observed, index) => {
    const expected = rowOf(name);
    let row = toRow(observed.outcomes, observed.lines);
    for (let n = 1; n < ATTEMPTS && !isDeepStrictEqual(row, expected); n++) {
      const again = await observeInChild(index);
      row = toRow(again.outcomes, again.lines);
    }
    if (isDeepStrictEqual(row, expected)) {
      print(`ok    ${name}`);
      return;
    }
    different++;
    print(`other ${name}: expected ${JSON.stringify(expected, undefined, 2)}`);
    print(`  observed ${JSON.stringify(row, undefined, 2)}`);
  });
  if (different > 0) process.exitCode = 1;
}

async function writeTable(): Promise<void> {
  const table = new Map<string, unknown>(FAILURES.map(({ name }) => [name, rowOf(name)]));
  await observeAll(({ name }, { outcomes, lines }) => table.set(name, toRow(outcomes, lines)));
  writeFileSync(TABLE_FILE, `${JSON.stringify(Object.fromEntries(table), undefined, 2)}\n`);
}

async function writeGolden(): Promise<void> {
  const golden: Record<string, unknown> = {};
  for (const [index, failure] of FAILURES.entries()) {
    const before = goldenOf(failure.name);
    const isChosen = failure.name.includes(values.only);
    golden[failure.name] = isChosen ? await observeShortly(failure, index, before) : before;
  }
  writeFileSync(GOLDEN_FILE, `${JSON.stringify(golden, undefined, 2)}\n`);
}

async function main(): Promise<void> {
  const { child, golden, check, write } = values;
  const failure = child === undefined ? undefined : FAILURES[Number(child)];
  if (golden) await writeGolden();
  else if (write) await writeTable();
  else if (check) await checkAll();
  else if (failure === undefined) await observeAll(report);
  else process.stdout.write(JSON.stringify(await observe(failure, Number(child))));
}

void main().then(() => process.exit());
