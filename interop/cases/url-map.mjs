// The url-map suites of psm-interop: each case checks the configuration that the client tells of (CSDS), then calls.
import { status } from '@grpc/grpc-js';
import { resourcesOf } from '../harness/csds.mjs';
import { anyRoute, clustersOf, route, typed } from '../harness/resources.mjs';
import { checkConfig, goesTo } from '../harness/url-map-checks.mjs';
import { allOf, shareOf, verdict } from '../harness/verdict.mjs';

const pathOf = (method) => `/grpc.testing.TestService/${method}`;
const OTHER = { UnaryCall: 'EmptyCall', EmptyCall: 'UnaryCall' };
const BOTH = ['UnaryCall', 'EmptyCall'];

/** Serves routes to two clusters of one server each, and starts a client that calls both methods. */
const start = async (mesh, { rules, others = 'default', filters, flags = {} }) => {
  const [byDefault, alternative] = await mesh.servers(2);
  const clusters = { default: [byDefault], alternative: [alternative] };
  mesh.serve(clustersOf(clusters, [...rules, anyRoute(others)], { filters }));
  const client = await mesh.client({ rpc: 'UnaryCall,EmptyCall', ...flags });
  return { client, names: { default: byDefault.name, alternative: alternative.name } };
};

/** One method goes to the alternative cluster and the other one to the default cluster. */
const matching = (suite, name, expect, { method, rules, others, headers, defaultMethod }) => ({
  name: `${suite}: ${name}`,
  expect,
  async run(mesh) {
    const { client, names } = await start(mesh, { rules, others });
    if (headers !== undefined) await client.configure({ methods: BOTH, headers });
    const config = await checkConfig(client, 2);
    const matched = await goesTo(client, method, names.alternative);
    return allOf(
      config,
      matched,
      await goesTo(client, defaultMethod ?? OTHER[method], names.default),
    );
  },
});

const path = (name, method, rules, others) =>
  matching('path_matching', name, `${method} goes to the alternative, ${OTHER[method]} does not`, {
    method,
    rules,
    others,
  });

const pathCases = [
  path('TestFullPathMatchEmptyCall', 'EmptyCall', [
    route({ path: pathOf('EmptyCall') }, 'alternative'),
  ]),
  path('TestFullPathMatchUnaryCall', 'UnaryCall', [
    route({ path: pathOf('UnaryCall') }, 'alternative'),
  ]),
  path(
    'TestTwoRoutesAndPrefixMatch',
    'EmptyCall',
    [
      route({ prefix: '/grpc.testing.TestService/Unary' }, 'default'),
      route({ path: pathOf('EmptyCall') }, 'alternative'),
    ],
    'alternative',
  ),
  path('TestRegexMatch', 'UnaryCall', [
    route({ safe_regex: { regex: String.raw`^\/.*\/UnaryCall$` } }, 'alternative'),
  ]),
  path('TestCaseInsensitiveMatch', 'EmptyCall', [
    route({ path: '/gRpC.tEsTinG.tEstseRvice/empTycaLl', case_sensitive: false }, 'alternative'),
  ]),
];

const HEADERS = [
  { method: 'UnaryCall', key: 'xds_md', value: 'unary_yranu' },
  { method: 'EmptyCall', key: 'xds_md', value: 'empty_ytpme' },
  { method: 'UnaryCall', key: 'xds_md_numeric', value: '159' },
];

const header = (name, method, match) =>
  matching(
    'header_matching',
    name,
    `${method} goes to the alternative by its header, ${OTHER[method]} does not`,
    {
      method,
      headers: HEADERS,
      rules: [route({ prefix: '/', headers: [match] }, 'alternative')],
    },
  );

const headerCases = [
  header('TestExactMatch', 'EmptyCall', { name: 'xds_md', exact_match: 'empty_ytpme' }),
  header('TestPrefixMatch', 'UnaryCall', { name: 'xds_md', prefix_match: 'un' }),
  header('TestSuffixMatch', 'EmptyCall', { name: 'xds_md', suffix_match: 'me' }),
  header('TestPresentMatch', 'UnaryCall', { name: 'xds_md_numeric', present_match: true }),
  header('TestInvertMatch', 'EmptyCall', {
    name: 'xds_md',
    exact_match: 'unary_yranu',
    invert_match: true,
  }),
  header('TestRangeMatch', 'UnaryCall', {
    name: 'xds_md_numeric',
    range_match: { start: 100, end: 200 },
  }),
  header('TestRegexMatch', 'EmptyCall', {
    name: 'xds_md',
    safe_regex_match: { regex: '^em.*me$' },
  }),
];

const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
const RANDOM = { count: 300, tolerance: 0.1 };
const EXACT = { count: 50, tolerance: 0.01 };

/** Faults on the route of UnaryCall, in percent; delays are of 20 s, which no call waits for. */
const fault = (
  name,
  { abort = 0, delay = 0, method = 'UnaryCall', code, share, sample = EXACT },
) => ({
  name: `fault_injection: ${name}`,
  expect: `${method} ends with ${status[code]} in ${share * 100} % of the calls`,
  async run(mesh) {
    const percentage = (percent) => ({ numerator: percent, denominator: 'HUNDRED' });
    const override = typed(FAULT, {
      abort: { http_status: 401, percentage: percentage(abort) },
      delay: { fixed_delay: '20s', percentage: percentage(delay) },
    });
    const { client } = await start(mesh, {
      rules: [
        route({ path: pathOf('UnaryCall') }, 'default', {
          typed_per_filter_config: { fault: override },
        }),
      ],
      filters: [{ name: 'fault', typed_config: typed(FAULT) }],
      flags: { rpc: method },
    });
    // Calls that are delayed must end; the others have the time that a slow machine needs.
    if (delay > 0 && method === 'UnaryCall') {
      await client.configure({ timeoutSec: 2 });
      // Then calls that wait for their deadline end as often as they start, and the shares of those that end are right.
      await client.stats(300);
    }
    const config = await checkConfig(client, 1);
    const codes = await client.codesOfNext(sample.count, method);
    return allOf(config, shareOf(codes, code, share, sample.tolerance));
  },
});

const faultCases = [
  fault('TestZeroPercentFaultInjection', { code: status.OK, share: 1 }),
  fault('TestNonMatchingFaultInjection', {
    abort: 100,
    delay: 100,
    method: 'EmptyCall',
    code: status.OK,
    share: 1,
  }),
  fault('TestAlwaysDelay', { delay: 100, code: status.DEADLINE_EXCEEDED, share: 1 }),
  fault('TestAlwaysAbort', { abort: 100, code: status.UNAUTHENTICATED, share: 1 }),
  fault('TestDelayHalf', { delay: 50, code: status.DEADLINE_EXCEEDED, share: 0.5, sample: RANDOM }),
  fault('TestAbortHalf', { abort: 50, code: status.UNAUTHENTICATED, share: 0.5, sample: RANDOM }),
];

/** Calls that succeed with their fifth attempt. */
const retry = (name, retries, code) => ({
  name: `retry: ${name}`,
  expect: `with ${retries} retries, calls that need 4 end with ${status[code]}`,
  async run(mesh) {
    const action = { retry_policy: { retry_on: 'unavailable', num_retries: retries } };
    const { client } = await start(mesh, {
      rules: [route({ path: pathOf('UnaryCall') }, 'default', { action })],
      flags: { rpc: 'UnaryCall', qps: 20 },
    });
    const config = await checkConfig(client, 1);
    const value = 'succeed-on-retry-attempt-4,error-code-14';
    await client.configure({ headers: [{ key: 'rpc-behavior', value }] });
    return allOf(config, shareOf(await client.codesOfNext(30), code, 1));
  },
});

const retryCases = [
  retry('TestRetryUpTo3AttemptsAndFail', 3, status.UNAVAILABLE),
  retry('TestRetryUpTo4AttemptsAndSucceed', 4, status.OK),
];

/** UnaryCall is limited to 3 s by its route. */
const timeout = (name, expect, { methods, sleep, timeoutSec, codes }) => ({
  name: `timeout: ${name}`,
  expect,
  async run(mesh) {
    const limit = { max_stream_duration: '3s', grpc_timeout_header_max: '3s' };
    const { client } = await start(mesh, {
      rules: [
        route({ path: pathOf('UnaryCall') }, 'default', { action: { max_stream_duration: limit } }),
      ],
      flags: { rpc: methods.join(','), qps: 25 },
    });
    const config = await checkConfig(client, 1);
    const headers = sleep === undefined ? [] : [{ key: 'rpc-behavior', value: `sleep-${sleep}` }];
    await client.configure({ methods, headers, timeoutSec });
    const results = await Promise.all(methods.map((method) => client.codesOfNext(50, method)));
    return allOf(config, ...results.map((result, i) => shareOf(result, codes[i], 1, 0.1)));
  },
});

const timeoutCases = [
  timeout('TestTimeoutInRouteRule', 'both sleep 4 s: UnaryCall DEADLINE_EXCEEDED, EmptyCall OK', {
    methods: BOTH,
    sleep: 4,
    codes: [status.DEADLINE_EXCEEDED, status.OK],
  }),
  timeout('TestTimeoutInApplication', 'sleeps 2 s, the application waits 1 s: DEADLINE_EXCEEDED', {
    methods: ['UnaryCall'],
    sleep: 2,
    timeoutSec: 1,
    codes: [status.DEADLINE_EXCEEDED],
  }),
  timeout('TestTimeoutNotExceeded', 'no sleep: OK', { methods: ['UnaryCall'], codes: [status.OK] }),
];

const csds = {
  name: 'csds: TestBasicCsds',
  also: 'csds',
  expect: 'the client tells of 1 listener, route, cluster and endpoints, and of the port in them',
  async run(mesh) {
    const { client } = await start(mesh, { rules: [] });
    const config = await checkConfig(client, 1);
    const resources = resourcesOf(await client.config());
    const [server] = await mesh.servers(1);
    const types = resources.map(({ type }) => type).sort();
    const { content } = resources.find(({ type }) => type === 'ClusterLoadAssignment') ?? {};
    const { socket_address: address } =
      content?.endpoints[0].lb_endpoints[0].endpoint.address ?? {};
    const wanted = 'Cluster,ClusterLoadAssignment,Listener,RouteConfiguration';
    const passed = types.join() === wanted && address?.port_value === server.port;
    return allOf(config, verdict(passed, `${types.join(', ')}; port ${address?.port_value}`));
  },
};

export const cases = [
  ...pathCases,
  ...headerCases,
  ...faultCases,
  ...retryCases,
  ...timeoutCases,
  csds,
];
