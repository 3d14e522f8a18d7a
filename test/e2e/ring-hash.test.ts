import { status } from '@grpc/grpc-js';
import { Mesh, simpleResources } from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import { edsClusterJson } from '../support/xds-json';

describe('a channel with a ring_hash cluster', () => {
  const servers = Array.from({ length: 12 }, () => new SilentServer());
  let mesh: Mesh;

  beforeEach(async () => {
    mesh = await Mesh.start();
  });
  afterEach(() => {
    for (const server of servers) server.close();
    mesh.stop();
  });

  it('connects to one endpoint for one call of a route without hash policies', async () => {
    // 1. Twelve endpoints that accept connections and never answer.
    const ports = await Promise.all(servers.map((server) => server.listen()));
    mesh.serve({
      ...simpleResources(ports),
      clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })],
    });
    // 2. The call is picked again when its endpoint is CONNECTING, and again waits for that one.
    const { code } = await mesh.client().failure({ deadlineMs: 2000 });
    expect(code).toBe(status.DEADLINE_EXCEEDED);
    expect(servers.reduce((sum, { connections }) => sum + connections, 0)).toBe(1);
  });
});
