// What a control plane, or a caller of the admin port, may do to a client on purpose or by mistake. Each case serves the
// target xds:///bad, while xds:///good goes on beside it.
const {
  aggregate,
  cluster,
  endpoints,
  field,
  listener,
  loopbackAddress,
  routeConfig,
  routes,
} = require('../support/encode.cjs');

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

/** An aggregate of clusters whose only endpoint refuses connections. */
const downBelow = (count) => {
  const names = repeated(count, (index) => `bad-${index}`);
  return {
    C: (name) => (name === 'bad' ? aggregate(name, names) : cluster(name)),
    E: (name) => endpoints(name, 1, 1),
  };
};

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

const NONE = Buffer.alloc(0);
/** So many elements of a field, all with the same bytes. */
const many = (number, count, content = NONE) => {
  const one = field(number, content);
  return Buffer.alloc(count * one.length, one);
};
/** Messages within messages, by their fields from the outside. */
const inside = (path, content) =>
  path.reduceRight((inner, number) => field(number, inner), content);
const text = (number, value) => field(number, Buffer.from(value));
const anyOf = (type, value) =>
  Buffer.concat([text(1, `type.googleapis.com/${type}`), field(2, value)]);

const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const AGGREGATE = 'envoy.extensions.clusters.aggregate.v3.ClusterConfig';

/** A resource that has more bytes in it, by its type. */
const filled = {
  L: (manager) => ({
    L: () => Buffer.concat([text(1, 'bad'), inside([19, 1], anyOf(MANAGER, manager))]),
  }),
  R: (path, content) => ({
    R: () => Buffer.concat([text(1, 'bad-routes'), inside(path, content)]),
  }),
  C: (content) => ({ C: (name) => Buffer.concat([cluster(name), content]) }),
  E: (path, content) => ({
    E: (name) => Buffer.concat([text(1, name), inside(path, content)]),
  }),
};

/** A virtual host for every domain, with more fields. */
const forAll = (...content) => Buffer.concat([text(1, 'all'), text(2, '*'), ...content]);

const MEGABYTES_60 = 30_000_000;

/** An encoded locality of one endpoint. */
const localityOf = (zone, priority, port) => {
  const socket = Buffer.concat([text(2, loopbackAddress(zone)), Buffer.from([0x18]), varint(port)]);
  return field(
    2,
    Buffer.concat([
      inside([1], text(2, `z${zone}`)),
      inside([2, 1, 1, 1], socket),
      field(3, Buffer.from([0x08, 1])),
      Buffer.from([0x28]),
      varint(priority),
    ]),
  );
};
function varint(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}
const localities = (count, priorityOf) => ({
  E: (name, port) =>
    Buffer.concat([
      text(1, name),
      ...repeated(count, (index) => localityOf(index, priorityOf(index), port)),
    ]),
});

const manyRoutes = (count, headers) =>
  repeated(count, (index) => ({
    match: {
      path: `/demo.Service${index}/Method`,
      ...(headers > 0 && {
        headers: repeated(headers, (header) => ({
          name: `x-${header}`,
          string_match: { exact: `${index}` },
        })),
      }),
    },
    route: { cluster: 'bad' },
  }));
const hosts = (count, routesOfEach) =>
  repeated(count, (index) => ({
    name: `host-${index}`,
    domains: [`host-${index}.test`],
    routes: manyRoutes(routesOfEach, 0),
  }));
const rangeRoutes = (count) =>
  repeated(count, (index) => ({
    match: {
      prefix: '',
      headers: [{ name: 'x-number', range_match: { start: index, end: index + 1 } }],
    },
    route: { cluster: 'bad' },
  }));

/** What a client answers at once: most are rejected, and measured for a shorter time. */
const quick = (...parts) => ({ ...service(Object.assign({}, ...parts)), seconds: 5 });
const accepted = (...parts) => ({ ...quick(...parts), accepted: true, seconds: 15 });

exports.cases = {
  'ignored: 60 MB in a field that is not known': {
    ...quick(filled.C(field(1999, Buffer.alloc(60_000_000)))),
    ignored: true,
    accepted: true,
  },
  'ignored: 2 MB in a field that is not known': {
    ...quick(filled.C(field(1999, Buffer.alloc(2_000_000)))),
    ignored: true,
    accepted: true,
  },
  '1,000,000 empty routes': quick(filled.R([2], forAll(many(3, 1_000_000)))),
  '30,000,000 empty routes': quick(filled.R([2], forAll(many(3, MEGABYTES_60)))),
  '30,000,000 empty virtual hosts': quick(filled.R([], many(2, MEGABYTES_60))),
  '30,000,000 domains': quick(filled.R([2], many(2, MEGABYTES_60))),
  '30,000,000 header matchers': quick(filled.R([2, 3, 1], many(6, MEGABYTES_60))),
  '30,000,000 weighted clusters': quick(filled.R([2, 3, 2, 3], many(1, MEGABYTES_60))),
  '30,000,000 hash policies': quick(filled.R([2, 3, 2], many(15, MEGABYTES_60))),
  '30,000,000 HTTP filters': quick(filled.L(many(5, MEGABYTES_60))),
  '30,000,000 drop categories': quick(filled.E([4], many(2, MEGABYTES_60))),
  '30,000,000 additional addresses': quick(filled.E([2, 2, 1], many(4, MEGABYTES_60))),
  '30,000,000 struct values': quick(filled.C(inside([25, 1, 2], many(1, MEGABYTES_60)))),
  '30,000,000 names in an aggregate': quick({
    C: (name) =>
      Buffer.concat([
        text(1, name),
        field(
          38,
          Buffer.concat([
            text(1, 'envoy.clusters.aggregate'),
            field(2, anyOf(AGGREGATE, many(1, MEGABYTES_60))),
          ]),
        ),
      ]),
  }),
  '60 MB of groups that are not known': quick(
    filled.C(Buffer.alloc(60_000_000, Buffer.from([0xfb, 0x7c, 0xfc, 0x7c]))),
  ),
  'retry_on of 60 MB': quick(filled.R([2, 3, 2, 9], field(1, Buffer.alloc(60_000_000, 'a,')))),
  '500,000 filter overrides': quick({
    R: () =>
      Buffer.concat([
        text(1, 'bad-routes'),
        field(
          2,
          forAll(
            Buffer.concat(repeated(500_000, (index) => field(15, text(1, `filter-${index}`)))),
          ),
        ),
      ]),
  }),
  '130,000 violations': quick(filled.R([], many(2, 130_000))),
  '1,000,000 characters of control in a name': quick(
    filled.R(
      [2],
      Buffer.concat([field(1, Buffer.alloc(1_000_000, 1)), many(2, 3, Buffer.alloc(300_000, 1))]),
    ),
  ),
  '20,000 priorities': quick(localities(20_000, (index) => index)),
  '30,000 localities': quick(localities(30_000, () => 0)),
  '100,000 localities': quick(localities(100_000, () => 0)),
  '1,000 priorities': accepted(localities(1000, (index) => index)),
  '5,000 localities': accepted(localities(5000, () => 0)),
  '300,000 routes': accepted({
    R: once(() =>
      routes('bad', [...manyRoutes(299_999, 0), { match: toBad, route: { cluster: 'bad' } }]),
    ),
  }),
  '20,000 virtual hosts of 10 routes': accepted({
    R: once(() =>
      routeConfig('bad', [
        ...hosts(20_000, 10),
        { name: 'all', domains: ['*'], routes: [{ match: toBad, route: { cluster: 'bad' } }] },
      ]),
    ),
  }),
  '40,000 routes of 10 header matchers': accepted({
    R: once(() =>
      routes('bad', [...manyRoutes(40_000, 10), { match: toBad, route: { cluster: 'bad' } }]),
    ),
  }),
  '12,000 clusters': {
    ...accepted({ route: [...manyClusters(11_999), { match: toBad, route: { cluster: 'bad' } }] }),
    clusters: 12_000,
    seconds: 30,
  },
  'range_match: 20,000 matchers, 7 kB of digits': {
    ...accepted({ route: [...rangeRoutes(20_000), { match: toBad, route: { cluster: 'bad' } }] }),
    headers: { 'x-number': '9'.repeat(7000) },
  },
  'range_match: 20,000 matchers, 1 MB of digits': {
    ...accepted({ route: [...rangeRoutes(20_000), { match: toBad, route: { cluster: 'bad' } }] }),
    headers: { 'x-number': '9'.repeat(1_000_000) },
  },
  'flood: responses without resources': { ...quick({}), flood: 'R', seconds: 10 },
  'flood: responses of a type that was not requested': {
    ...quick({}),
    flood: 'unknown',
    seconds: 10,
  },
  'flood: LRS responses': {
    ...quick({ C: (name) => cluster(name, 'ROUND_ROBIN', { lrs_server: { self: {} } }) }),
    flood: 'LRS',
    seconds: 10,
  },
  'ignored: an answer over REST without resources': {
    rest: () => '{"version_info":"1","resources":[]}',
    ignored: true,
    accepted: true,
  },
  'ignored: 50 MB over REST in a field that is not known': {
    rest: () => `{"version_info":"1","resources":[],"unknown":"${'s'.repeat(50_000_000)}"}`,
    ignored: true,
    accepted: true,
  },
  'REST: 2 MB of [': { rest: () => '['.repeat(2_000_000) },
  'REST: a string of 50 MB': {
    rest: () => `{"version_info":"1","resources":["${'s'.repeat(50_000_000)}"]}`,
  },
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
  'an aggregate of 11,000 clusters': {
    ...service(downBelow(11_000)),
    seconds: 30,
  },
  'an aggregate of 1,000 clusters, all of them down': {
    ...accepted(downBelow(1000)),
    seconds: 30,
  },
  '2,000 routes change all the time': {
    ...service({ R: flapping(2000) }),
    flaps: 'R',
    accepted: true,
  },
  '1,000 clusters change all the time': {
    ...service({
      route: [...manyClusters(999), { match: toBad, route: { cluster: 'bad' } }],
      C: (name, _port, version) =>
        cluster(name, 'ROUND_ROBIN', {
          metadata: { filter_metadata: { [`v${version}`]: {} } },
          alt_stat_name: `${name}-${version}`,
          circuit_breakers: { thresholds: [{ max_requests: { value: 1000 + (version % 50) } }] },
        }),
    }),
    flaps: 'C',
    accepted: true,
    seconds: 20,
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
