// What a control plane, or a caller of the admin port, may do to a client on purpose or by mistake. Each case serves the
// target xds:///bad, while xds:///good goes on beside it.
const { aggregate, cluster, endpoints, listener, routes } = require('../support/encode.cjs');

const toBad = { prefix: '' };
const regexRoute = (regex) => ({
  match: { prefix: '', headers: [{ name: 'x-text', safe_regex_match: { regex } }] },
  route: { cluster: 'bad' },
});
const repeated = (count, of) => Array.from({ length: count }, (_, index) => of(index));

/** A service of one cluster; each part may be replaced. */
const service = ({ route = [{ match: toBad, route: { cluster: 'bad' } }], ...rest }) => ({
  L: () => listener('bad'),
  R: () => routes('bad', route),
  C: (name) => cluster(name),
  E: (name, port) => endpoints(name, 1, port),
  ...rest,
});

const hostilePattern = (index) => `(?:\\pL{0,1000}|[^x])y${index}`;

/** A rewrite of a header before it is hashed. */
const rewriteRoute = (substitution) => ({
  match: toBad,
  route: {
    cluster: 'bad',
    hash_policy: [
      {
        header: {
          header_name: 'x-text',
          regex_rewrite: { pattern: { regex: '.' }, substitution },
        },
      },
    ],
  },
});

const ring = { C: (name) => cluster(name, 'RING_HASH') };

/** A tree of aggregates: each names the two below it. */
const aggregateTree = (name) => aggregate(name, [`${name}0`, `${name}1`]);

const flapping = (count) => {
  const list = (version) =>
    repeated(count, (index) => ({
      match: { path: `/demo.Service${index}/Method` },
      route: { cluster: 'bad', timeout: { seconds: 1 + ((version + index) % 50) } },
    }));
  return (_name, _port, version) =>
    routes('bad', [...list(version), { match: toBad, route: { cluster: 'bad' } }]);
};

const manyClusters = (count) =>
  repeated(count, (index) => ({
    match: { path: `/demo.Service${index}/Method` },
    route: { cluster: `bad-${index}` },
  }));

/** Encodes each resource once. */
const once = (encodeResource) => {
  const encoded = new Map();
  return (name, port) => {
    if (!encoded.has(name)) encoded.set(name, encodeResource(name, port));
    return encoded.get(name);
  };
};

exports.cases = {
  'regex: 1,000 patterns, 2 kB header': {
    ...service({ route: repeated(1000, (index) => regexRoute(hostilePattern(index))) }),
    headers: { 'x-text': 'é'.repeat(1000) },
  },
  'regex: 400 patterns, 6 kB header': {
    ...service({ route: repeated(400, (index) => regexRoute(hostilePattern(index))) }),
    headers: { 'x-text': 'a'.repeat(6000) },
  },
  'hash rewrite: substitution of 2 kB': {
    ...service({ ...ring, route: [rewriteRoute('\\0'.repeat(1000))] }),
    headers: { 'x-text': 'a'.repeat(6000) },
  },
  'hash rewrite: substitution of 1 MB': {
    ...service({ ...ring, route: [rewriteRoute('\\0'.repeat(500_000))] }),
    headers: { 'x-text': 'a'.repeat(6000) },
  },
  '100,000 endpoints': {
    ...service({ E: (name, port) => endpoints(name, 100_000, port), ...ring }),
    accepted: true,
  },
  '1,000,000 endpoints': service({ E: (name, port) => endpoints(name, 1_000_000, port), ...ring }),
  '4,000,000 endpoints': service({ E: (name, port) => endpoints(name, 4_000_000, port), ...ring }),
  '5 assignments of 124,000 endpoints': {
    ...service({
      route: [...manyClusters(4), { match: toBad, route: { cluster: 'bad' } }],
      ...ring,
    }),
    E: once((name, port) => endpoints(name, 124_000, port)),
    seconds: 30,
  },
  'aggregates that branch for ever': service({ C: aggregateTree }),
  '2,000 routes change all the time': {
    ...service({ R: flapping(2000) }),
    flaps: 'R',
    accepted: true,
  },
  'REST: 9 MB of {}': {
    rest: () => `{"version_info":"1","resources":[${'{},'.repeat(3_000_000)}{}]}`,
  },
  'REST: version_info of 200 MB': {
    rest: () => `{"version_info":"${'v'.repeat(200_000_000)}","resources":[]}`,
  },
  'CSDS: 12,000 clusters, 8 callers': {
    ...service({ route: [...manyClusters(11_999), { match: toBad, route: { cluster: 'bad' } }] }),
    // All of them are in use when the callers begin.
    clusters: 12_000,
    csds: 8,
    accepted: true,
    // Long enough for the policies of all clusters to be created, which happens in slices.
    seconds: 40,
  },
  '20,000 endpoints, 1,024 descriptors': {
    ...service({ E: (name, port) => endpoints(name, 20_000, port) }),
    descriptors: 1024,
    accepted: true,
    seconds: 30,
  },
};
