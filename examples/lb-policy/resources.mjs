// What the control plane serves, as proto3 JSON.

const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const ROUTER = `${TYPE}/envoy.extensions.filters.http.router.v3.Router`;

/** Everything for the service, with backends given as their ports by version. */
export const resourcesFor = (portsByVersion, policyConfig = {}) => ({
  listeners: [
    {
      name: 'shop.example.com',
      api_listener: {
        api_listener: {
          '@type': MANAGER,
          rds: { route_config_name: 'shop', config_source: { ads: {} } },
          http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
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
          routes: [{ match: { prefix: '' }, route: { cluster: 'shop' } }],
        },
      ],
    },
  ],
  clusters: [
    {
      name: 'shop',
      type: 'EDS',
      eds_cluster_config: { eds_config: { ads: {} } },
      load_balancing_policy: {
        policies: [
          {
            typed_extension_config: {
              name: 'by-version',
              typed_config: {
                '@type': `${TYPE}/xds.type.v3.TypedStruct`,
                type_url: `${TYPE}/acme.v1.ByVersion`,
                value: policyConfig,
              },
            },
          },
        ],
      },
    },
  ],
  endpoints: [
    {
      cluster_name: 'shop',
      endpoints: [
        {
          locality: { region: 'eu', zone: 'west' },
          load_balancing_weight: 1,
          lb_endpoints: Object.entries(portsByVersion).flatMap(([version, ports]) =>
            ports.map((port_value) => ({
              endpoint: { address: { socket_address: { address: '127.0.0.1', port_value } } },
              metadata: { filter_metadata: { 'acme.deployment': { version } } },
            })),
          ),
        },
      ],
    },
  ],
});
