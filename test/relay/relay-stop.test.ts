import { OfficialClient } from '../control-plane/official-client';
import { cluster } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { openRawWorld } from './raw-world';
import { RelayScene } from './relay-scene';

const LRS = 'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';

describe('a relay that is closed', () => {
  it('reports the loads that were on their way to it', async () => {
    let issued = 0;
    const scene = await RelayScene.start({
      loadReporting: { intervalMs: 60_000 },
      onLoadReport: (_client, { clusters }) => {
        for (const { localities } of clusters) for (const load of localities) issued += load.issued;
      },
    });
    scene.serve({ clusters: [cluster('a')] });
    const node = { id: 'n' };
    const world = openRawWorld(false, scene.listen, node);
    world.subscribe(['a']);
    await eventually(
      () => world.describe(),
      (text) => text.includes('"a"'),
    );
    const client = new OfficialClient(scene.listen);
    const stream = client.call<object>(LRS);
    stream.send({ node });
    await stream.next();
    const localities = [{ locality: { zone: 'z' }, total_issued_requests: '3' }];
    stream.send({ cluster_stats: [{ cluster_name: 'a', upstream_locality_stats: localities }] });
    await scene.relay.close();
    await eventually(
      () => issued,
      (count) => count > 0,
    );
    expect(issued).toBe(3);
    world.close();
    client.close();
    scene.stop();
  });

  it('ends at once what an earlier close() waits for', async () => {
    const scene = await RelayScene.start({ loadReporting: { intervalMs: 60_000 } });
    const node = { id: 'n' };
    scene.serve({ clusters: [cluster('a')] });
    const world = openRawWorld(false, scene.listen, node);
    world.subscribe(['a']);
    await eventually(
      () => world.describe(),
      (text) => text.includes('"a"'),
    );
    const client = new OfficialClient(scene.listen);
    const stream = client.call<object>(LRS);
    stream.send({ node });
    await stream.next();
    const startMs = performance.now();
    const closed = scene.relay.close();
    await scene.relay.close({ force: true });
    await expect(stream.next()).rejects.toThrow('UNAVAILABLE');
    expect(performance.now() - startMs).toBeLessThan(150);
    await closed;
    world.close();
    client.close();
    scene.stop();
  });
});
