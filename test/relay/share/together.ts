import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { RemoteProcess } from '../../chaos/servers/remote-process';
import { eventually } from '../../support/eventually';
import type { ClusterPrimary } from './primary';
import { SharedProcesses } from './shared-processes';

/** What to run. */
export interface TogetherOptions {
  readonly workers: number;
  readonly seconds: number;
}

/** What was seen. */
export interface TogetherReport {
  readonly calls: number;
  readonly failures: readonly string[];
  /** The streams of resources that the control plane has had. */
  readonly streams: number;
  /** The streams of load reports at the end. */
  readonly loadStreams: number;
}

const HOOK = join(__dirname, '../../support/run-typescript.cjs');
/** Of all workers together. */
const CALLS_PER_SECOND = 200;

type Seen = Pick<TogetherReport, 'calls' | 'failures'>;

/** Calls from the workers of a cluster that share the streams of one of them. */
export async function runCluster({ workers, seconds }: TogetherOptions): Promise<TogetherReport> {
  const scene = await SharedProcesses.start();
  const primary: RemoteProcess<ClusterPrimary> = new RemoteProcess('../../relay/share/primary.ts');
  try {
    const setup = { ...scene.setup, share: scene.share };
    await primary.request('fork', { count: workers, setup });
    await primary.request('call', CALLS_PER_SECOND / workers);
    await sleep(1000 * seconds);
    return await describe(scene, await primary.request('reports'));
  } finally {
    primary.stop();
    scene.stop();
  }
}

/** Calls from worker threads that share the streams of one of them. */
export async function runThreads({ workers, seconds }: TogetherOptions): Promise<TogetherReport> {
  const scene = await SharedProcesses.start();
  const { workerData } = scene;
  const threads = Array.from(
    { length: workers },
    () => new Worker(join(__dirname, 'thread.ts'), { execArgv: ['--require', HOOK], workerData }),
  );
  try {
    await Promise.all(threads.map((thread) => once(thread, 'message')));
    for (const thread of threads) thread.postMessage(CALLS_PER_SECOND / workers);
    await sleep(1000 * seconds);
    const reports = threads.map(async (thread): Promise<Seen> => {
      const reported = once(thread, 'message');
      thread.postMessage(0);
      const [report] = await reported;
      return report;
    });
    return await describe(scene, await Promise.all(reports));
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
    scene.stop();
  }
}

async function describe(scene: SharedProcesses, reports: readonly Seen[]): Promise<TogetherReport> {
  const { lrs: loadStreams } = await eventually(
    () => scene.open,
    ({ lrs }) => lrs > 0,
  );
  return {
    calls: reports.reduce((sum, { calls }) => sum + calls, 0),
    failures: reports.flatMap(({ failures }) => failures),
    streams: scene.streams,
    loadStreams,
  };
}
