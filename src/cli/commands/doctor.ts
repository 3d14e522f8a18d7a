import {
  createPaint,
  formatOf,
  printResult,
  exitCode,
  loadClient,
  type OutputFlags,
  type Paint,
  type CliIo,
} from '../io';
import type { Finding, FindingLevel } from '../client';
import type { IpPort } from '../../util/host-port';

/** Flags of `doctor`. */
export interface DoctorFlags extends OutputFlags {
  readonly target?: string;
  readonly server?: IpPort;
  /** False for `--no-connect`. */
  readonly connect: boolean;
  /** Seconds. */
  readonly timeout?: number;
}

const levels: readonly FindingLevel[] = ['ok', 'note', 'warn', 'fail', 'skip'];
const colors = { ok: 'green', note: 'gray', warn: 'yellow', fail: 'red', skip: 'gray' } as const;

/**
 * Checks everything between this machine and a working call, and prints each finding with its remedy.
 *
 * @returns the exit code: findings, if a check failed or could not be made.
 */
export async function doctor(
  bootstrapPath: string | undefined,
  flags: DoctorFlags,
  io: CliIo,
): Promise<number> {
  const { runDoctor } = loadClient();
  const paint = createPaint(io, flags);
  const isLive = formatOf(flags) === 'table';
  const findings = await runDoctor({
    ...{ bootstrapPath, target: flags.target, server: flags.server },
    connects: flags.connect,
    ...{ clock: io.clock, env: io.env, folder: io.folder, nodeVersion: io.nodeVersion },
    timeoutMs: flags.timeout === undefined ? undefined : flags.timeout * 1000,
    onFinding: (finding) => {
      if (isLive) printFinding(finding, paint, io);
    },
  });
  const count = (level: FindingLevel) => findings.filter((each) => each.level === level).length;
  const summary = Object.fromEntries(levels.map((level) => [level, count(level)]));
  printResult({ findings, summary }, flags, io, () => {
    io.print(levels.map((level) => `${count(level)} ${level}`).join(', '));
  });
  return count('fail') + count('skip') > 0 ? exitCode.findings : exitCode.fine;
}

function printFinding({ level, subject, text, remedy }: Finding, paint: Paint, io: CliIo): void {
  io.print([paint(colors[level], level.padEnd(4)), '  ', paint('bold', subject), `  ${text}`]);
  if (remedy !== undefined) io.print(`      fix: ${remedy}`);
}
