import { Metadata } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { SERVICE, useMesh } from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import { edsClusterJson, endpointsJson, listenerJson, routeConfigJson } from '../support/xds-json';

/** The cluster named in the header, each by ring_hash; without the header, `first`. */
function routes(...clusters: readonly string[]) {
  const byHeader = clusters.map((cluster) => ({
    match: { prefix: '', headers: [{ name: 'to', string_match: { exact: cluster } }] },
    route: { cluster },
  }));
  return [...byHeader, { match: { prefix: '' }, route: { cluster: 'first' } }];
}

const to = (cluster: string): Metadata => {
  const metadata = new Metadata();
  metadata.set('to', cluster);
  return metadata;
};

describe('A channel with clusters that connect on demand', () => {
  const mesh = useMesh();
  const silent = new SilentServer();

  afterEach(() => {
    silent.close();
  });

  it('connects to the cluster of each call, and to no other', async () => {
    // 1. Three clusters: two with a backend, one with a server that nobody is to connect to.
    const first = await mesh.backend('first');
    const second = await mesh.backend('second');
    const ports = { first: first.port, second: second.port, unused: await silent.listen() };
    const clusters = Object.keys(ports);
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, routes(...clusters))],
      clusters: clusters.map((name) => edsClusterJson(name, { lb_policy: 'RING_HASH' })),
      endpoints: Object.entries(ports).map(([name, port]) =>
        endpointsJson(name, [{ zone: 'a', ports: [port] }]),
      ),
    });
    const client = mesh.client();
    // 2. The first call of the process, and more of the same kind.
    for (let i = 0; i < 5; i++) expect(await client.say()).toBe('first');
    expect(first.peers.size).toBe(1);
    // 3. A cluster that has not been wanted so far serves when it is.
    const answers = await Promise.all([1, 2, 3].map(() => client.say({ metadata: to('second') })));
    expect(answers).toEqual(['second', 'second', 'second']);
    expect(second.peers.size).toBe(1);
    expect(silent.connections).toBe(0);
    // 4. The check can fail: a call to the other cluster does connect.
    const call = client.failure({ metadata: to('unused') });
    await eventually(() => silent.connections > 0, true);
    silent.close();
    await call;
  });
});
