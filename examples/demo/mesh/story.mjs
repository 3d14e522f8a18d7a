// What happens, in order. A step is a whole state of the mesh: what it does not name is as it is while nothing is wrong.
// `settings` are those of the resources, `faults` those of the backends, `resource` is the one that did it, and `target` is where
// it is seen.

const healthy = (seconds, text, resource = '', target = undefined) => ({
  seconds,
  text,
  resource,
  target,
});

const canary = (seconds, percent, text) => ({
  seconds,
  text,
  resource: 'RouteConfiguration cart-routes',
  target: 'xds:///cart',
  settings: { canaryPercent: percent },
});

const canarySteps = [
  canary(6, 1, 'The canary cart-v2 gets 1 % of the calls of cart'),
  canary(6, 10, 'The canary gets 10 %'),
  canary(6, 50, 'The canary gets 50 %'),
  canary(6, 0, 'The canary is over: cart-v1 has all calls again'),
];

const zoneSteps = [
  {
    seconds: 6,
    faults: { lostZone: 'a' },
    text: 'Zone eu/a is lost: its backends are gone, and those of eu/b take the calls',
    resource: '(no resource changed)',
    target: 'xds:///payment',
  },
  {
    seconds: 6,
    faults: { lostZone: 'a' },
    settings: { unhealthyZone: 'a' },
    text: 'The control plane has noticed: the endpoints of eu/a are unhealthy',
    resource: 'ClusterLoadAssignment of each cluster',
    target: 'xds:///payment',
  },
  healthy(
    6,
    'Zone eu/a is found again, and its endpoints are healthy',
    'ClusterLoadAssignment of each cluster',
    'xds:///payment',
  ),
];

const ejectionSteps = [
  {
    seconds: 8,
    faults: { failingBackend: 'stock-b2' },
    text: 'The backend stock-b2 fails its calls: it is ejected, and retries hide it',
    resource: 'Cluster stock: outlier_detection',
    target: 'xds:///stock',
  },
  healthy(
    8,
    'The backend stock-b2 is well again, and comes back when its ejection ends',
    'Cluster stock: outlier_detection',
    'xds:///stock',
  ),
];

const nackSteps = [
  {
    seconds: 6,
    settings: { catalogPolicy: 'MAGLEV' },
    text: 'A bad Cluster catalog is rejected (NACK): its previous version stays in use',
    resource: 'Cluster catalog: lb_policy MAGLEV',
    target: 'xds:///catalog',
  },
  healthy(6, 'The Cluster catalog is as before again', 'Cluster catalog', 'xds:///catalog'),
];

const start = healthy(6, 'All is well: web calls catalog and cart, these call stock and payment');

/** The story, which begins again after its last step. */
export const story = [start, ...canarySteps, ...zoneSteps, ...ejectionSteps, ...nackSteps];

/** The incidents, which end with their last step. docs/guides/incidents.md describes each. */
export const incidents = {
  'bad-weight': [
    start,
    {
      seconds: 30,
      settings: { stockWeightOfB: 98 },
      text: 'The locality eu/b of stock has the weight 98 in place of 2',
      resource: 'ClusterLoadAssignment stock',
      target: 'xds:///stock',
    },
    healthy(
      10,
      'The locality eu/b has the weight 2 again',
      'ClusterLoadAssignment stock',
      'xds:///stock',
    ),
  ],
  nack: [start, ...nackSteps],
  'ejected-endpoint': [start, ...ejectionSteps],
  'wrong-split': [
    canary(10, 10, 'The canary cart-v2 gets 10 % of the calls of cart, as it should'),
    canary(30, 90, 'The weights are swapped: the canary gets 90 %'),
    canary(10, 10, 'The weights are right again'),
  ],
  'lost-zone': [start, ...zoneSteps],
};
