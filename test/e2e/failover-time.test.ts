import { aggregateJson, routed } from '../support/failover';
import { systemClock } from '../../src/util/clock';
import { FastClock } from '../support/fast-clock';
import { Mesh, SERVICE } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { SilentServer } from '../support/silent-server';

describe('a priority that neither connects nor fails', () => {
  it('is given ten seconds, in a cluster and in an aggregate, and one that was never told of fifteen', async () => {
    // 1. The first place of calls to `slow` and `slow-cluster` is a server that says nothing; that of calls to
    //    `unknown` is a cluster that the control plane has no endpoints for, which only an incremental one would say.
    const mesh = await Mesh.start([]);
    const silent = new SilentServer();
    const port = await silent.listen();
    const backend = await mesh.backend('second');
    const second = endpointsJson('two', [{ zone: 'z', ports: [backend.port] }]);
    const clusters = [
      edsClusterJson('slow'),
      edsClusterJson('one'),
      edsClusterJson('two'),
      edsClusterJson('missing'),
      aggregateJson('slow-cluster', ['one', 'two']),
      aggregateJson('unknown', ['missing', 'two']),
    ];
    const targets = ['slow', 'slow-cluster', 'unknown'];
    mesh.serve({
      ...routed(clusters, [
        endpointsJson('slow', [
          { zone: 'x', ports: [port] },
          { zone: 'y', priority: 1, ports: [backend.port] },
        ]),
        endpointsJson('one', [{ zone: 'x', ports: [port] }]),
        second,
      ]),
      listeners: targets.map((name) => listenerJson(`${name}.${SERVICE}`)),
      routes: targets.map((name) =>
        routeConfigJson(`${name}.${SERVICE}-routes`, [routeToCluster(name)]),
      ),
    });

    // 2. Calls wait for their time to be up, and then go to the second place. None fails.
    const clock = new FastClock(10);
    const startedAtMs = systemClock.monotonicMs();
    const answers = await Promise.all(
      targets.map(async (name) => {
        const client = mesh.client({}, `xds:///${name}.${SERVICE}`);
        const answer = await client.say({ deadlineMs: 60_000 });
        return { name, answer, afterMs: systemClock.monotonicMs() - startedAtMs };
      }),
    );
    expect(answers.map(({ answer }) => answer)).toEqual(['second', 'second', 'second']);

    // 3. Not before: two have waited for a priority, and one for the endpoints.
    for (const { afterMs } of answers) expect(afterMs).toBeGreaterThanOrEqual(10_000);
    // A wait may be interrupted, and goes on with the rest of its 15 s.
    expect(answers.find(({ name }) => name === 'unknown')?.afterMs).toBeGreaterThanOrEqual(15_000);

    clock.stop();
    silent.close();
    mesh.stop();
  }, 90_000);
});
