// What happens during the demo, in order: each step edits the resources or touches the backends.

const clusterWeights = (resources) =>
  resources.routes[0].virtual_hosts[0].routes[0].route.weighted_clusters.clusters;

const endpointsOf = (resources, cluster) =>
  resources.endpoints.find((assignment) => assignment.cluster_name === cluster).endpoints;

function split(v1, v2) {
  return (resources) => {
    const weights = clusterWeights(resources);
    weights[0].weight = v1;
    weights[1].weight = v2;
  };
}

const TYPE = 'type.googleapis.com/envoy.extensions.load_balancing_policies';
const policy = (typed_config) => ({
  policies: [{ typed_extension_config: { name: 'policy', typed_config } }],
});

/** Calls go to the backends of a locality by the load that these report. */
const byReportedLoad = policy({
  '@type': `${TYPE}.wrr_locality.v3.WrrLocality`,
  endpoint_picking_policy: policy({
    '@type': `${TYPE}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
    blackout_period: '0.5s',
    weight_update_period: '0.5s',
  }),
});

export const steps = [
  { seconds: 3, text: 'all traffic to shop-v1, two backends in eu/west' },
  { seconds: 3, text: 'canary: 20 % of the calls go to shop-v2', edit: split(80, 20) },
  { seconds: 3, text: 'half and half', edit: split(50, 50) },
  {
    seconds: 3,
    text: 'shop-v1 gets a third backend in eu/west, and all traffic again',
    edit(resources, backends) {
      split(100, 0)(resources);
      const [west] = endpointsOf(resources, 'shop-v1');
      const { port } = backends.get('west-3');
      west.lb_endpoints.push({
        endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
      });
    },
  },
  {
    seconds: 4,
    text: 'calls by reported load: west-3 has twice the capacity of the others',
    edit(resources) {
      const cluster = resources.clusters.find(({ name }) => name === 'shop-v1');
      cluster.load_balancing_policy = byReportedLoad;
    },
  },
  {
    seconds: 4,
    text: 'eu/west goes down: its backends drain, eu/east takes over',
    async act(backends) {
      await Promise.all(['west-1', 'west-2', 'west-3'].map((name) => backends.get(name).drain()));
    },
  },
  {
    seconds: 5,
    text: 'eu/west comes back',
    async act(backends) {
      await Promise.all(['west-1', 'west-2', 'west-3'].map((name) => backends.get(name).start()));
    },
  },
];
