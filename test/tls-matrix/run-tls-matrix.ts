// Judges transport security case by case: `npm run trial -- tls-matrix`. Certificates are made on the spot by openssl, and every server
// records whether the wire was TLS or plain text. With `--only TEXT`, only cases with that in their title; with `--sample N`,
// every N-th one of each group; with `--json FILE`, writes what is not as expected, by title.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CASES, sampleOf, titleOf } from './all-cases';
import { CERTIFICATES } from './certificate-table';
import { CertificateFolder } from './certificates';
import { judgeAll, type Judgement } from './judge-all';
import { describeExpectation } from './judge-call';
import { chooseCases } from '../support/choose-cases';
import { readOptions } from '../support/options';

const values = readOptions('npm run trial -- tls-matrix', {
  only: { default: '', about: 'only cases with this in their title' },
  sample: { default: 1, about: 'one in so many cases of each group' },
  json: { default: undefined, about: 'a file for what is not as expected, by title' },
  // The folder of the certificates, of the process that judges.
  child: { default: undefined },
});

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Judges in another process, which Node.js starts with a root of the system that is in a file. */
async function judgeInChild(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tls-matrix-'));
  try {
    const certificates = new CertificateFolder(join(folder, 'certificates'), CERTIFICATES);
    await certificates.make(['system-root']);
    const args = [...process.execArgv, ...process.argv.slice(1), '--child', folder];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificates.file('system-root') };
    const child = spawn(process.execPath, args, { env, stdio: 'inherit' });
    process.exitCode = await new Promise<number>((resolve) => {
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(judgements: readonly Judgement[]): void {
  const groups = new Map<string, { right: number; wrong: number }>();
  for (const { row, problem } of judgements) {
    const counts = groups.get(row.group) ?? { right: 0, wrong: 0 };
    counts[problem === undefined ? 'right' : 'wrong']++;
    groups.set(row.group, counts);
  }
  for (const [group, { right, wrong }] of groups) {
    print(
      `${group.padEnd(50)} ${String(right).padStart(4)}${wrong === 0 ? '' : `, ${wrong} WRONG`}`,
    );
  }
  const wrong = judgements.filter(({ problem }) => problem !== undefined);
  for (const { row, problem = '' } of wrong) {
    print(`\nWRONG ${titleOf(row)}`);
    print(`  expected: ${describeExpectation(row.expected)}`);
    print(`  observed: ${problem}`);
  }
  print(`\n${judgements.length} cases, ${wrong.length} wrong`);
  if (wrong.length > 0) process.exitCode = 1;
}

async function judge(folder: string): Promise<void> {
  const sample = sampleOf(ALL_CASES, values.sample);
  const chosen = chooseCases(sample, titleOf, { option: '--only', text: values.only });
  const judgements = await judgeAll(chosen, folder);
  report(judgements);
  if (values.json === undefined) return;
  const problems = judgements.map(({ row, problem }) => [titleOf(row), problem ?? null] as const);
  writeFileSync(values.json, JSON.stringify(Object.fromEntries(problems)));
}

void (values.child === undefined ? judgeInChild() : judge(values.child)).then(() => process.exit());
