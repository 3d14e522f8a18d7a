import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { RemoteProcess } from '../../chaos/servers/remote-process';
import { eventually } from '../../support/eventually';
import type { ClusterPrimary } from './primary';
import { SharedProcesses } from './shared-processes';

describe('processes that share their streams by a socket', () => {
  let scene: SharedProcesses;
  beforeEach(async () => {
    scene = await SharedProcesses.start();
  });
  afterEach(() => scene.stop());

  /** One stream of each kind is open; those of resources are counted, since that of a killed relay stays for a while. */
  const oneStreamEach = (opened?: number) =>
    eventually(
      () => ({ ...scene.open, streams: scene.streams }),
      ({ ads, lrs, streams }) => ads === 1 && lrs === 1 && streams === (opened ?? streams),
    );

  const untilServing = () =>
    eventually(
      () => scene.reports(),
      (reports) => reports.some(({ isServing }) => isServing),
    );

  it('have one stream of resources and one of load reports, have another relay when the first is killed or shut down, and no call fails', async () => {
    expect(await scene.add(3)).toEqual(['a', 'a', 'a']);
    for (const worker of scene.workers) await worker.request('call', 50);
    await oneStreamEach(1);
    expect((await scene.reports()).filter(({ isServing }) => isServing)).toHaveLength(1);
    const killed = await scene.takeServing();
    killed.stop();
    await untilServing();
    await oneStreamEach(2);
    const ended = await scene.takeServing();
    await ended.request('shutDown');
    await untilServing();
    await oneStreamEach(3);
    expect(await ended.untilExit()).toBe(0);
    scene.serve(scene.other);
    await eventually(
      () => Promise.all(scene.workers.map((worker) => worker.request('say'))),
      (answers) => answers.every((answer) => answer === 'b'),
    );
    const reports = await scene.reports();
    expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
    expect(scene.streams).toBe(3);
  });

  it('get the resources of the relay before while the control plane is away', async () => {
    await scene.add(2);
    await oneStreamEach();
    scene.killControlPlane();
    const killed = await scene.takeServing();
    killed.stop();
    await untilServing();
    expect(await scene.add(1)).toEqual(['a']);
  });

  it('end by themselves, also the relay', async () => {
    await scene.add(2);
    for (const worker of scene.workers) await worker.request('close');
    expect(await Promise.all(scene.workers.map((worker) => worker.untilExit()))).toEqual([0, 0]);
  });

  it('use the servers of the bootstrap while the process that is the relay does not answer', async () => {
    await scene.add(1);
    const [stopped] = scene.workers;
    stopped?.signal('SIGSTOP');
    expect(await scene.add(1)).toEqual(['a']);
    stopped?.signal('SIGCONT');
    await eventually(
      () => scene.workers[1]?.request('report'),
      (report) => report?.servers.length === 1,
    );
    await oneStreamEach();
  });

  it('are workers of node:cluster as well, one of which is the relay', async () => {
    const primary: RemoteProcess<ClusterPrimary> = new RemoteProcess(
      '../../relay/share/primary.ts',
    );
    try {
      const setup = { ...scene.setup, share: scene.share };
      expect(await primary.request('fork', { count: 3, setup })).toEqual(['a', 'a', 'a']);
      await primary.request('call', 50);
      await oneStreamEach(1);
      await primary.request('killRelay');
      await oneStreamEach(2);
      scene.serve(scene.other);
      await eventually(
        () => primary.request('say'),
        (answers) => answers.every((answer) => answer === 'b'),
      );
      const reports = await primary.request('reports');
      expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
    } finally {
      primary.stop();
    }
  });

  it('are worker threads as well', async () => {
    const execArgv = ['--require', join(__dirname, '../../support/run-typescript.cjs')];
    const { workerData } = scene;
    const threads = Array.from({ length: 3 }, () => {
      return new Worker(join(__dirname, 'thread.ts'), { execArgv, workerData });
    });
    const answers = await Promise.all(threads.map((thread) => once(thread, 'message')));
    expect(answers).toEqual([['a'], ['a'], ['a']]);
    await oneStreamEach(1);
    await Promise.all(threads.map((thread) => thread.terminate()));
  });
});
