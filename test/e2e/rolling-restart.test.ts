import { eventually } from '../support/eventually';
import { Load } from '../support/load';
import { simpleResources, useMesh } from '../support/mesh';

describe('a rolling restart of all backends under load', () => {
  const mesh = useMesh();

  it('fails no call, and makes one new connection to each backend', async () => {
    const backends = await Promise.all(['b1', 'b2', 'b3'].map((name) => mesh.backend(name)));
    mesh.serve(simpleResources(backends.map(({ port }) => port)));
    const client = mesh.client({ 'grpc.initial_reconnect_backoff_ms': 100 });
    await eventually(
      () => client.say(),
      () => backends.every(({ peers }) => peers.size === 1),
    );
    const load = new Load(client, 4);
    // One at a time: grpc-js retries a refused call once, and two refusals in a row would be a failure.
    for (const backend of backends) {
      await backend.drain();
      await backend.listen();
      await eventually(() => backend.peers.size, 2);
    }
    const { calls, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThan(10);
    expect(backends.map(({ peers }) => peers.size)).toEqual([2, 2, 2]);
  });
});
