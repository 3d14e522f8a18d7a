import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CASES, sampleOf, titleOf } from './all-cases';
import { describeExpectation } from './judge-call';

/** The others run with `npm run trial -- tls-matrix`. */
const EVERY = 14;

const hook = join(__dirname, '../support/run-typescript.cjs');
const script = join(__dirname, 'run-tls-matrix.ts');
const sample = sampleOf(ALL_CASES, EVERY);

// It starts a process that loads and compiles everything.
jest.setTimeout(120_000);

describe('the TLS matrix', () => {
  let folder: string;
  let problems: Readonly<Record<string, string | null>>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tls-matrix-test-'));
    const file = join(folder, 'problems.json');
    const args = ['--require', hook, script, '--sample', String(EVERY), '--json', file];
    // Its exit code is that of the whole sample.
    await new Promise<void>((resolve) => execFile(process.execPath, args, () => resolve()));
    problems = JSON.parse(readFileSync(file, 'utf8'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has a title of its own for each case, and some of each group in the sample', () => {
    expect(new Set(ALL_CASES.map(titleOf)).size).toBe(ALL_CASES.length);
    const groups = (cases: typeof ALL_CASES) =>
      new Set(cases.flatMap(({ group, isSlow }) => (isSlow === true ? [] : [group])));
    expect(groups(sample)).toEqual(groups(ALL_CASES));
    expect(ALL_CASES.length).toBeGreaterThanOrEqual(300);
    expect(sample.length).toBeGreaterThanOrEqual(50);
  });

  it.each(sample.map((row) => [titleOf(row), describeExpectation(row.expected)]))(
    '%s: %s',
    (title) => expect(problems[title]).toBeNull(),
  );
});
