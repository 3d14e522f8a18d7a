import { EchoBackend } from '../support/echo-backend';
import type { ChaosCase } from './chaos-case';
import { ClientProcess } from './client-process';
import { BACKENDS, runCase, type ChaosReport, type ChaosVariant } from './run-case';

/** What to run. */
export interface ChaosOptions {
  readonly variant: ChaosVariant;
  readonly cases: readonly ChaosCase[];
  /** The faults last a second or two and come all at once. Default: one after another. */
  readonly isShort?: boolean;
  /** The client has the server behind a relay. Default: it has the server itself. */
  readonly isRelayed?: boolean;
  /** Told of each case as it ends. */
  readonly onReport?: (report: ChaosReport) => void;
}

/** More requests than that in a fault are a loop. */
const MAX_REQUESTS = { atOnce: 60, perSecond: 20 };
/** More of a CPU than that, beyond what the calls take, is a loop. */
const MAX_EXTRA_CPU = 0.35;

/** Runs some cases with one process of clients. */
export async function runChaos(options: ChaosOptions): Promise<readonly ChaosReport[]> {
  const { variant, cases, isShort = false, isRelayed = false, onReport } = options;
  const backends = await Promise.all(BACKENDS.map((name) => EchoBackend.start(name)));
  const clients = new ClientProcess();
  const run = async (chaos: ChaosCase): Promise<ChaosReport> => {
    const settings = { variant, isShort, isRelayed, clients, backends };
    const report = await runCase(chaos, settings).catch((error: Error) => {
      throw new Error(`${chaos.name}: ${error.message}`, { cause: error });
    });
    onReport?.(report);
    return report;
  };
  try {
    if (isShort) return await Promise.all(cases.map(run));
    const reports: ChaosReport[] = [];
    for (const chaos of cases) reports.push(await run(chaos));
    return reports;
  } finally {
    clients.stop();
    for (const backend of backends) backend.stop();
  }
}

/** What is not as it should be. */
export function misses(report: ChaosReport): readonly string[] {
  const { failures, recoveryMs, allowedMs, cpu } = report;
  return [
    ...new Set(failures),
    ...(recoveryMs > allowedMs ? ['recovered too late'] : []),
    ...(rejectsWrongly(report) ? ['rejected too much or too little'] : []),
    ...(isLoop(report) ? ['too many requests'] : []),
    ...(cpu.fault > cpu.calm + MAX_EXTRA_CPU ? ['too much CPU'] : []),
  ];
}

/** Whether something good was rejected, or what is bad was not. */
export function rejectsWrongly({ isRejected, rejections }: ChaosReport): boolean {
  return isRejected !== rejections > 0;
}

/** Whether more was asked than the fault gives a reason for. */
export function isLoop({ requests, faultSeconds }: ChaosReport): boolean {
  return requests > MAX_REQUESTS.atOnce + MAX_REQUESTS.perSecond * faultSeconds;
}
