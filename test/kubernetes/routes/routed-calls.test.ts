import { Client, credentials, type Server } from '@grpc/grpc-js';
import { clusterName } from '../../../packages/kubernetes/src/names';
import {
  REFUSAL_FILTER,
  routesOfService,
} from '../../../packages/kubernetes/src/routes/service-routes';
import { clusterOf } from './cluster';
import { callOnce, startBackend } from './named-backend';
import { ROUTING_CASES, SERVICES, sharesOf, type RoutingCase } from './routing-cases';
import { Mesh } from '../../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../../support/xds-json';

/** Calls of a case that has several outcomes: each one of a share of a tenth is missed once in two million times. */
const CALLS = 140;

/** The Listener and the RouteConfiguration of a case. */
function resourcesOf({ objects, call }: RoutingCase, name: string): readonly [Json, Json] {
  const cluster = clusterOf([...SERVICES, ...objects]);
  const front = cluster.services.get('shop/front');
  const [port] = front?.ports ?? [];
  if (front === undefined || port === undefined) throw new Error('no Service');
  const { routes } = routesOfService(cluster, front, port, call.from ?? 'shop');
  const own = routeToCluster(clusterName({ name: 'front', namespace: 'shop', port: 80 }));
  return [
    listenerJson(name, name, { http_filters: [REFUSAL_FILTER, routerFilter] }),
    routeConfigJson(name, routes?.map((route) => ({ ...route })) ?? [own]),
  ];
}

describe('calls by the routes of GRPCRoutes', () => {
  let mesh: Mesh;
  const servers: Server[] = [];

  beforeAll(async () => {
    mesh = await Mesh.start();
    const addresses = SERVICES.map(({ metadata }) => metadata).map((metadata) => ({
      name: '',
      namespace: '',
      ...(typeof metadata === 'object' ? metadata : {}),
      port: 80,
    }));
    const clusters: Json[] = [];
    const endpoints: Json[] = [];
    for (const address of addresses) {
      const { server, port } = await startBackend(address.name);
      servers.push(server);
      const cluster = clusterName(address);
      clusters.push(edsClusterJson(cluster));
      endpoints.push(endpointsJson(cluster, [{ zone: 'a', ports: [port] }]));
    }
    const pairs = ROUTING_CASES.map((each, i) => resourcesOf(each, `case-${i}`));
    const [listeners, routes] = [pairs.map(([first]) => first), pairs.map(([, second]) => second)];
    mesh.serve({ listeners, routes, clusters, endpoints });
  });

  afterAll(() => {
    mesh.stop();
    for (const server of servers) server.forceShutdown();
  });

  it.each(ROUTING_CASES.map((each, i) => [each.name, each, i] as const))(
    '%s',
    async (_name, each, i) => {
      const client = new Client(`xds:///case-${i}`, credentials.createInsecure());
      const expected = [...sharesOf(each).keys()];
      const count = expected.length > 1 ? CALLS : 1;
      const outcomes = await Promise.all(
        Array.from({ length: count }, () => callOnce(client, each.call)),
      );
      client.close();
      expect([...new Set(outcomes)].sort()).toEqual(expected.sort());
    },
  );
});
