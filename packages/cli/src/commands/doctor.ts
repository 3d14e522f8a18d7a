import {
  examineKubernetes,
  type KubernetesFinding,
  type ServiceAccount,
} from 'grpc-xds-kubernetes';
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
import type { IpPort } from '../../../../src/util/host-port';

/** Flags of `doctor`. */
export interface DoctorFlags extends OutputFlags {
  readonly target?: string;
  readonly server?: IpPort;
  /** False for `--no-connect`. */
  readonly connect: boolean;
  /** Seconds. */
  readonly timeout?: number;
  /** Whether a Kubernetes cluster is examined, in place of a client. */
  readonly kubernetes?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly account?: ServiceAccount;
  readonly token?: string;
  readonly audience?: string;
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
  const misplaced = KUBERNETES_FLAGS.find((name) => flags[name] !== undefined);
  if (flags.kubernetes !== true && misplaced !== undefined) {
    io.printError(`error: --${misplaced} needs --kubernetes`);
    return exitCode.badInput;
  }
  const paint = createPaint(io, flags);
  const isLive = formatOf(flags) === 'table';
  const onFinding = (finding: Finding) => {
    if (isLive) printFinding(finding, paint, io);
  };
  const findings =
    flags.kubernetes === true
      ? await examineCluster(flags, io, onFinding)
      : await loadClient().runDoctor({
          bootstrapPath,
          target: flags.target,
          server: flags.server,
          connects: flags.connect,
          onFinding,
          clock: io.clock,
          env: io.env,
          folder: io.folder,
          nodeVersion: io.nodeVersion,
          timeoutMs: flags.timeout === undefined ? undefined : flags.timeout * 1000,
        });
  const count = (level: FindingLevel) => findings.filter((each) => each.level === level).length;
  const summary = Object.fromEntries(levels.map((level) => [level, count(level)]));
  printResult({ findings, summary }, flags, io, () => {
    io.print(levels.map((level) => `${count(level)} ${level}`).join(', '));
  });
  return count('fail') + count('skip') > 0 ? exitCode.findings : exitCode.fine;
}

/** The flags that only `--kubernetes` has. */
const KUBERNETES_FLAGS = [
  ...(['kubeconfig', 'context', 'namespace', 'account', 'token', 'audience'] as const),
];

/** Checks what a control plane of a Kubernetes cluster and its clients need. */
function examineCluster(
  { kubeconfig, context, namespace, account, target, token, audience }: DoctorFlags,
  { clock }: CliIo,
  onFinding: (finding: KubernetesFinding) => void,
): Promise<readonly KubernetesFinding[]> {
  const options = {
    onFinding,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(namespace !== undefined && { namespace }),
    ...(account !== undefined && { account }),
    ...(target !== undefined && { target }),
    ...(token !== undefined && { tokenPath: token }),
    ...(audience !== undefined && { audience }),
  };
  return examineKubernetes(options, { clock });
}

function printFinding({ level, subject, text, remedy }: Finding, paint: Paint, io: CliIo): void {
  io.print([paint(colors[level], level.padEnd(4)), '  ', paint('bold', subject), `  ${text}`]);
  if (remedy !== undefined) io.print(`      fix: ${remedy}`);
}
