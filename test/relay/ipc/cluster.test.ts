import { RemoteProcess } from '../../chaos/servers/remote-process';
import { eventually } from '../../support/eventually';
import { bootstrapFor } from '../../support/mesh';
import { SharedProcesses } from '../share/shared-processes';
import type { ClusterPrimary } from './primary';

describe.each(['json', 'advanced'] as const)(
  'workers of a cluster that share the streams of the primary, with the serialization %s',
  (serialization) => {
    let scene: SharedProcesses;
    let primary: RemoteProcess<ClusterPrimary>;

    beforeEach(async () => {
      scene = await SharedProcesses.start();
      primary = new RemoteProcess('../../relay/ipc/primary.ts');
      const worker = { ...scene.setup, share: 'cluster' };
      await primary.request('setUp', { worker, serialization });
    });
    afterEach(() => {
      primary.stop();
      scene.stop();
    });

    const oneStreamEach = () =>
      eventually(
        () => scene.open,
        ({ ads, lrs }) => ads === 1 && lrs === 1,
      );
    const failures = async () =>
      (await primary.request('reports')).flatMap((report) => report.failures);
    const untilAnsweredBy = (name: string) =>
      eventually(
        () => primary.request('say'),
        (answers) => answers.every((answer) => answer === name),
      );

    it('have one stream of resources and one of load reports, the primary as well', async () => {
      await primary.request('share');
      expect(await primary.request('fork', 4)).toEqual(['a', 'a', 'a', 'a']);
      expect(await primary.request('sayItself')).toBe('a');
      await oneStreamEach();
      scene.serve(scene.other);
      await untilAnsweredBy('b');
      expect(scene.streams).toBe(1);
      const reports = await primary.request('reports');
      expect(reports.flatMap(({ servers }) => servers.map((server) => server.serverUri))).toEqual(
        Array.from({ length: 4 }, () => 'ipc:cluster'),
      );
      expect(reports.flatMap(({ lines }) => lines)).toEqual([]);
      const relay = { address: 'ipc:cluster', upstream: scene.address, state: 'ready' };
      const ofPrimary = { ...relay, pid: primary.pid, takeovers: 0 };
      expect(await primary.request('shares')).toMatchObject([{ ...ofPrimary, role: 'relay' }]);
      expect(reports[0]?.shares).toMatchObject([{ ...ofPrimary, role: 'client' }]);
    });

    it('are killed and forked again under load, and no call fails', async () => {
      await primary.request('share');
      await primary.request('fork', 3);
      await primary.request('call', 50);
      for (let kill = 0; kill < 3; kill++) {
        await primary.request('kill');
        expect(await primary.request('fork', 1)).toEqual(['a']);
      }
      await oneStreamEach();
      expect(await failures()).toEqual([]);
      expect(scene.streams).toBe(1);
    });

    it('go on while the control plane is away, and those that are forked then start', async () => {
      await primary.request('share');
      await primary.request('fork', 2);
      await oneStreamEach();
      await primary.request('call', 50);
      scene.killControlPlane();
      expect(await primary.request('fork', 1)).toEqual(['a']);
      expect(await primary.request('say')).toEqual(['a', 'a', 'a']);
      expect(await failures()).toEqual([]);
    });

    it('use their servers without a relay in the primary, and the relay once there is one', async () => {
      expect(await primary.request('fork', 1)).toEqual(['a']);
      const [report] = await primary.request('reports');
      expect(report?.lines.filter((line) => line.includes('has no relay'))).toHaveLength(1);
      await primary.request('share');
      await eventually(
        () => primary.request('reports'),
        ([worker]) => worker?.servers[0]?.serverUri === 'ipc:cluster',
      );
      await primary.request('stopSharing');
      await primary.request('share');
      scene.serve(scene.other);
      await untilAnsweredBy('b');
      await oneStreamEach();
    });

    it('use their servers beside a relay of other management servers, which is logged', async () => {
      const worker = { ...scene.setup, share: 'cluster' };
      const bootstrap = bootstrapFor('127.0.0.1:1');
      await primary.request('setUp', { worker, serialization, bootstrap });
      await primary.request('share');
      expect(await primary.request('fork', 1)).toEqual(['a']);
      const [report] = await primary.request('reports');
      const lines = report?.lines.filter((line) => line.includes('has the management servers'));
      expect(lines).toHaveLength(1);
      expect(lines?.[0]).toContain(
        `the relay in the primary of node:cluster has the management servers "127.0.0.1:1", and the bootstrap of this process has "${scene.address}": use the same bootstrap in both`,
      );
    });

    it('do not share the streams of channels with another bootstrap, which is logged', async () => {
      await primary.request('share');
      await primary.request('fork', 1);
      const other = await SharedProcesses.start();
      other.serve(other.other);
      expect(await primary.request('sayBy', other.setup)).toEqual(['b']);
      const [report] = await primary.request('reports');
      expect(report?.lines).toEqual([
        'relay of node:cluster: has the bootstrap of register(): the streams of the bootstrap in channel option grpc_xds.bootstrap are not shared: see docs/guides/several-processes.md',
      ]);
      other.stop();
    });
  },
);
