// Resources for the benchmarks' control plane, in proto3 JSON.
const TYPE = 'type.googleapis.com';

exports.listener = (name) => ({
  name,
  api_listener: {
    api_listener: {
      '@type': `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      rds: { route_config_name: `${name}-routes`, config_source: { ads: {} } },
      http_filters: [
        {
          name: 'router',
          typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.router.v3.Router` },
        },
      ],
    },
  },
});

exports.routeConfig = (listenerName, routes) => ({
  name: `${listenerName}-routes`,
  virtual_hosts: [{ name: 'all', domains: ['*'], routes }],
});

exports.cluster = (name, extra = {}) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: { ads: {} } },
  lb_policy: 'ROUND_ROBIN',
  ...extra,
});

exports.endpoints = (cluster, addresses) => ({
  cluster_name: cluster,
  endpoints: [
    {
      locality: { region: 'here', zone: 'a' },
      load_balancing_weight: 1,
      lb_endpoints: addresses.map(({ host, port }) => ({
        endpoint: { address: { socket_address: { address: host, port_value: port } } },
      })),
    },
  ],
});

exports.bootstrap = (serverUri) => ({
  xds_servers: [
    { server_uri: serverUri, channel_creds: [{ type: 'insecure' }], server_features: ['xds_v3'] },
  ],
  node: { id: 'bench', cluster: 'bench', locality: { region: 'here', zone: 'a', sub_zone: '' } },
});
