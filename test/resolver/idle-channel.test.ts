import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

describe('A channel that was idle', () => {
  let mesh: Mesh;

  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(() => mesh.stop());

  it('sends its first calls by the current routes', async () => {
    // 1. A call goes to the blue backend; then the channel has nothing to do, and resolves no more.
    const blue = await mesh.backend('blue');
    const green = await mesh.backend('green');
    mesh.serve(simpleResources([blue.port]));
    const client = mesh.client({ 'grpc.client_idle_timeout_ms': 1000 });
    expect(await client.say()).toBe('blue');
    await mesh.untilNoClients();
    // 2. Meanwhile the routes turn to another cluster, and the old one is deleted.
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('green')])],
      clusters: [edsClusterJson('green')],
      endpoints: [endpointsJson('green', [{ zone: 'a', ports: [green.port] }])],
    });
    // 3. Several calls wake the channel up at once.
    expect(await Promise.all([client.say(), client.say(), client.say()])).toEqual([
      'green',
      'green',
      'green',
    ]);
    expect(blue.calls).toBe(1);
  });
});
