import { basename } from 'node:path';
import { eventually } from '../../support/eventually';
import { SharedProcesses } from './shared-processes';
import { strangers } from './strangers';

describe('processes that share their streams, with two bootstraps', () => {
  let scene: SharedProcesses;
  /** Has the other control plane, whose calls are answered by "b". */
  let other: SharedProcesses;
  beforeEach(async () => {
    [scene, other] = await Promise.all([SharedProcesses.start(), SharedProcesses.start()]);
    other.serve(other.other);
  });
  afterEach(() => {
    scene.stop();
    other.stop();
  });

  const oneStreamEach = () =>
    eventually(
      () => [scene.open, other.open],
      (opens) => opens.every(({ ads, lrs }) => ads === 1 && lrs === 1),
    );
  /** The last part of each path that a process shares, and its role there. */
  const roles = async () => {
    const reports = await scene.reports();
    return reports.map(({ shares }) =>
      shares.map(({ address, role }) => {
        const name = basename(address).replace(/-[0-9a-f]{8}$/, '-hash');
        return `${name} ${role}`;
      }),
    );
  };

  it('have one stream for each, also for those of channels', async () => {
    await scene.add(2);
    for (const worker of scene.workers) {
      expect(await worker.request('sayBy', other.setup)).toBe('b');
      expect(await worker.request('sayBy', scene.setup)).toBe('a');
    }
    await oneStreamEach();
    expect([scene.streams, other.streams]).toEqual([1, 1]);
    expect((await roles()).flat().sort()).toEqual([
      'xds.sock client',
      'xds.sock relay',
      'xds.sock-hash client',
      'xds.sock-hash relay',
    ]);
  });

  it('are not served by a relay of the other one, which is logged once', async () => {
    await scene.add(1);
    const [first] = scene.workers;
    await other.add(1, scene.share);
    await eventually(
      () => other.workers[0]?.request('say'),
      (answer) => answer === 'b',
    );
    const [report] = await other.reports();
    const lines = report?.lines.filter((line) => line.includes('cannot be used')) ?? [];
    expect(lines).toHaveLength(1);
    const [theirs, own] = [scene, other].map(({ address }) => JSON.stringify(address));
    expect(lines[0]).toContain(
      `relay (pid ${first?.pid}) has the management servers ${theirs}, and the bootstrap of this process has ${own}`,
    );
    expect(report?.shares).toMatchObject([{ state: 'unavailable', role: 'none', takeovers: 0 }]);
    expect(scene.streams).toBe(1);
  });

  it('use their management servers beside a server that is no relay', async () => {
    const [[, listenAs] = []] = strangers;
    const end = await listenAs?.(scene.share);
    expect(await scene.add(2)).toEqual(['a', 'a']);
    const reports = await scene.reports();
    for (const { lines } of reports) {
      expect(lines.filter((line) => line.includes('cannot be used: '))).toHaveLength(1);
    }
    end?.();
  });

  it('describe the relay after a takeover', async () => {
    await scene.add(2);
    const killed = await scene.takeServing();
    killed.stop();
    const [report] = await eventually(
      () => scene.reports(),
      (reports) => reports[0]?.shares[0]?.role === 'relay',
    );
    const [worker] = scene.workers;
    expect(report?.shares).toMatchObject([
      {
        address: `unix:${scene.share}`,
        upstream: scene.address,
        state: 'ready',
        role: 'relay',
      },
    ]);
    const [share] = report?.shares ?? [];
    expect(share).toMatchObject({ pid: worker?.pid, takeovers: 1 });
    expect(share?.text).toBe(
      `unix:${scene.share}: this process is the relay since ${share?.since}, 1 takeover`,
    );
  });
});
