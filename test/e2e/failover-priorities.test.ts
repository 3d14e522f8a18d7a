import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { RECONNECT_SOON, routed, untilAnsweredBy } from '../support/failover';
import { Load } from '../support/load';
import { useMesh } from '../support/mesh';
import { edsClusterJson, endpointsJson } from '../support/xds-json';

describe('a cluster of three priorities', () => {
  const mesh = useMesh();
  let backends: readonly [EchoBackend, EchoBackend, EchoBackend];
  let client: EchoClient;

  beforeEach(async () => {
    backends = [await mesh.backend('p0'), await mesh.backend('p1'), await mesh.backend('p2')];
    client = mesh.client(RECONNECT_SOON);
  });

  /** Serves priorities, given as the ports of each. */
  function serve(...priorities: readonly (readonly number[])[]): void {
    const localities = priorities.map((ports, priority) => ({
      zone: `z${priority}`,
      priority,
      ports,
    }));
    mesh.serve(routed([edsClusterJson('echo')], [endpointsJson('echo', localities)]));
  }

  const ports = () => backends.map(({ port }) => [port]);

  it('goes down two priorities, and back up one at a time, and no call fails', async () => {
    const [p0, p1, p2] = backends;
    serve(...ports());
    await untilAnsweredBy(client, 'p0');
    expect([p1.peers.size, p2.peers.size]).toEqual([0, 0]);
    const load = new Load(client, 2);
    await p0.drain();
    await untilAnsweredBy(client, 'p1');
    await p1.drain();
    await untilAnsweredBy(client, 'p2');
    await p1.listen();
    await untilAnsweredBy(client, 'p1');
    await p0.listen();
    await untilAnsweredBy(client, 'p0');
    const { failures, calls } = await load.stop();
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThan(2);
  });

  it('goes from the last straight to the first when that is back before the second', async () => {
    const [p0, p1] = backends;
    serve(...ports());
    await untilAnsweredBy(client, 'p0');
    p0.stop();
    p1.stop();
    await untilAnsweredBy(client, 'p2');
    await p0.listen();
    await untilAnsweredBy(client, 'p0');
    expect(p1.peers.size).toBe(0);
  });

  it('leaves a priority whose endpoints are taken away, and comes back when there are others', async () => {
    const [p0, p1, p2] = backends;
    serve(...ports());
    await untilAnsweredBy(client, 'p0');
    const load = new Load(client, 2);
    serve([], [p1.port], [p2.port]);
    await untilAnsweredBy(client, 'p1');
    serve([p2.port], [p1.port]);
    await untilAnsweredBy(client, 'p2');
    serve([p0.port], [p1.port]);
    await untilAnsweredBy(client, 'p0');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('goes up when the first priority gets other endpoints while a lower one is in use', async () => {
    const [p0, p1, p2] = backends;
    p0.stop();
    serve([p0.port], [p1.port]);
    await untilAnsweredBy(client, 'p1');
    const load = new Load(client, 2);
    serve([p0.port, p2.port], [p1.port]);
    await untilAnsweredBy(client, 'p2');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('keeps the connection of a backend that moves to another priority', async () => {
    const [p0, p1] = backends;
    serve([p0.port], [p1.port]);
    await untilAnsweredBy(client, 'p0');
    const load = new Load(client, 2);
    serve([p1.port], [p0.port]);
    await untilAnsweredBy(client, 'p1');
    serve([p0.port], [p1.port]);
    await untilAnsweredBy(client, 'p0');
    expect((await load.stop()).failures).toEqual([]);
    expect([p0.peers.size, p1.peers.size]).toEqual([1, 1]);
  });

  it('goes on with the priorities there are when a lower one is added and removed', async () => {
    const [p0, p1, p2] = backends;
    serve([p0.port], [p1.port]);
    await untilAnsweredBy(client, 'p0');
    serve(...ports());
    serve([p0.port]);
    serve([p0.port], [p2.port]);
    await p0.drain();
    // Calls fail if the connection is lost before the last of these configurations has arrived.
    await eventually(() => client.say().catch(() => ''), 'p2');
    expect(p1.peers.size).toBe(0);
  });

  it('fails calls when all priorities are taken away, until there are some', async () => {
    serve(...ports());
    await untilAnsweredBy(client, 'p0');
    serve();
    await eventually(
      () => client.say().catch((error: Error) => error.message),
      (answer) => answer.includes('no endpoints'),
    );
    serve(...ports());
    await eventually(() => client.say().catch(() => ''), 'p0');
  });
});
