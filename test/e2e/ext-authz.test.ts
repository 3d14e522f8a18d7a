// The ext_authz filter (gRFC A92) from the listener to the backend, with authorization servers on this machine.

import { Metadata, status } from '@grpc/grpc-js';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { observe } from '../../src/observe/opentelemetry';
import { AuthorizationServer, extAuthzJson, type Check } from '../support/authorization-server';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { freePort } from '../support/free-port';
import { SERVICE, simpleResources, useMesh } from '../support/mesh';
import { MetricsReader } from '../support/metrics-reader';
import {
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';

jest.setTimeout(300_000);

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 300);
const METRICS = ['allowed', 'denied', 'failed', 'filter_disabled'];
const VARIABLE = 'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT';

const header = (key: string, value: string, extra: Json = {}): Json => ({
  header: { key, value },
  ...extra,
});
const denied = (httpStatus: number, headers: readonly Json[] = []): Json => ({
  status: { code: 7, message: 'not you' },
  denied_response: { status: { code: httpStatus }, headers },
});

describe('calls with ext_authz', () => {
  // Read when the mesh is first registered.
  beforeAll(() => {
    process.env[VARIABLE] = 'true';
  });
  const mesh = useMesh({ features: ['trusted_xds_server'] });
  let backend: EchoBackend;
  let server: AuthorizationServer;
  let reader: MetricsReader;

  beforeEach(async () => {
    backend = await mesh.backend('one');
    server = await AuthorizationServer.start();
    reader = new MetricsReader('MetricProducer', {
      enableMetrics: METRICS.map((name) => `grpc.client_ext_authz.${name}_rpcs`),
    });
  });
  afterEach(async () => {
    server.stop();
    await reader.stop();
  });
  afterAll(() => {
    delete process.env.GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT;
  });

  const filterOf = (config: Json, extra: Json = {}): Json => ({
    name: 'authz',
    typed_config: config,
    ...extra,
  });
  /** @param routeExtra Of the only route. */
  function serve(filters: readonly Json[], routeExtra: Json = {}): void {
    mesh.serve({
      ...simpleResources([backend.port]),
      listeners: [listenerJson(SERVICE, undefined, { http_filters: [...filters, routerFilter] })],
      routes: [
        routeConfigJson(`${SERVICE}-routes`, [{ ...routeToCluster('echo'), ...routeExtra }]),
      ],
    });
  }
  const start = (extra: Json = {}, serviceExtra: Json = {}, target = server.target): EchoClient => {
    serve([filterOf(extAuthzJson(target, extra, serviceExtra))]);
    return mesh.client();
  };
  /** The counts of calls, by outcome. */
  async function counts(): Promise<Record<string, number>> {
    const all: Record<string, number> = {};
    for (const name of METRICS) {
      const series = await reader.series(`grpc.client_ext_authz.${name}_rpcs`);
      for (const { labels, value } of series) {
        expect(labels).toEqual({ 'grpc.target': `xds:///${SERVICE}` });
        if (value > 0) all[name] = value;
      }
    }
    return all;
  }

  it('are allowed by the server, which is told of the call', async () => {
    const metadata = new Metadata();
    metadata.set('user', 'alice');
    metadata.set('secret', 's');
    metadata.set('trace-bin', Buffer.from([0, 1]));
    const client = start(
      { disallowed_headers: { patterns: [{ exact: 'secret' }] } },
      { initial_metadata: [{ key: 'purpose', value: 'authz' }] },
    );
    expect(await client.say({ metadata })).toBe('one');
    const [check] = server.checks;
    expect(check?.metadata.get('purpose')).toEqual(['authz']);
    expect(check?.metadata.get('user')).toEqual([]);
    expect(check?.request).toMatchObject({
      attributes: {
        request: {
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
      },
    });
    expect(backend.metadata.get('secret')).toEqual(['s']);
    expect(await counts()).toEqual({ allowed: 1 });
  });

  it('get the changes of headers that the server answers', async () => {
    const overwrite = { append_action: 2 };
    server.answer = () => ({
      ok_response: {
        headers: [header('user', 'bob', overwrite), header('host', 'x'), header('gone', 'x')],
        headers_to_remove: ['gone', 'old'],
      },
    });
    const metadata = new Metadata();
    metadata.set('user', 'alice');
    metadata.set('old', 'o');
    await start().say({ metadata });
    expect(backend.metadata.get('user')).toEqual(['bob']);
    expect(backend.metadata.get('old')).toEqual([]);
    expect(backend.metadata.get('gone')).toEqual([]);
    expect(await counts()).toEqual({ allowed: 1 });
  });

  it.each<[number, status]>([
    [403, status.PERMISSION_DENIED],
    [401, status.UNAUTHENTICATED],
    [503, status.UNAVAILABLE],
    [0, status.PERMISSION_DENIED],
  ])('are denied with HTTP status %d', async (httpStatus, code) => {
    server.answer = () => denied(httpStatus, [header('reason', 'policy 7')]);
    const error = await start()
      .say()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code,
      details: expect.stringContaining(
        `HTTP filter "authz": denied by authorization server "${server.target}": not you`,
      ),
    });
    expect((error as { metadata: Metadata }).metadata.get('reason')).toEqual(['policy 7']);
    expect(backend.calls).toBe(0);
    expect(await counts()).toEqual({ denied: 1 });
  });

  it('fail with INTERNAL if a refused change of a header is an error, and are not sent', async () => {
    server.answer = () => ({ ok_response: { headers: [header('user', 'bob')] } });
    const rules = { disallow_all: true, disallow_is_error: true };
    const client = start({ decoder_header_mutation_rules: rules, failure_mode_allow: true });
    expect((await client.failure()).code).toBe(status.INTERNAL);
    expect(backend.calls).toBe(0);
    expect(await counts()).toEqual({ failed: 1 });
  });

  describe.each<[string, () => void | Promise<void>, string]>([
    [
      'refuses connections',
      async () => {
        server.stop();
        server.port = await freePort();
      },
      'UNAVAILABLE',
    ],
    [
      'fails checks',
      () => {
        server.answer = () => ({ code: status.DATA_LOSS });
      },
      'DATA_LOSS',
    ],
    [
      'is slow',
      () => {
        server.answer = () => new Promise(() => {});
      },
      'DEADLINE_EXCEEDED',
    ],
    [
      'answers what cannot be used',
      () => {
        server.answer = () => ({ ok_response: { headers: [header('a b', 'v')] } });
      },
      'unusable answer: ok_response[0].header.key: must be a header name, not "a b"',
    ],
  ])('of which the server %s', (_case, prepare, reason) => {
    beforeEach(async () => {
      await prepare();
    });

    it('fail with status_on_error', async () => {
      const client = start({ status_on_error: { code: 'NotFound' } }, { timeout: '0.3s' });
      const { code, details } = await client.failure();
      expect(code).toBe(status.UNIMPLEMENTED);
      expect(details).toContain(
        `HTTP filter "authz": authorization server "${server.target}" failed: ${reason}`,
      );
      expect(backend.calls).toBe(0);
      expect(await counts()).toEqual({ failed: 1 });
    });

    it.each([false, true])('are allowed with failure_mode_allow (header: %s)', async (isAdded) => {
      const extra = { failure_mode_allow: true, failure_mode_allow_header_add: isAdded };
      expect(await start(extra, { timeout: '0.3s' }).say()).toBe('one');
      const marks = backend.metadata.get('x-envoy-auth-failure-mode-allowed');
      expect(marks).toEqual(isAdded ? ['true'] : []);
      expect(await counts()).toEqual({ failed: 1 });
    });
  });

  it('are checked again by a server that was gone', async () => {
    const client = start();
    await client.say();
    server.stop();
    expect((await client.failure()).code).toBe(status.PERMISSION_DENIED);
    await server.listen();
    await eventually(() => client.say().catch(() => ''), 'one');
  });

  it('cancel the check with their deadline, and when they are cancelled', async () => {
    server.answer = () => new Promise(() => {});
    const client = start();
    await eventually(async () => {
      const { code } = await client.failure({ deadlineMs: 500 });
      expect(code).toBe(status.DEADLINE_EXCEEDED);
      return server.checks.length > 0;
    }, true);
    await eventually(() => server.checks.every(({ isCancelled }) => isCancelled()), true);
    expect(backend.calls).toBe(0);
  });

  it.each([
    { deadlineMs: 20_000, timeout: '10s', routeTimeout: '30s', expected: 10_000 },
    { deadlineMs: 10_000, timeout: '20s', routeTimeout: '30s', expected: 10_000 },
    { deadlineMs: 20_000, timeout: undefined, routeTimeout: '10s', expected: 10_000 },
    { deadlineMs: 10_000, timeout: undefined, routeTimeout: '0s', expected: 10_000 },
  ])('pass on their deadline, unless the timeout is earlier: %j', async (given) => {
    const { deadlineMs, timeout, routeTimeout, expected } = given;
    serve([filterOf(extAuthzJson(server.target, {}, timeout ? { timeout } : {}))], {
      route: { cluster: 'echo', max_stream_duration: { max_stream_duration: routeTimeout } },
    });
    const client = mesh.client();
    await client.say({ deadlineMs });
    await client.say({ deadlineMs });
    expect(server.checks).toHaveLength(2);
    for (const { timeoutMs } of server.checks) {
      expect(timeoutMs).toBeLessThanOrEqual(expected);
      expect(timeoutMs).toBeGreaterThan(expected - 5000);
    }
  });

  it('are the parent of the check in a trace', async () => {
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const textMapPropagator = new W3CTraceContextPropagator();
    const handle = observe({ tracerProvider, textMapPropagator });
    await start().say();
    const spans = exporter.getFinishedSpans();
    const spanOf = (name: string) => spans.find((span) => span.name === name);
    const call = spanOf('Sent.test.Echo.Say')?.spanContext();
    const check = spanOf('Sent.envoy.service.auth.v3.Authorization.Check');
    const attempt = spanOf('Attempt.envoy.service.auth.v3.Authorization.Check')?.spanContext();
    expect(check?.parentSpanContext?.spanId).toBe(call?.spanId);
    expect(server.checks[0]?.metadata.get('traceparent')).toEqual([
      `00-${call?.traceId}-${attempt?.spanId}-01`,
    ]);
    handle.close();
  });

  it.each([
    [false, 'one'],
    [true, 'PERMISSION_DENIED'],
  ])('are not checked with filter_enabled of 0 % (denied: %s)', async (isDenied, expected) => {
    const share = { default_value: { numerator: 0 } };
    const client = start({ filter_enabled: share, deny_at_disable: { default_value: isDenied } });
    const result = await client.say().catch(({ code }: { code: status }) => status[code]);
    expect(result).toBe(expected);
    expect(server.checks).toEqual([]);
    expect(await counts()).toEqual({ filter_disabled: 1 });
  });

  it('are not checked where an override disables the filter', async () => {
    const override = {
      authz: { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true },
    };
    serve([filterOf(extAuthzJson(server.target))], { typed_per_filter_config: override });
    expect(await mesh.client().say()).toBe('one');
    expect(server.checks).toEqual([]);
  });

  // 1. Calls wait for the answer. 2. The filter gets another server, then goes. 3. The first server answers the calls.
  it('get the answer of the server that they asked while the configuration changes', async () => {
    const waiting: ((answer: Json) => void)[] = [];
    server.answer = () => new Promise<Json>((resolve) => waiting.push(resolve));
    const client = start();
    const calls = Promise.all(Array.from({ length: 20 }, () => client.say()));
    await eventually(() => waiting.length, 20);
    const other = await AuthorizationServer.start();
    serve([filterOf(extAuthzJson(other.target))]);
    await eventually(async () => {
      if (other.checks.length === 0) void client.say({ deadlineMs: 2000 }).catch(() => {});
      return other.checks.length > 0;
    }, true);
    serve([]);
    await eventually(async () => {
      const { length } = other.checks;
      await client.say();
      return other.checks.length === length;
    }, true);
    for (const answer of waiting) answer({});
    expect(await calls).toEqual(Array.from({ length: 20 }, () => 'one'));
    other.stop();
  });

  it('share one connection to their server, also after updates', async () => {
    const peers = new Set<string>();
    server.answer = ({ peer }: Check) => {
      peers.add(peer);
      return {};
    };
    const client = start();
    for (let i = 0; i < 5; i++) {
      serve([filterOf(extAuthzJson(server.target, { failure_mode_allow: i % 2 === 0 }))]);
      await client.say();
      await mesh.client().say();
    }
    expect(peers.size).toBe(1);
  });

  it('fail if a check would have to be checked by its own server', async () => {
    const filters = [filterOf(extAuthzJson('xds:///authz', {}, { timeout: '5s' })), routerFilter];
    mesh.serve({
      listeners: [SERVICE, 'authz'].map((name) =>
        listenerJson(name, 'routes', { http_filters: filters }),
      ),
      routes: [routeConfigJson('routes', [routeToCluster('echo')])],
      clusters: simpleResources([]).clusters,
      endpoints: simpleResources([server.port]).endpoints,
    });
    const { code, details } = await mesh.client().failure();
    expect(code).toBe(status.PERMISSION_DENIED);
    expect(details).toContain('a check cannot wait for another check');
    expect(server.checks).toEqual([]);
  });

  it('leave nothing behind, however they end', async () => {
    const answers: readonly (() => Json | Promise<Json>)[] = [
      () => ({}),
      () => denied(403),
      () => new Promise(() => {}),
    ];
    const client = start();
    await client.say();
    server.answer = () => (answers[server.checks.length % answers.length] ?? (() => ({})))();
    const codes = new Map<number, number>();
    for (let sent = 0; sent < CALLS; sent += 100) {
      const batch = Array.from({ length: 100 }, () =>
        client.say({ deadlineMs: 1000 }).then(
          () => status.OK,
          ({ code }: { code: status }) => code,
        ),
      );
      for (const code of await Promise.all(batch)) codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    for (const code of [status.OK, status.PERMISSION_DENIED, status.DEADLINE_EXCEEDED]) {
      expect(codes.get(code)).toBeGreaterThan(CALLS / 10);
    }
    await eventually(() => server.waiting.size, 0);
    const all = await counts();
    const total = Object.values(all).reduce((sum, count) => sum + count, 0);
    expect(total).toBe(CALLS + 1);
  });
});
