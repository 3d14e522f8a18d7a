// The primary of node:cluster whose workers make calls. It takes no part in what they share.
import cluster from 'node:cluster';
import { join } from 'node:path';
import { answerRequests, RemoteProcess, TYPESCRIPT_ARGV } from '../../chaos/servers/remote-process';
import type { ShareWorker, WorkerReport, WorkerSetup } from './worker';

type ClusterWorker = RemoteProcess<ShareWorker>;

const workers: ClusterWorker[] = [];

const requests = {
  /** Forks workers. @returns their first answers. */
  fork({ count, setup }: { readonly count: number; readonly setup: WorkerSetup }) {
    cluster.setupPrimary({ exec: join(__dirname, 'worker.ts'), execArgv: TYPESCRIPT_ARGV });
    const added = Array.from(
      { length: count },
      (): ClusterWorker => new RemoteProcess('worker.ts', cluster.fork().process),
    );
    workers.push(...added);
    return Promise.all(added.map((worker) => worker.request('open', setup)));
  },
  async call(callsPerSecond: number): Promise<void> {
    for (const worker of workers) await worker.request('call', callsPerSecond);
  },
  say: () => Promise.all(workers.map((worker) => worker.request('say'))),
  reports: (): Promise<readonly WorkerReport[]> =>
    Promise.all(workers.map((worker) => worker.request('report'))),
  /** Kills the worker that is the relay. */
  async killRelay(): Promise<void> {
    const reports = await requests.reports();
    workers
      .splice(
        reports.findIndex(({ isServing }) => isServing),
        1,
      )[0]
      ?.stop();
  },
};

export type ClusterPrimary = typeof requests;

answerRequests(requests);
process.on('disconnect', () => {
  for (const worker of workers) worker.stop();
  process.exit();
});
