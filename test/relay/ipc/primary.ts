// The primary of a cluster whose workers make calls.
import cluster from 'node:cluster';
import { join } from 'node:path';
import { inspect, register, shutdown } from '../../../src';
import { answerRequests, RemoteProcess, TYPESCRIPT_ARGV } from '../../chaos/servers/remote-process';
import { EchoClient } from '../../support/echo-backend';
import type { ShareWorker, WorkerReport, WorkerSetup } from '../share/worker';

/** How a primary is set up. */
export interface PrimarySetup {
  readonly worker: WorkerSetup;
  /** That of the primary. Default: that of the workers. */
  readonly bootstrap?: object;
  readonly serialization: 'json' | 'advanced';
}

type ClusterWorker = RemoteProcess<ShareWorker>;

const lines: string[] = [];
const workers: ClusterWorker[] = [];
let setup: WorkerSetup | undefined;
let ownBootstrap: object | undefined;
let client: EchoClient | undefined;

const requests = {
  setUp({ worker, serialization, bootstrap = worker.bootstrap }: PrimarySetup): void {
    setup = worker;
    ownBootstrap = bootstrap;
    const exec = join(__dirname, '../share/worker.ts');
    cluster.setupPrimary({ exec, execArgv: TYPESCRIPT_ARGV, serialization });
  },
  share(): void {
    const logger = { log: ({ message }: { message: string }) => void lines.push(message) };
    register({ bootstrap: JSON.stringify(ownBootstrap), logger, share: 'cluster' });
  },
  stopSharing: () => shutdown(),
  /** Forks workers. @returns their first answers. */
  fork(count: number): Promise<readonly (string | undefined)[]> {
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
  sayBy: (other: WorkerSetup) =>
    Promise.all(workers.map((worker) => worker.request('sayBy', other))),
  reports: (): Promise<readonly WorkerReport[]> =>
    Promise.all(workers.map((worker) => worker.request('report'))),
  /** Kills the worker that was forked first. */
  kill(): void {
    workers.shift()?.stop();
  },
  /** Calls as a client of the primary. */
  sayItself(): Promise<string> {
    client ??= new EchoClient(setup?.target ?? '');
    return client.say();
  },
  lines: () => lines,
  shares: () => inspect().shares,
};

export type ClusterPrimary = typeof requests;

answerRequests(requests);
process.on('disconnect', () => {
  for (const worker of workers) worker.stop();
  process.exit();
});
