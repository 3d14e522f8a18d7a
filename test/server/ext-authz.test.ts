// The ext_authz filter of servers (gRFC A92), with authorization servers on this machine.

import { once } from 'node:events';
import { connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import {
  Metadata,
  status,
  type Client,
  type ClientDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js';
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { SideChannels } from '../../src/http-filters/grpc-service/side-channels';
import { observe } from '../../src/observe/opentelemetry';
import type { XdsServer } from '../../src/server';
import { AuthorizationServer, extAuthzJson } from '../support/authorization-server';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { freePort } from '../support/free-port';
import { MetricsReader } from '../support/metrics-reader';
import { TestCertificates } from '../support/test-certificates';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  clientTls,
  inlineRoutes,
  openStream,
  rbacFilter,
  serverChain,
  strictTls,
  useServerWorld,
} from '../support/xds-server-world';

jest.setTimeout(60_000);

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 300);
const OUTCOMES = ['allowed', 'denied', 'failed', 'filter_disabled'];
const VARIABLES = [
  'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_SERVER',
  'GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER',
];
const TYPE = 'type.googleapis.com';
const NOT_JUDGED = 'the request cannot be evaluated';
const DENIED = 'unauthorized RPC request rejected';
const never = () => new Promise<Json>(() => {});

const header = (key: string, value: string, extra: Json = {}): Json => ({
  header: { key, value },
  ...extra,
});
const allowed = (ok_response: Json): Json => ({ ok_response });
const denied = (code: number, headers: readonly Json[] = [], message = 'not you'): Json => ({
  status: { code: 7, message },
  denied_response: { status: { code }, headers },
});

// Read when a server is first created.
for (const name of VARIABLES) process.env[name] = 'true';
afterAll(() => {
  for (const name of VARIABLES) Reflect.deleteProperty(process.env, name);
});

const world = useServerWorld();
let authz: AuthorizationServer;
let reader: MetricsReader;
/** All side channels of the process. */
const channels = new Set<SideChannels>();
const { retain } = SideChannels.prototype;

beforeAll(() => {
  SideChannels.prototype.retain = function (service) {
    channels.add(this);
    return retain.call(this, service);
  };
});
afterAll(() => {
  SideChannels.prototype.retain = retain;
});

beforeEach(async () => {
  authz = await AuthorizationServer.start();
  const [server] = world.bootstrap.xds_servers;
  world.bootstrapExtra = {
    xds_servers: [{ ...server, server_features: ['trusted_xds_server'] }],
  } as never;
  reader = new MetricsReader('MetricProducer', {
    enableMetrics: OUTCOMES.map((name) => `grpc.server_ext_authz.${name}_rpcs`),
  });
});
afterEach(async () => {
  authz.stop();
  await reader.stop();
});

const channelCount = () => [...channels].reduce((sum, { count }) => sum + count, 0);

/** The counts of calls, by outcome. */
async function counts(): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const name of OUTCOMES) {
    for (const { labels, value } of await reader.series(`grpc.server_ext_authz.${name}_rpcs`)) {
      expect(labels).toEqual({});
      if (value > 0) all[name] = value;
    }
  }
  return all;
}

const filterOf = (config: Json, extra: Json = {}): Json => ({
  name: 'authz',
  typed_config: config,
  ...extra,
});
const chainOf = (filters: readonly Json[], route: Json = {}, chain: Json = {}): Json =>
  serverChain(
    {
      ...inlineRoutes([{ match: { prefix: '' }, non_forwarding_action: {}, ...route }]),
      http_filters: [...filters, routerFilter],
    },
    chain,
  );
const serve = (filters: readonly Json[], route: Json = {}, chain: Json = {}): void =>
  world.serve([world.listener([chainOf(filters, route, chain)])]);

/** Serves with a filter, and starts a server. */
async function start(extra: Json = {}, serviceExtra: Json = {}): Promise<XdsServer> {
  serve([filterOf(extAuthzJson(authz.target, extra, serviceExtra))]);
  const server = world.server();
  expect((await world.bind(server)).error).toBeNull();
  return server;
}

interface Answered {
  readonly status: string;
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

/** Calls the server. @returns all of the response. */
function ask(client: Client, metadata = new Metadata(), path = echoMethod.path): Promise<Answered> {
  return new Promise((resolve) => {
    let headers = new Metadata();
    let text = 'OK';
    const same = (bytes: Buffer) => bytes;
    const onAnswer = (error: ServiceError | null) => {
      if (error !== null) text = `${status[error.code]}: ${error.details}`;
    };
    const options = { deadline: Date.now() + 20_000 };
    const call = client.makeUnaryRequest(
      path,
      same,
      same,
      Buffer.alloc(0),
      metadata,
      options,
      onAnswer,
    );
    call.on('metadata', (received) => (headers = received));
    call.on('status', ({ metadata: trailers }) =>
      setImmediate(() => resolve({ status: text, headers, trailers })),
    );
  });
}

/** Collects what a stream receives, and its status. */
function collect(stream: ClientDuplexStream<Buffer, Buffer>) {
  const messages: string[] = [];
  stream.on('data', (message: Buffer) => messages.push(message.toString()));
  stream.on('error', () => {});
  const ended = new Promise<string>((resolve) =>
    stream.on('status', ({ code }) => resolve(status[code])),
  );
  return { messages, ended };
}

describe('the authorization server', () => {
  it('is told of the request and of both ends', async () => {
    await start({
      disallowed_headers: { patterns: [{ exact: 'secret' }, { prefix: 'user-agent' }] },
    });
    const metadata = new Metadata();
    metadata.set('user', 'alice');
    metadata.set('secret', 's');
    metadata.set('trace-bin', Buffer.from([0, 1]));
    expect((await ask(world.client(), metadata)).status).toBe('OK');
    const attributes = authz.checks[0]?.request['attributes'];
    const peer = (port: unknown) => ({
      address: { socket_address: { address: '127.0.0.1', port_value: port } },
    });
    expect(attributes).toEqual({
      source: peer(expect.any(Number)),
      destination: peer(world.port),
      request: {
        time: expect.anything(),
        http: {
          method: 'POST',
          path: '/test.Echo/Say',
          size: '-1',
          protocol: 'HTTP/2',
          header_map: {
            headers: [
              { key: 'user', raw_value: Buffer.from('alice') },
              { key: 'trace-bin', raw_value: Buffer.from('AAE=') },
            ],
          },
        },
      },
    });
    // A time in whole milliseconds.
    expect(JSON.stringify(attributes)).toMatch(/"nanos":(?:0|\d+000000)\b/);
    expect(world.calls).toBe(1);
    expect(await counts()).toEqual({ allowed: 1 });
  });

  describe('over TLS', () => {
    const certificates = new TestCertificates();
    const root = certificates.authority('root');
    afterAll(() => certificates.close());

    it.each([
      [
        ['URI:spiffe://td/web', 'DNS:web'],
        ['URI:spiffe://td/server', 'IP:127.0.0.1'],
        'spiffe://td/web',
        'spiffe://td/server',
        false,
      ],
      [['DNS:web'], ['DNS:server', 'IP:127.0.0.1'], 'web', 'server', true],
      [[], ['IP:127.0.0.1'], 'CN=web', 'CN=server', true],
    ])(
      'is told of the principals of %j and %j',
      async (client, own, source, destination, isIncluded) => {
        const web = root.sign('web', { names: client });
        const { bootstrapExtra } = world;
        world.useCertificates(root.sign('server', { names: own }), root);
        world.bootstrapExtra = { ...bootstrapExtra, ...world.bootstrapExtra };
        const config = extAuthzJson(authz.target, { include_peer_certificate: isIncluded });
        serve([filterOf(config)], {}, strictTls());
        await world.bind(world.server());
        const caller = world.client(clientTls(root, web), '127.0.0.1');
        expect((await ask(caller)).status).toBe('OK');
        const attributes = authz.checks[0]?.request['attributes'] as Record<string, Json>;
        const encoded = attributes['source']?.['certificate'];
        expect(attributes['source']).toMatchObject({ principal: source });
        expect(attributes['destination']).toMatchObject({ principal: destination });
        expect(attributes['destination']).not.toHaveProperty('certificate');
        expect(encoded === undefined).toBe(!isIncluded);
        if (isIncluded)
          expect(decodeURIComponent(String(encoded)).trim()).toBe(web.certificate.trim());
      },
    );

    it('is told of no principal of a client without a certificate', async () => {
      const { bootstrapExtra } = world;
      world.useCertificates(root.sign('server', { names: ['IP:127.0.0.1'] }), root);
      world.bootstrapExtra = { ...bootstrapExtra, ...world.bootstrapExtra };
      const config = extAuthzJson(authz.target, { include_peer_certificate: true });
      serve([filterOf(config)], {}, strictTls({ require_client_certificate: false }));
      await world.bind(world.server());
      expect((await ask(world.client(clientTls(root)))).status).toBe('OK');
      const { source, destination } = authz.checks[0]?.request['attributes'] as Record<
        string,
        Json
      >;
      expect(Object.keys(source ?? {})).toEqual(['address']);
      expect(destination).toMatchObject({ principal: 'CN=server' });
    });
  });

  it('changes the headers of the request and of the response', async () => {
    const seen: Metadata[] = [];
    const server = world.server();
    const path = '/test.Echo/Seen';
    const method = { ...echoMethod, path };
    server.addService(
      { seen: method },
      {
        seen: (call: { metadata: Metadata }, callback: (error: null, answer: Buffer) => void) => {
          seen.push(call.metadata);
          callback(null, Buffer.alloc(0));
        },
      },
    );
    authz.answer = () =>
      allowed({
        headers: [
          header('user', 'bob', { append_action: 2 }),
          header('gone', 'x'),
          header('host', 'x'),
        ],
        headers_to_remove: ['gone', 'old'],
        response_headers_to_add: [header('decided-by', 'authz'), header('bytes-bin', 'AAE=')],
      });
    serve([filterOf(extAuthzJson(authz.target))]);
    await world.bind(server);
    const metadata = new Metadata();
    metadata.set('user', 'alice');
    metadata.set('old', 'o');
    const { status: text, headers } = await ask(world.client(), metadata, path);
    expect(text).toBe('OK');
    expect(seen[0]?.getMap()).toMatchObject({ user: 'bob' });
    expect(['old', 'gone', 'host'].map((name) => seen[0]?.get(name))).toEqual([[], [], []]);
    expect(headers.get('decided-by')).toEqual(['authz']);
    expect(headers.get('bytes-bin')).toEqual([Buffer.from([0, 1])]);
  });

  it.each([
    [403, 'PERMISSION_DENIED'],
    [401, 'UNAUTHENTICATED'],
    [503, 'UNAVAILABLE'],
    [0, 'PERMISSION_DENIED'],
    [200, 'UNKNOWN'],
  ])('denies with HTTP status %d', async (http, code) => {
    authz.answer = () => denied(http, [header('reason', 'policy 7')]);
    await start();
    const { status: text, trailers } = await ask(world.client());
    expect(text).toBe(`${code}: ${DENIED}: not you`);
    expect(trailers.get('reason')).toEqual(['policy 7']);
    expect(world.calls).toBe(0);
    expect(await counts()).toEqual({ denied: 1 });
  });

  it.each([
    [false, 'OK'],
    [true, `PERMISSION_DENIED: ${DENIED}`],
  ])('is not asked with filter_enabled of 0 %% (denied: %s)', async (isDenied, expected) => {
    const share = { default_value: { numerator: 0 } };
    await start({ filter_enabled: share, deny_at_disable: { default_value: isDenied } });
    expect(await callServer(world.client())).toBe(expected);
    expect(authz.checks).toEqual([]);
    expect(await counts()).toEqual({ filter_disabled: 1 });
  });

  it.each<[string, Json, number]>([
    [
      'FilterConfig that disables it',
      { '@type': `${TYPE}/envoy.config.route.v3.FilterConfig`, disabled: true },
      0,
    ],
    [
      'ExtAuthzPerRoute, of which no field is read',
      {
        '@type': `${TYPE}/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute`,
        disabled: true,
      },
      1,
    ],
  ])('is asked by the override of a route: %s', async (_name, override, checks) => {
    serve([filterOf(extAuthzJson(authz.target))], { typed_per_filter_config: { authz: override } });
    await world.bind(world.server());
    expect(await callServer(world.client())).toBe('OK');
    expect(authz.checks).toHaveLength(checks);
  });
});

describe('a server that gives no usable answer', () => {
  const cases: readonly [string, () => void | Promise<void>][] = [
    [
      'refuses connections',
      async () => {
        authz.stop();
        authz.port = await freePort();
      },
    ],
    ['fails', () => void (authz.answer = () => ({ code: status.DATA_LOSS }))],
    ['is slow', () => void (authz.answer = never)],
    [
      'dies in the middle',
      () => void (authz.answer = () => (setImmediate(() => authz.stop()), never())),
    ],
    [
      'answers a name that is none',
      () => void (authz.answer = () => allowed({ headers: [header('a b', 'v')] })),
    ],
  ];

  it.each(cases)('fails calls with status_on_error: %s', async (_name, prepare) => {
    await prepare();
    await start({ status_on_error: { code: 'ServiceUnavailable' } }, { timeout: '0.5s' });
    expect(await callServer(world.client())).toBe(`UNAVAILABLE: ${NOT_JUDGED}`);
    expect(world.calls).toBe(0);
    expect(await counts()).toEqual({ failed: 1 });
  });

  it.each(cases)('lets calls pass with failure_mode_allow: %s', async (_name, prepare) => {
    await prepare();
    await start(
      { failure_mode_allow: true, failure_mode_allow_header_add: true },
      { timeout: '0.5s' },
    );
    expect(await callServer(world.client())).toBe('OK');
    expect(await counts()).toEqual({ failed: 1 });
  });
});

describe('an answer that is hostile', () => {
  const repeat = (count: number, value: string) =>
    Array.from({ length: count }, (_, i) => header(`h-${i}`, value));

  it.each<[string, Json, string]>([
    ['a huge header of the request', allowed({ headers: [header('h', 'v'.repeat(20_000))] }), 'OK'],
    [
      'a thousand headers',
      allowed({ headers: repeat(1001, 'v') }),
      `PERMISSION_DENIED: ${NOT_JUDGED}`,
    ],
    ['a megabyte of headers', denied(403, repeat(60, 'v'.repeat(16_000))), 'failed'],
    [
      'a name of a pseudo header',
      allowed({ headers: [header(':path', '/x/Y', { append_action: 2 })] }),
      'OK',
    ],
    ['host', allowed({ headers: [header('host', 'evil', { append_action: 2 })] }), 'OK'],
    ['grpc-timeout', allowed({ headers: [header('grpc-timeout', '1n')] }), 'OK'],
    ['a name in upper case', allowed({ headers: [header('User', 'x')] }), 'OK'],
    [
      'a control character',
      allowed({ headers: [header('a', 'x\r\ny: z')] }),
      `PERMISSION_DENIED: ${NOT_JUDGED}`,
    ],
    [
      'grpc-status among the headers of the response',
      allowed({ response_headers_to_add: [header('grpc-status', '7'), header(':status', '500')] }),
      'OK',
    ],
    [
      'headers of a connection',
      allowed({
        response_headers_to_add: [
          'connection',
          'te',
          'upgrade',
          'transfer-encoding',
          'keep-alive',
          'http2-settings',
          'content-length',
          'content-type',
        ].map((name) => header(name, 'x')),
      }),
      'OK',
    ],
    [
      'headers of a connection among the trailers',
      denied(403, [header('connection', 'close'), header('grpc-status', '0')]),
      `PERMISSION_DENIED: ${DENIED}: not you`,
    ],
    [
      'two values of a header that has one',
      allowed({
        response_headers_to_add: [header('retry-after', '1'), header('retry-after', '2')],
      }),
      'INTERNAL: Received RST_STREAM with code 2 (Internal server error)',
    ],
    [
      'two values of a trailer that has one',
      denied(403, [header('retry-after', '1'), header('retry-after', '2')]),
      'INTERNAL: ',
    ],
    [
      'a long text that is cut in a character',
      denied(403, [], `x${'😀'.repeat(5000)}`),
      'PERMISSION_DENIED: ',
    ],
    ['a text with controls', denied(403, [], 'a\r\ngrpc-status: 0'), 'PERMISSION_DENIED: '],
    ['an HTTP status that is none', denied(999), 'UNKNOWN: '],
  ])('leaves the server and the next call alone: %s', async (_name, answer, expected) => {
    await start();
    const client = world.client();
    authz.answer = () => answer;
    const text = await callServer(client, { deadlineMs: 5000 });
    if (expected === 'failed') expect(text).not.toBe('OK');
    else expect(text.startsWith(expected)).toBe(true);
    authz.answer = () => ({});
    expect(await callServer(client)).toBe('OK');
  });

  it('may only change what the rules permit, and fails calls before their handler', async () => {
    const rules = { disallow_all: true, disallow_is_error: true };
    await start({ decoder_header_mutation_rules: rules, failure_mode_allow: true });
    for (const field of ['headers', 'response_headers_to_add']) {
      authz.answer = () => allowed({ [field]: [header('user', 'bob')] });
      expect(await callServer(world.client())).toMatch(
        /^INTERNAL: header "user" cannot be changed/,
      );
    }
    expect(world.calls).toBe(0);
    expect(await counts()).toEqual({ failed: 2 });
  });
});

describe('the order of filters', () => {
  const rbac = (action: 'DENY' | 'ALLOW', name: string, value: string) => ({
    ...rbacFilter(action, [{ header: { name, string_match: { exact: value } } }]),
    name,
  });

  it('follows the listener: a filter before it refuses without a check, a filter after it sees the changed headers', async () => {
    authz.answer = () => allowed({ headers: [header('role', 'admin', { append_action: 2 })] });
    serve([
      rbac('DENY', 'user', 'mallory'),
      filterOf(extAuthzJson(authz.target)),
      rbac('ALLOW', 'role', 'admin'),
    ]);
    await world.bind(world.server());
    const client = world.client();
    const metadata = new Metadata();
    metadata.set('user', 'mallory');
    expect((await ask(client, metadata)).status).toBe(`PERMISSION_DENIED: ${DENIED}`);
    expect(authz.checks).toEqual([]);
    expect((await ask(client)).status).toBe('OK');
    authz.answer = () => ({});
    expect((await ask(client)).status).toBe(`PERMISSION_DENIED: ${DENIED}`);
    expect(authz.checks).toHaveLength(2);
    expect(world.calls).toBe(1);
  });

  it('has the changes of several filters, those of the response in reverse', async () => {
    const second = await AuthorizationServer.start();
    const add = (value: string) => () =>
      allowed({
        headers: [header('way', value)],
        response_headers_to_add: [header('back', value)],
      });
    authz.answer = add('1');
    second.answer = add('2');
    serve([
      filterOf(extAuthzJson(authz.target)),
      { ...filterOf(extAuthzJson(second.target)), name: 'b' },
    ]);
    await world.bind(world.server());
    const { headers } = await ask(world.client());
    expect(headers.get('back')).toEqual(['2, 1']);
    const seen = JSON.stringify(second.checks[0]?.request);
    expect(seen).toContain('"way"');
    second.stop();
  });

  it('has the route last: a wrong action fails a call that is allowed', async () => {
    const routes = [{ match: { prefix: '' }, route: { cluster: 'c' } }];
    const http_filters = [filterOf(extAuthzJson(authz.target)), routerFilter];
    world.serve([world.listener([serverChain({ ...inlineRoutes(routes), http_filters })])]);
    await world.bind(world.server());
    expect(await callServer(world.client())).toBe(
      'UNAVAILABLE: the route of the request is not one that a server handles',
    );
    authz.answer = () => denied(403);
    expect(await callServer(world.client())).toBe(`PERMISSION_DENIED: ${DENIED}: not you`);
  });

  it('goes through a composite filter, which keeps the channel', async () => {
    const action = {
      name: 'a',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction`,
        filter_chain: {
          typed_config: [
            rbac('DENY', 'user', 'mallory'),
            { name: 'inner', typed_config: extAuthzJson(authz.target) },
          ],
        },
      },
    };
    const input = {
      name: 'h',
      typed_config: {
        '@type': `${TYPE}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput`,
        header_name: 'checked',
      },
    };
    const composite = {
      name: 'composite',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.common.matching.v3.ExtensionWithMatcher`,
        extension_config: {
          name: 'c',
          typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.Composite` },
        },
        xds_matcher: {
          matcher_tree: { input, exact_match_map: { map: { yes: { action } } } },
          on_no_match: {
            action: {
              name: 's',
              typed_config: {
                '@type': `${TYPE}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter`,
              },
            },
          },
        },
      },
    };
    const peers = new Set<string>();
    authz.answer = ({ peer }) => (peers.add(peer), denied(403));
    serve([composite]);
    expect((await world.bind(world.server())).error).toBeNull();
    const client = world.client();
    const metadata = new Metadata();
    metadata.set('checked', 'yes');
    for (let i = 0; i < 3; i++)
      expect((await ask(client, metadata)).status).toBe(`PERMISSION_DENIED: ${DENIED}: not you`);
    expect((await ask(client)).status).toBe('OK');
    metadata.set('user', 'mallory');
    expect((await ask(client, metadata)).status).toBe(`PERMISSION_DENIED: ${DENIED}`);
    expect([authz.checks.length, peers.size]).toEqual([3, 1]);
  });
});

describe('a call that waits', () => {
  /** The answers to the checks so far. */
  let answers: ((answer: Json) => void)[];
  beforeEach(() => {
    answers = [];
    authz.answer = () => new Promise<Json>((resolve) => answers.push(resolve));
  });

  it('gets its messages and its half-close when it is allowed', async () => {
    authz.answer = () =>
      new Promise<Json>((resolve) =>
        answers.push(() =>
          resolve(allowed({ response_headers_to_add: [header('decided-by', 'authz')] })),
        ),
      );
    await start();
    const stream = openStream(world.client());
    const { messages, ended } = collect(stream);
    const headers = once(stream, 'metadata') as Promise<[Metadata]>;
    for (const text of ['a', 'b', 'c']) stream.write(Buffer.from(text));
    stream.end();
    await eventually(() => answers.length, 1);
    expect(messages).toEqual([]);
    answers[0]?.({});
    expect(await ended).toBe('OK');
    expect(messages).toEqual(['a', 'b', 'c']);
    expect((await headers)[0].get('decided-by')).toEqual(['authz']);
  });

  it('gets no message when it is denied', async () => {
    await start();
    const stream = openStream(world.client());
    const { messages, ended } = collect(stream);
    stream.write(Buffer.from('a'));
    await eventually(() => answers.length, 1);
    answers[0]?.(denied(403));
    expect(await ended).toBe('PERMISSION_DENIED');
    expect(messages).toEqual([]);
  });

  it('reads no more than a window of HTTP/2', async () => {
    await start();
    const session = connectHttp2(`http://127.0.0.1:${world.port}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Chat',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => {});
    stream.write(Buffer.alloc(5_000_000));
    await eventually(() => answers.length, 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(session.socket.bytesWritten).toBeLessThan(200_000);
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => authz.waiting.size, 0);
    session.destroy();
  });

  it.each<[string, (stream: ClientDuplexStream<Buffer, Buffer>, server: XdsServer) => void]>([
    ['its client cancels', (stream) => stream.cancel()],
    ['the server shuts down by force', (_stream, server) => server.forceShutdown()],
    ['the address is drained without a grace', (_stream, server) => server.drain(world.address, 0)],
  ])('cancels its check when %s', async (_name, end) => {
    const server = await start();
    const stream = openStream(world.client());
    const { ended } = collect(stream);
    await eventually(() => answers.length, 1);
    end(stream, server);
    await ended;
    await eventually(() => authz.waiting.size, 0);
    answers[0]?.({});
    await eventually(counts, { failed: 1 });
  });

  it('passes its deadline on, and ends with it', async () => {
    await start({}, { timeout: '30s' });
    const client = world.client();
    expect(await callServer(client, { deadlineMs: 700 })).toMatch(/^DEADLINE_EXCEEDED/);
    expect(authz.checks[0]?.timeoutMs).toBeLessThanOrEqual(700);
    await eventually(() => authz.waiting.size, 0);
    expect(world.calls).toBe(0);
  });

  it('is served during a drain with grace, and during a graceful shutdown', async () => {
    const server = await start();
    const call = callServer(world.client());
    await eventually(() => answers.length, 1);
    server.drain(world.address, 20_000);
    const other = callServer(world.client());
    await eventually(() => answers.length, 2);
    const isShut = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    for (const answer of answers) answer({});
    expect(await Promise.all([call, other])).toEqual(['OK', 'OK']);
    await isShut;
    await eventually(channelCount, 0);
  });

  it('keeps its server over an update, whose channel closes with the last call', async () => {
    await start();
    const client = world.client();
    const calls = Promise.all(Array.from({ length: 20 }, () => callServer(client)));
    await eventually(() => answers.length, 20);
    const second = await AuthorizationServer.start();
    second.answer = () => denied(403);
    serve([filterOf(extAuthzJson(second.target))]);
    await eventually(
      () => callServer(world.client()),
      (text) => text.startsWith('PERMISSION_DENIED'),
    );
    serve([]);
    await eventually(() => callServer(world.client()), 'OK');
    await eventually(channelCount, 1);
    for (const answer of answers) answer({});
    expect(new Set(await calls)).toEqual(new Set(['OK']));
    await eventually(channelCount, 0);
    second.stop();
  });

  it('holds up no call without the filter on the same connection', async () => {
    const route = (path: string, extra: Json): Json => ({
      match: { path },
      non_forwarding_action: {},
      ...extra,
    });
    const off = { '@type': `${TYPE}/envoy.config.route.v3.FilterConfig`, disabled: true };
    const routes = [
      route(echoMethod.path, { typed_per_filter_config: { authz: off } }),
      route('/test.Echo/Chat', {}),
    ];
    const manager = {
      ...inlineRoutes(routes),
      http_filters: [filterOf(extAuthzJson(authz.target)), routerFilter],
    };
    world.serve([world.listener([serverChain(manager)])]);
    await world.bind(world.server());
    const client = world.client();
    const stream = openStream(client);
    const { ended } = collect(stream);
    await eventually(() => answers.length, 1);
    expect(await callServer(client)).toBe('OK');
    stream.cancel();
    await ended;
  });
});

it('channels are kept over updates of the same target, and closed with the last listener', async () => {
  const peers = new Set<string>();
  authz.answer = ({ peer }) => (peers.add(peer), {});
  const server = await start();
  for (let i = 0; i < 4; i++) {
    serve([filterOf(extAuthzJson(authz.target, { failure_mode_allow: i % 2 === 0 }))]);
    await eventually(() => callServer(world.client()), 'OK');
  }
  expect([peers.size, channelCount()]).toEqual([1, 1]);
  server.forceShutdown();
  await eventually(channelCount, 0);
});

it('a check is not checked by its own server', async () => {
  const path = '/envoy.service.auth.v3.Authorization/Check';
  const server = world.server();
  server.addService({ check: { ...echoMethod, path } }, { check: () => world.calls++ });
  serve([filterOf(extAuthzJson(authz.target))]);
  await world.bind(server);
  expect(await callServer(world.client(), { path })).toBe(`PERMISSION_DENIED: ${NOT_JUDGED}`);
  expect([authz.checks.length, world.calls]).toEqual([0, 0]);
});

it(
  'leaves nothing behind, however calls end',
  async () => {
    const choices: readonly (() => Json | Promise<Json>)[] = [() => ({}), () => denied(403), never];
    let asked = 0;
    authz.answer = () => (choices[asked++ % choices.length] ?? never)();
    await start();
    const client = world.client();
    const codes = new Map<string, number>();
    const add = (text: string) => {
      const code = text.replace(/:.*/s, '');
      codes.set(code, (codes.get(code) ?? 0) + 1);
    };
    for (let sent = 0; sent < CALLS; sent += 50) {
      const batch = Array.from({ length: 50 }, async (_, i) => {
        if (i % 10 !== 0) return add(await callServer(client, { deadlineMs: 1000 }));
        const stream = openStream(client);
        const { ended } = collect(stream);
        stream.write(Buffer.from('x'));
        setTimeout(() => stream.cancel(), 100);
        add(await ended);
      });
      await Promise.all(batch);
    }
    for (const code of ['OK', 'PERMISSION_DENIED', 'DEADLINE_EXCEEDED', 'CANCELLED'])
      expect([code, codes.get(code)]).not.toEqual([code, undefined]);
    await eventually(() => authz.waiting.size, 0);
    await eventually(async () => {
      const total = Object.values(await counts()).reduce((sum, count) => sum + count, 0);
      // On a busy machine, a call may end before its check has reached the server.
      return total >= asked && total <= CALLS;
    }, true);
    expect(channelCount()).toBe(1);
  },
  60_000 + 30 * CALLS,
);

it('a check is a child of the span of its call', async () => {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const handle = observe({ tracerProvider, textMapPropagator: new W3CTraceContextPropagator() });
  await start();
  expect(await callServer(world.client())).toBe('OK');
  const idOf = (name: string) =>
    exporter
      .getFinishedSpans()
      .find((span) => span.name === name)
      ?.spanContext().spanId;
  await eventually(() => idOf('Recv.test.Echo.Say') !== undefined, true);
  const check = exporter
    .getFinishedSpans()
    .find(({ name }) => name === 'Sent.envoy.service.auth.v3.Authorization.Check');
  expect(check?.parentSpanContext?.spanId).toBe(idOf('Recv.test.Echo.Say'));
  handle.close();
  context.disable();
});

it('response headers reach clients that read HTTP/2 themselves', async () => {
  authz.answer = () => allowed({ response_headers_to_add: [header('decided-by', 'authz')] });
  await start();
  const session = connectHttp2(`http://127.0.0.1:${world.port}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': echoMethod.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const response = once(stream, 'response') as Promise<[IncomingHttpHeaders]>;
  stream.end(Buffer.alloc(5));
  const [headers] = await response;
  expect(headers).toMatchObject({
    'content-type': 'application/grpc+proto',
    'decided-by': 'authz',
  });
  session.destroy();
});

describe('with failure_mode_allow', () => {
  const seen: Metadata[] = [];

  /** Serves a filter, and calls a handler that keeps the headers it gets. */
  async function statusOf(answer: Json, metadata = new Metadata(), path = '/test.Echo/Seen') {
    seen.length = 0;
    const server = world.server();
    const handlers = {
      seen: (call: { metadata: Metadata }, answered: (error: null, bytes: Buffer) => void) => {
        seen.push(call.metadata);
        answered(null, Buffer.alloc(0));
      },
    };
    server.addService({ seen: { ...echoMethod, path } }, handlers);
    authz.answer = () => answer;
    serve([filterOf(extAuthzJson(authz.target, { failure_mode_allow: true }))]);
    await world.bind(server);
    return (await ask(world.client(), metadata, path)).status;
  }

  it.each<[string, readonly Json[]]>([
    ['a value', [header('reason', 'café')]],
    ['a name', [header('a b', 'v')]],
    ['1001 headers', Array.from({ length: 1001 }, (_, i) => header(`h${i}`, 'v'))],
  ])('a denial stays one, whatever is wrong with its headers: %s', async (_name, headers) => {
    expect(await statusOf(denied(403, headers))).toMatch(/^PERMISSION_DENIED/);
    expect(seen).toEqual([]);
  });

  it('an answer that is too large to be read lets nothing pass', async () => {
    const answer = { ...denied(403), denied_response: { body: 'x'.repeat(2_000_000) } };
    expect(await statusOf(answer)).toMatch(/^PERMISSION_DENIED/);
    expect(seen).toEqual([]);
  });

  it('the path of a check is no way around it', async () => {
    const path = '/envoy.service.auth.v3.Authorization/Check';
    expect(await statusOf(denied(403), new Metadata(), path)).toMatch(/^PERMISSION_DENIED/);
    expect(seen).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    ['of the caller does not open the filter', '30s', /^PERMISSION_DENIED/],
    ['of the authorization server is a failure', '1s', /^OK$/],
  ])('a deadline %s', async (_whose, timeout, expected) => {
    authz.answer = () => ({ code: status.DEADLINE_EXCEEDED });
    await start({ failure_mode_allow: true }, { timeout });
    expect((await ask(world.client())).status).toMatch(expected);
  });
});
