// The fault script: `npm run trial -- chaos`. What breaks between a client and its control plane is broken, and calls to
// endpoints that are known must not notice. `-- --case NACK` runs those with that in their names, `-- --short`
// all of them at once and for a second only, `-- --variant incremental` one of the variants. `-- --case rotation` rotates
// certificates and names of servers beside 500 calls a second. `-- --relay` runs them with a relay between. `-- --share` kills
// the process that is the relay of eight, twenty times beside 1,000 calls a second; `--processes 32` of so many. With `--cluster` or
// `--threads` these are workers of node:cluster or worker threads, of which none is killed. `-- --servers` runs the cases of xDS servers in
// place of these.
import { chaosCases } from './cases';
import { chaosVariants, type ChaosReport, type ChaosVariant } from './run-case';
import { rotate } from './rotation';
import { runTakeovers } from '../relay/share/takeovers';
import { runCluster, runThreads } from '../relay/share/together';
import { misses, runChaos } from './run-chaos';
import { runServerChaos } from './servers/run-server-chaos';
import { chooseCases } from '../support/choose-cases';
import { readOptions } from '../support/options';

const ROTATION = 'rotation of certificates and names of servers';
/** A policy that excludes a server is in force for every call after that. */
const MAX_REVOCATION_MS = 1000;

const COLUMNS = [
  'case',
  'variant',
  'calls',
  'success',
  'recovery',
  'allowed',
  'CPU calm',
  'CPU fault',
  'connections',
  'streams',
  'requests',
  'NACKs',
  'verdict',
] as const;

function cells(report: ChaosReport): readonly string[] {
  const { calls, failures, cpu } = report;
  const percent = (share: number, digits = 0) => `${(100 * share).toFixed(digits)} %`;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  return [
    report.name,
    report.variant,
    String(calls),
    percent((calls - failures.length) / calls, 2),
    seconds(report.recoveryMs),
    seconds(report.allowedMs),
    percent(cpu.calm),
    percent(cpu.fault),
    String(report.connections),
    String(report.streams),
    String(report.requests),
    String(report.rejections),
    misses(report).join('; ') || 'good',
  ];
}

function line(texts: readonly string[]): string {
  const widths = [50, 18, 6, 9, 9, 9, 9, 9, 11, 7, 8, 5, 0];
  return `${texts.map((text, i) => text.padEnd(widths[i] ?? 0)).join('  ')}\n`;
}

/** @returns whether all is well. */
async function runRotation(isShort: boolean): Promise<boolean> {
  const options = { rotations: isShort ? 3 : 10, callsPerSecond: 500 };
  const report = await rotate(options);
  const { calls, failures, revokedMs, callsAfterRevocation, isOldConnectionUsed } = report;
  process.stdout.write(
    `${ROTATION}: ${options.rotations} beside ${calls} calls, ${failures.length} failed; a revoked name was in force ` +
      `after ${revokedMs.toFixed(0)} ms, ${callsAfterRevocation} calls succeeded later\n`,
  );
  for (const message of new Set(failures)) process.stdout.write(`  ${message}\n`);
  const isRevoked = revokedMs <= MAX_REVOCATION_MS && callsAfterRevocation === 0;
  return failures.length === 0 && isRevoked && !isOldConnectionUsed;
}

/** Another process takes the place of a relay within that time. */
const MAX_TAKEOVER_MS = 1000;

/** @returns whether all is well. */
async function runShare(workers: number, isShort: boolean): Promise<boolean> {
  const options = { workers, kills: isShort ? 3 : 20, callsPerSecond: 1000 };
  const { calls, failures, takeoversMs, streams } = await runTakeovers(options);
  const sorted = [...takeoversMs].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Infinity;
  process.stdout.write(
    `relay of ${options.workers} processes killed ${options.kills} times beside ${calls} calls, ` +
      `${failures.length} failed; takeover within ${at(0.5).toFixed(0)} ms (p50) and ${at(0.99).toFixed(0)} ms (p99); ` +
      `${streams} streams of resources\n`,
  );
  for (const message of new Set(failures)) process.stdout.write(`  ${message}\n`);
  return failures.length === 0 && at(0.99) <= MAX_TAKEOVER_MS;
}

/** Runs processes of node:cluster, or worker threads, that share the streams of one. @returns whether all is well. */
async function runTogether(kind: 'cluster' | 'threads', workers: number): Promise<boolean> {
  const run = kind === 'cluster' ? runCluster : runThreads;
  const { calls, failures, streams, loadStreams } = await run({ workers, seconds: 5 });
  process.stdout.write(
    `${kind} of ${workers} workers: ${calls} calls, ${failures.length} failed; ` +
      `${streams} streams of resources, ${loadStreams} of load reports\n`,
  );
  for (const message of new Set(failures)) process.stdout.write(`  ${message}\n`);
  return failures.length === 0 && streams === 1 && loadStreams === 1;
}

async function main(): Promise<void> {
  const values = readOptions('npm run trial -- chaos', {
    case: { default: '', about: 'only cases whose name contains this' },
    variant: { default: '', about: 'only variants of the protocol whose name contains this' },
    short: { default: false, about: 'some seconds of the cases that have a short form' },
    servers: { default: false, about: 'the cases of servers' },
    relay: { default: false, about: 'through a relay' },
    share: { default: false, about: 'processes that share a relay' },
    cluster: { default: false, about: 'workers of node:cluster, with --share' },
    threads: { default: false, about: 'worker threads, with --share' },
    processes: { default: 8, about: 'how many of them, with --share' },
  });
  if (values.share) {
    const workers = values.processes;
    const kind = values.cluster ? 'cluster' : values.threads ? 'threads' : undefined;
    const isWell = kind ? runTogether(kind, workers) : runShare(workers, values.short);
    process.exitCode = (await isWell) ? 0 : 1;
    return;
  }
  const variants = Object.keys(chaosVariants) as ChaosVariant[];
  const variant = { option: '--variant', text: values.variant };
  const chosen = chooseCases(variants, (name) => name, variant);
  if (values.servers) {
    const options = { case: values.case, variants: chosen, isShort: values.short };
    process.exitCode = (await runServerChaos(options)) ? 0 : 1;
    return;
  }
  const rotation = values.relay ? [] : [{ name: ROTATION, shortSeconds: 1 }];
  const possible = [...rotation, ...chaosCases].filter(
    ({ shortSeconds }) => !values.short || shortSeconds,
  );
  const named = chooseCases(possible, ({ name }) => name, { option: '--case', text: values.case });
  const cases = chaosCases.filter((each) => named.includes(each));
  const isRotated = named.some(({ name }) => name === ROTATION);
  let isGood = true;
  if (isRotated && !(await runRotation(values.short))) isGood = false;
  if (cases.length > 0) process.stdout.write(line(COLUMNS));
  for (const variant of chosen) {
    await runChaos({
      variant,
      cases,
      isShort: values.short,
      isRelayed: values.relay,
      onReport(report) {
        process.stdout.write(line(cells(report)));
        if (misses(report).length > 0) isGood = false;
      },
    });
  }
  process.exitCode = isGood ? 0 : 1;
}

void main();
