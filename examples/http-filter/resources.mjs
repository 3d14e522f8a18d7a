// What the control plane serves, as proto3 JSON.

const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const ROUTER = `${TYPE}/envoy.extensions.filters.http.router.v3.Router`;

/** The config of a filter that has no protobuf message: plain JSON under a type name. */
const typedStruct = (typeName, value) => ({
  '@type': `${TYPE}/xds.type.v3.TypedStruct`,
  type_url: `${TYPE}/${typeName}`,
  value,
});

/** Everything for the service, with the given tenants. */
export const resourcesFor = (tiers, port) => ({
  listeners: [
    {
      name: 'shop.example.com',
      api_listener: {
        api_listener: {
          '@type': MANAGER,
          rds: { route_config_name: 'shop', config_source: { ads: {} } },
          http_filters: [
            { name: 'tenants', typed_config: typedStruct('acme.v1.Tenants', { tiers }) },
            { name: 'router', typed_config: { '@type': ROUTER } },
          ],
        },
      },
    },
  ],
  routes: [
    {
      name: 'shop',
      virtual_hosts: [
        {
          name: 'shop',
          domains: ['*'],
          routes: [
            {
              match: { path: '/demo.Shop/Refund' },
              route: { cluster: 'shop' },
              // By the name of the filter, not its type.
              typed_per_filter_config: {
                tenants: typedStruct('acme.v1.TenantsPerRoute', { only: 'gold' }),
              },
            },
            { match: { prefix: '' }, route: { cluster: 'shop' } },
          ],
        },
      ],
    },
  ],
  clusters: [{ name: 'shop', type: 'EDS', eds_cluster_config: { eds_config: { ads: {} } } }],
  endpoints: [
    {
      cluster_name: 'shop',
      endpoints: [
        {
          locality: { region: 'eu', zone: 'west' },
          load_balancing_weight: 1,
          lb_endpoints: [
            {
              endpoint: {
                address: { socket_address: { address: '127.0.0.1', port_value: port } },
              },
            },
          ],
        },
      ],
    },
  ],
});
