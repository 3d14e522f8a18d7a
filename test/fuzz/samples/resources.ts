import { listenerJson, routeConfigJson, routeToCluster, type Json } from '../../support/xds-json';
import { assignments } from './assignments';
import { clusters } from './clusters';
import { filters } from './http-filters';
import { routes } from './routes';
import { TYPE } from './type-urls';

const listeners: readonly Json[] = [
  listenerJson('svc', 'routes', { http_filters: filters }),
  listenerJson('svc', '', {
    rds: undefined,
    route_config: routeConfigJson('in', routes),
    http_filters: filters,
    common_http_protocol_options: { max_stream_duration: '9s' },
  }),
  { name: 'server', address: { socket_address: { address: '0.0.0.0', port_value: 80 } } },
];

/** Valid resources in JSON, by the full name of their message. */
export const resourceSamples: ReadonlyMap<string, readonly Json[]> = new Map([
  ['envoy.config.listener.v3.Listener', listeners],
  [
    'envoy.config.route.v3.RouteConfiguration',
    [
      routeConfigJson('routes', routes),
      {
        name: 'hosts',
        virtual_hosts: [
          { name: 'a', domains: ['*.shop.test', 'shop.*', 'a.shop.test'], routes },
          { name: 'b', domains: ['*'], routes: [routeToCluster('z')] },
        ],
      },
    ],
  ],
  ['envoy.config.cluster.v3.Cluster', clusters],
  ['envoy.config.endpoint.v3.ClusterLoadAssignment', assignments],
]);

/** All of them, each with its type. */
export const typedResources = [...resourceSamples].flatMap(([messageName, samples]) =>
  samples.map((json): Json => ({ '@type': `${TYPE}/${messageName}`, ...json })),
);
