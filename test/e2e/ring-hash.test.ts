import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { simpleResources, useMesh } from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import { edsClusterJson } from '../support/xds-json';

describe('a channel with a ring_hash cluster', () => {
  const servers = Array.from({ length: 12 }, () => new SilentServer());
  const mesh = useMesh();

  afterEach(() => {
    for (const server of servers) server.close();
  });

  it('connects to one endpoint for one call of a route without hash policies', async () => {
    // 1. Twelve endpoints that accept connections and never answer.
    const ports = await Promise.all(servers.map((server) => server.listen()));
    mesh.serve({
      ...simpleResources(ports),
      clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })],
    });
    // 2. The call is picked again when its endpoint is CONNECTING, and again waits for that one.
    const connections = () => servers.reduce((sum, server) => sum + server.connections, 0);
    const client = mesh.client();
    const answer = client.say({ deadlineMs: 60_000 }).catch(() => undefined);
    await eventually(connections, (count) => count > 0);
    // Time for another one, which must not come.
    await sleep(1000);
    expect(connections()).toBe(1);
    client.close();
    await answer;
  });
});
