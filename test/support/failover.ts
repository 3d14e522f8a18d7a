// Services with more than one place for calls.

import type { EchoClient } from './echo-backend';
import { eventually } from './eventually';
import { SERVICE, type MeshResources } from './mesh';
import { listenerJson, routeConfigJson, routeToCluster, type Json } from './xds-json';

const TYPE = 'type.googleapis.com';
/** Options of a client that does not wait a second before it tries again. */
export const RECONNECT_SOON = { 'grpc.initial_reconnect_backoff_ms': 100 };

/** An aggregate of clusters, best first. */
export function aggregateJson(name: string, clusters: readonly string[]): Json {
  return {
    name,
    cluster_type: {
      name: 'envoy.clusters.aggregate',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.clusters.aggregate.v3.ClusterConfig`,
        clusters,
      },
    },
    lb_policy: 'ROUND_ROBIN',
  };
}

/** A cluster of what a name resolves to. */
export function dnsClusterJson(name: string, port: number, host = 'localhost'): Json {
  const address = { socket_address: { address: host, port_value: port } };
  return {
    name,
    type: 'LOGICAL_DNS',
    lb_policy: 'ROUND_ROBIN',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    },
  };
}

/** Everything for a service whose calls go to the cluster `echo`. */
export function routed(clusters: readonly Json[], endpoints: readonly Json[]): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('echo')])],
    clusters,
    endpoints,
  };
}

/** Calls until the backend of that name answers. */
export async function untilAnsweredBy(client: EchoClient, name: string): Promise<void> {
  await eventually(() => client.say(), name);
}
