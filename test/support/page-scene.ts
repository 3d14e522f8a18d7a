import { edsClusterJson, listenerJson, routeConfigJson, type Json } from './xds-json';
import type { EchoBackend, EchoClient } from './echo-backend';
import { Mesh, type MeshResources } from './mesh';

/** The service that the scene is about. */
export const SHOP = 'shop.example:8080';

export interface Scene {
  readonly mesh: Mesh;
  readonly resources: MeshResources;
  readonly shop: EchoClient;
  /** Three of priority 0, two of them in the first zone, and one of priority 1. */
  readonly backends: readonly EchoBackend[];
}

/** A mesh with a target that is served, with problems, and one that does not exist. */
export async function startScene(): Promise<Scene> {
  return fillScene(await Mesh.start());
}

/** Serves the scene by a mesh without resources, and opens its channels. */
export async function fillScene(mesh: Mesh): Promise<Scene> {
  const backends = await Promise.all(['a', 'b', 'c', 'd'].map((name) => mesh.backend(name)));
  const [a = 0, b = 0, c = 0, d = 0] = backends.map(({ port }) => port);
  const resources: MeshResources = {
    listeners: [listenerJson(SHOP)],
    routes: [
      routeConfigJson(`${SHOP}-routes`, [
        {
          name: 'pay',
          match: { prefix: '/shop.Pay/', headers: [{ name: 'x-region', present_match: true }] },
          route: { cluster: 'pay', timeout: '2s' },
        },
        {
          name: 'all',
          match: { prefix: '' },
          route: { cluster: 'catalog', prefix_rewrite: '/v2' },
        },
      ]),
    ],
    clusters: [edsClusterJson('catalog'), edsClusterJson('pay')],
    endpoints: [
      assignment('catalog', [
        { zone: 'eu-1a', priority: 0, ports: [a, b, 1] },
        { zone: 'eu-1b', priority: 0, ports: [c] },
        { zone: 'us-2a', priority: 1, ports: [d] },
      ]),
      assignment('pay', [{ zone: 'eu-1a', priority: 0, ports: [b] }]),
    ],
  };
  mesh.serve(resources);
  const shop = mesh.client({}, `xds:///${SHOP}`);
  await shop.say();
  mesh.serve({
    ...resources,
    clusters: [edsClusterJson('catalog'), edsClusterJson('pay', { lb_policy: 'MAGLEV' })],
  });
  void mesh
    .client({}, 'xds:///nowhere.example:8080')
    .say()
    .catch(() => undefined);
  return { mesh, resources, shop, backends };
}

function assignment(
  cluster: string,
  localities: readonly { zone: string; priority: number; ports: readonly number[] }[],
): Json {
  return {
    cluster_name: cluster,
    endpoints: localities.map(({ zone, priority, ports }) => ({
      locality: { region: 'example', zone },
      priority,
      load_balancing_weight: ports.length,
      lb_endpoints: ports.map((port) => ({
        endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
      })),
    })),
  };
}
