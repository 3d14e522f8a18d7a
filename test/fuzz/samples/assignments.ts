import { endpointsJson, type Json } from '../../support/xds-json';
import { TYPE } from './type-urls';

const assignment = endpointsJson('c', [
  { zone: 'a', ports: [1, 2, 3, 4, 5, 6, 7, 8] },
  { zone: 'b', ports: [9] },
  { zone: 'b', priority: 1, ports: [10] },
]);
const ports = (first: number) => Array.from({ length: 60 }, (_, i) => first + i);
/** Large enough for a record, so that its next version is decoded by its changes. */
const large = endpointsJson('c', [
  { zone: 'a', ports: ports(100) },
  { zone: 'b', ports: ports(200) },
  { zone: 'b', priority: 1, ports: ports(300) },
]);
const detailedEndpoint = (port_value: number, others: Json = {}): Json => ({
  health_status: 'DRAINING',
  load_balancing_weight: 7,
  metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'k', n: 1.5, l: [true, null] } } },
  endpoint: {
    hostname: 'h',
    address: { socket_address: { address: '::1', port_value } },
    additional_addresses: [{ address: { socket_address: { address: '10.0.0.1', port_value } } }],
  },
  ...others,
});

/** An address, as a value of metadata. */
export const proxyAddress: Json = {
  '@type': `${TYPE}/envoy.config.core.v3.Address`,
  socket_address: { address: '10.0.0.9', port_value: 3128 },
};
const proxyMetadata: Json = {
  typed_filter_metadata: {
    'envoy.http11_proxy_transport_socket.proxy_address': proxyAddress,
  },
};
/** Large enough for a record, with a proxy for each locality. */
const proxied: Json = {
  cluster_name: 'c',
  endpoints: [
    { zone: 'a', first: 100 },
    { zone: 'b', first: 200 },
  ].map(({ zone, first }) => ({
    locality: { zone },
    load_balancing_weight: 1,
    metadata: proxyMetadata,
    lb_endpoints: ports(first).map((port_value) => ({
      endpoint: { address: { socket_address: { address: '10.0.0.1', port_value } } },
    })),
  })),
};

/** Endpoints with as much in them as there is. */
export const assignments: readonly Json[] = [
  large,
  proxied,
  {
    ...assignment,
    policy: { drop_overloads: [{ category: 'd', drop_percentage: { numerator: 1 } }] },
  },
  {
    cluster_name: 'd',
    endpoints: [
      {
        locality: { region: 'r', zone: 'z', sub_zone: 's' },
        load_balancing_weight: 3,
        lb_endpoints: [
          detailedEndpoint(80),
          detailedEndpoint(81, { metadata: proxyMetadata }),
          detailedEndpoint(82, { health_status: 'HEALTHY' }),
        ],
      },
    ],
  },
];
