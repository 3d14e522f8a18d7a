import { eventually } from '../../support/eventually';
import { SharedProcesses } from './shared-processes';
import type { WorkerReport } from './worker';

/** Processes that start at the same time. */
const BATCH = 4;

/** What to run. */
export interface TakeoverOptions {
  readonly workers: number;
  readonly kills: number;
  /** Of all processes together. */
  readonly callsPerSecond: number;
}

/** What was seen. */
export interface TakeoverReport {
  readonly calls: number;
  /** The messages of failed calls; those in progress in a process that is killed are not known. */
  readonly failures: readonly string[];
  /** From each kill until the calls of all other processes were answered as a change says that was made at the kill. */
  readonly takeoversMs: readonly number[];
  /** The streams of resources that the control plane has had. */
  readonly streams: number;
}

/** Kills the process that is the relay, again and again, and starts another process in its place. */
export async function runTakeovers(options: TakeoverOptions): Promise<TakeoverReport> {
  const { workers, kills, callsPerSecond } = options;
  const scene = await SharedProcesses.start();
  const takeoversMs: number[] = [];
  const killedSaw: WorkerReport[] = [];
  const add = async (count: number) => {
    // The start of a process takes much of a core: those of 32 would not have their first answers in time.
    for (let left = count; left > 0; left -= BATCH) await scene.add(Math.min(BATCH, left));
    for (const worker of scene.workers.slice(-count)) {
      await worker.request('call', callsPerSecond / workers);
    }
  };
  try {
    await add(workers);
    await untilOneStream(scene);
    for (let kill = 0; kill < kills; kill++) {
      const backend = kill % 2 === 0 ? scene.other : scene.backend;
      const killed = await scene.takeServing();
      killedSaw.push(killed.seen);
      killed.stop();
      scene.serve(backend);
      takeoversMs.push(await untilAnsweredBy(scene, backend.name));
      await untilOneStream(scene);
      await add(1);
    }
    const reports = [...killedSaw, ...(await scene.reports())];
    const failures = reports.flatMap((report) => report.failures);
    const calls = reports.reduce((sum, report) => sum + report.calls, 0);
    return { calls, failures, takeoversMs, streams: scene.streams };
  } finally {
    scene.stop();
  }
}

function untilOneStream(scene: SharedProcesses) {
  return eventually(
    () => scene.open,
    ({ ads, lrs }) => ads === 1 && lrs === 1,
  );
}

/** @returns how long it took, in milliseconds. */
async function untilAnsweredBy(scene: SharedProcesses, name: string): Promise<number> {
  const startMs = performance.now();
  await eventually(
    () => scene.reports(),
    (reports) => reports.every(({ answerer }) => answerer === name),
  );
  return performance.now() - startMs;
}
