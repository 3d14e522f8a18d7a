// What the control planes serve, as proto3 JSON.

const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const ROUTER = `${TYPE}/envoy.extensions.filters.http.router.v3.Router`;
const POLICIES = `${TYPE}/envoy.extensions.load_balancing_policies`;

const listener = (name, routes) => ({
  name: `${name}.example.com`,
  api_listener: {
    api_listener: {
      '@type': MANAGER,
      rds: { route_config_name: routes, config_source: { ads: {} } },
      http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
    },
  },
});

const routeConfig = (name, cluster) => ({
  name,
  virtual_hosts: [
    {
      name,
      domains: ['*'],
      retry_policy: {
        retry_on: 'unavailable',
        num_retries: 3,
        retry_back_off: { base_interval: '0.01s', max_interval: '0.05s' },
      },
      routes: [{ match: { prefix: '' }, route: { cluster } }],
    },
  ],
});

const policy = (name, fields) => ({
  policies: [
    {
      typed_extension_config: { name, typed_config: { '@type': `${POLICIES}.${name}`, ...fields } },
    },
  ],
});

/** Calls go to the backends of a locality by the load that these report. */
const BY_REPORTED_LOAD = policy('wrr_locality.v3.WrrLocality', {
  endpoint_picking_policy: policy(
    'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
    {
      blackout_period: '0.5s',
      weight_expiration_period: '1s',
      weight_update_period: '0.5s',
    },
  ),
});

/** One backend of three may be ejected; a second one is over `max_ejection_percent`. */
const OUTLIER_DETECTION = {
  interval: '1s',
  base_ejection_time: '2s',
  max_ejection_percent: 10,
  enforcing_success_rate: 0,
  enforcing_failure_percentage: 100,
  failure_percentage_threshold: 50,
  failure_percentage_minimum_hosts: 2,
  failure_percentage_request_volume: 5,
};

const cluster = (name, fields) => ({
  name,
  type: 'EDS',
  eds_cluster_config: { eds_config: { ads: {} } },
  lrs_server: { self: {} },
  ...fields,
});

const locality = ({ zone, priority, ports }) => ({
  locality: { region: 'eu', zone },
  priority,
  load_balancing_weight: 1,
  lb_endpoints: ports.map((port) => ({
    endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
  })),
});

/**
 * @param backends The ports by zone.
 * @param options.isShopInvalid Makes the cluster of the shop one that clients reject.
 * @param options.areReportsInvalid Makes the cluster of the reports one that clients reject.
 * @param options.droppedPercent Of the calls to the shop.
 */
export const resourcesFor = (
  { west, east },
  { isShopInvalid = false, areReportsInvalid = false, droppedPercent = 0 } = {},
) => {
  const shop = { load_balancing_policy: BY_REPORTED_LOAD, outlier_detection: OUTLIER_DETECTION };
  const rejected = { lb_policy: 'MAGLEV' };
  return {
    listeners: ['shop', 'billing', 'reports'].map((name) => listener(name, name)),
    routes: ['shop', 'billing', 'reports'].map((name) => routeConfig(name, name)),
    clusters: [
      cluster('shop', isShopInvalid ? rejected : shop),
      cluster('billing', { load_balancing_policy: BY_REPORTED_LOAD }),
      cluster('reports', areReportsInvalid ? rejected : { lb_policy: 'ROUND_ROBIN' }),
    ],
    endpoints: [
      {
        cluster_name: 'shop',
        endpoints: [
          locality({ zone: 'west', priority: 0, ports: west }),
          locality({ zone: 'east', priority: 1, ports: east }),
        ],
        policy: {
          drop_overloads: [
            { category: 'overload', drop_percentage: { numerator: droppedPercent } },
          ],
        },
      },
      ...['billing', 'reports'].map((name) => ({
        cluster_name: name,
        endpoints: [locality({ zone: 'east', priority: 0, ports: east })],
      })),
    ],
  };
};
