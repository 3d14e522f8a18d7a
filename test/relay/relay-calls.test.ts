import { inspect } from '../../src';
import type { ClusterLoad, LoadReport } from '../../src/control-plane';
import { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  registerAnew,
} from '../support/mesh';
import { ObedientBackend, ObedientClient } from '../support/obedient-backend';
import { edsClusterJson, endpointsJson } from '../support/xds-json';
import { createEchoClients, type EchoClients } from './echo-clients';
import { RelayScene } from './relay-scene';
import { IstioAgent } from '../support/imitated-istiod';

const IDS = ['one', 'two', 'three', 'four'];

describe('four processes behind a relay below an agent that keeps one stream', () => {
  let scene: RelayScene;
  let clients: EchoClients;
  let backends: EchoBackend[];

  beforeEach(async () => {
    registerAnew({});
    scene = await RelayScene.start({ loadReporting: { intervalMs: 100 } }, [], {}, IstioAgent);
    clients = createEchoClients(scene.listen, IDS);
    backends = [await EchoBackend.start('a'), await EchoBackend.start('b')];
  });
  afterEach(() => {
    clients.close();
    for (const backend of backends) backend.stop();
    scene.stop();
    registerAnew({});
  });

  const resourcesOf = (backend: number) => {
    const resources = simpleResources([backends[backend]?.port ?? 0]);
    return { ...resources, clusters: [edsClusterJson('echo', { lrs_server: { self: {} } })] };
  };

  it('have one ADS stream and one LRS stream at the agent, which is not cut', async () => {
    scene.serve(resourcesOf(0));
    expect(await clients.say()).toEqual(['a', 'a', 'a', 'a']);
    await eventually(
      () => scene.relay.inspect().loadClients.length,
      (count) => count === 4,
    );
    scene.serve(resourcesOf(1));
    await eventually(
      () => clients.say(),
      (answers) => answers.every((answer) => answer === 'b'),
    );
    expect(scene.streams).toBe(1);
    expect(scene.controlPlane.clients()).toHaveLength(1);
    expect(scene.controlPlane.loadClients()).toHaveLength(1);
    expect(inspect().targets.flatMap(({ servers }) => servers.map((s) => s.shortStreams))).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('go on while the agent or the relay is killed, and follow when it is back', async () => {
    scene.serve(resourcesOf(0));
    expect(await clients.say()).toEqual(['a', 'a', 'a', 'a']);
    void scene.controlPlane.close({ force: true });
    expect(await clients.say()).toEqual(['a', 'a', 'a', 'a']);
    await scene.restartControlPlane(resourcesOf(1));
    await eventually(
      () => clients.say(),
      (answers) => answers.every((answer) => answer === 'b'),
    );
    void scene.relay.close({ force: true });
    expect(await clients.say()).toEqual(['b', 'b', 'b', 'b']);
    void scene.controlPlane.close({ force: true });
    await scene.startRelay();
    // The new relay has nothing, and says why.
    await eventually(
      () => inspect().targets.flatMap(({ servers }) => servers),
      (servers) =>
        servers.every(({ lastError = '' }) => lastError.includes('UNAVAILABLE: relay (pid ')),
    );
    expect(await clients.say()).toEqual(['b', 'b', 'b', 'b']);
    await scene.restartControlPlane(resourcesOf(0));
    await eventually(
      () => clients.say(),
      (answers) => answers.every((answer) => answer === 'a'),
    );
  });
});

describe.each(DISTANT_VARIANTS)(
  'loads that a relay adds up, for clients in the variant: %s',
  (_, features) => {
    it('are the calls that were made, also by clients that end', async () => {
      const reports: LoadReport[] = [];
      const scene = await RelayScene.start({
        loadReporting: { intervalMs: 100 },
        onLoadReport: (_client, report) => reports.push(report),
      });
      const backends = [await ObedientBackend.start(), await ObedientBackend.start()];
      const [a, b] = backends.map(({ port }) => port);
      scene.serve({
        ...simpleResources([]),
        clusters: [edsClusterJson('echo', { lrs_server: { self: {} } })],
        endpoints: [
          endpointsJson('echo', [
            { zone: 'a', ports: [a ?? 0] },
            { zone: 'b', ports: [b ?? 0] },
          ]),
        ],
      });
      registerAnew({});
      const open = (id: string) => {
        const bootstrap = { ...bootstrapFor(scene.listen, features), node: { id } };
        return new ObedientClient(`xds:///${SERVICE}`, {
          'grpc_xds.bootstrap': JSON.stringify(bootstrap),
        });
      };
      const clients = IDS.map(open);
      const [first, second] = clients;
      if (first === undefined || second === undefined) throw new Error('there are four clients');
      const held = [first.call('hold'), second.call('hold')];
      for (let round = 0; round < 5; round++) {
        for (const [i, client] of clients.entries()) {
          await client.calls(i + 1, 'ok');
          await client.calls(2, 'fail');
        }
      }
      const sum = () => sumOf(reports.flatMap(({ clusters }) => clusters));
      await eventually(sum, ({ inProgress }) => inProgress === 2);
      for (const call of held) call.cancel();
      first.close();
      await second.calls(7, 'ok');
      for (const client of clients) client.close();
      const expected = { issued: 99, succeeded: 57, failed: 42, inProgress: 0 };
      await eventually(sum, (all) => JSON.stringify(all) === JSON.stringify(expected)).catch(
        () => undefined,
      );
      expect(sum()).toEqual(expected);
      for (const { clusters } of reports) {
        for (const { cluster, localities } of clusters) {
          expect(cluster).toBe('echo');
          const zones = localities.map(({ zone }) => zone);
          expect(new Set(zones).size).toBe(zones.length);
        }
      }
      for (const backend of backends) backend.stop();
      scene.stop();
      registerAnew({});
    });
  },
);

/** Adds up reports; calls in progress are those of the last one. */
function sumOf(loads: readonly ClusterLoad[]) {
  const sum = { issued: 0, succeeded: 0, failed: 0, inProgress: 0 };
  for (const { localities } of loads) {
    sum.inProgress = 0;
    for (const { issued, succeeded, failed, inProgress } of localities) {
      sum.issued += issued;
      sum.succeeded += succeeded;
      sum.failed += failed;
      sum.inProgress += inProgress;
    }
  }
  return sum;
}
