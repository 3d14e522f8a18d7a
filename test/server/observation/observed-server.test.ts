import { setTimeout as sleep } from 'node:timers/promises';
import { addAdminServicesToServer, Server, ServerCredentials } from '@grpc/grpc-js';
import { getChannelzHandlers } from '@grpc/grpc-js/build/src/channelz';
import { inspect } from '../../../src';
import { registerAuditLogger, XdsServerCredentials } from '../../../src/server';
import { DiagnosticRecorder } from '../../support/diagnostic-recorder';
import { eventually } from '../../support/eventually';
import { skipTime } from '../../support/fast-clock';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { StatusClient } from '../../support/status-client';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { routerFilter } from '../../support/xds-json';
import {
  callServer,
  clientTls,
  inlineRoutes,
  openStream,
  rbacFilter,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  strictTls,
  useServerWorld,
} from '../../support/xds-server-world';
import { registerAnew } from '../../support/mesh';
import { bind } from '../../support/listen';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const web = root.sign('web', { names: ['URI:spiffe://td/web'] });
const job = root.sign('job', { names: ['URI:spiffe://td/job'] });
const DENIED = 'PERMISSION_DENIED: unauthorized RPC request rejected';
const TIME = expect.stringMatching(/^\d{4}-.*Z$/);

const world = useServerWorld();
beforeEach(() => {
  world.useCertificates(root.sign('server', { names: ['IP:127.0.0.1'] }), root);
});
afterAll(() => certificates.close());

const secured = (own: TestCertificate | undefined) => clientTls(root, own);

const report = () => inspect().servers.find(({ address }) => address === world.address);

/** Denies all but the web. */
const allowWeb = () =>
  rbacFilter(
    'ALLOW',
    [{ any: true }],
    [{ authenticated: { principal_name: { exact: 'spiffe://td/web' } } }],
  );
const strict = () =>
  world.listener([
    serverChain(
      { ...inlineRoutes(), http_filters: [allowWeb(), routerFilter] },
      {
        name: 'inbound-mtls',
        ...strictTls(),
      },
    ),
  ]);
const denyAll = () =>
  world.listener([
    serverChain({
      ...inlineRoutes(),
      http_filters: [rbacFilter('DENY', [{ any: true }]), routerFilter],
    }),
  ]);

describe('inspect()', () => {
  it('says of an address why it is not served, and since when', async () => {
    void world.bind(world.server());
    expect(report()).toMatchObject({
      state: 'NOT_SERVING',
      since: TIME,
      reason: `Listener "${world.listenerName}": not received yet`,
      listener: { name: world.listenerName },
      filterChains: [],
      calls: { started: 0, inProgress: 0, succeeded: 0, failed: 0 },
      waitingFor: [expect.stringContaining(world.listenerName)],
    });
    const wrong = { socket_address: { address: '10.9.8.7', port_value: world.port } };
    world.serve([world.listener([serverChain()], { address: wrong })]);
    await eventually(report, (server) => server?.reason?.includes('10.9.8.7') === true);
    const since = report()?.since;
    world.serve([]);
    await eventually(report, (server) => server?.reason?.includes('no such resource') === true);
    expect(report()?.since).toBe(since);
  });

  it('has chains, connections by identity, calls, refusals and handshakes', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    const client = world.client(secured(web));
    expect(await callServer(client)).toBe('OK');
    const stream = openStream(client);
    // The end of the test ends it.
    stream.on('error', () => {});
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    const denied = world.client(secured(job));
    expect(await callServer(denied)).toBe(DENIED);
    expect(await callServer(denied)).toBe(DENIED);
    await callServer(world.client(secured(undefined)));
    // The connection without a certificate closes a moment after its client has heard of it.
    const server = await eventually(
      report,
      (each) => each?.calls.failed === 2 && each.connections.open === 2,
    );
    expect(server).toMatchObject({
      state: 'SERVING',
      since: TIME,
      waitingFor: [],
      listener: { name: world.listenerName, version: expect.any(String), inUseSince: TIME },
      filterChains: [
        {
          name: 'inbound-mtls',
          match: 'every connection',
          tls: 'TLS, client certificate required',
          rbac: [{ filter: 'rbac', action: 'allow', policies: 1 }],
          routes: {},
        },
      ],
      otherFilterChains: 0,
      connections: {
        open: 2,
        generations: [{ since: TIME, isInUse: true, connections: 2, draining: 0 }],
        identities: expect.arrayContaining([
          { identity: 'spiffe://td/web', connections: 1 },
          { identity: 'spiffe://td/job', connections: 1 },
        ]),
        otherIdentities: 0,
      },
      calls: { started: 4, inProgress: 1, succeeded: 1, failed: 2 },
      refusals: [
        {
          status: 'PERMISSION_DENIED',
          filter: 'rbac',
          action: 'allow',
          policy: '',
          calls: 2,
          lastAt: TIME,
        },
      ],
      handshakes: { succeeded: 2 },
    });
    const failures = server?.handshakes.failures ?? [];
    expect(failures.map(({ cause }) => cause)).toContain('NO_CERTIFICATE');
    stream.end();
    await eventually(report, (each) => each?.calls.inProgress === 0);
    expect(report()?.calls).toEqual({ started: 4, inProgress: 0, succeeded: 2, failed: 2 });
  });

  it('has the connections of earlier Listeners, and routes that are missing', async () => {
    world.serve([world.listener()]);
    await world.bind(world.server());
    const stream = openStream(world.client());
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    world.serve([world.listener([serverChain(rdsRoutes('r'))])], [serverRouteConfig('r')]);
    const server = await eventually(report, (each) => each?.connections.generations.length === 2);
    expect(server?.connections).toMatchObject({
      generations: [
        { isInUse: false, connections: 1, draining: 1 },
        { isInUse: true, connections: 0, draining: 0 },
      ],
      identities: [{ identity: 'plain text', connections: 1 }],
    });
    expect(server?.filterChains[0]).toMatchObject({ tls: 'plain text', routes: { name: 'r' } });
    const bad = { ...serverRouteConfig('bad'), virtual_hosts: [{ name: 'all', domains: [''] }] };
    world.serve([world.listener([serverChain(rdsRoutes('bad'))])], [bad]);
    const withoutRoutes = await eventually(
      report,
      (each) => each?.filterChains[0]?.routes.name === 'bad',
    );
    expect(withoutRoutes?.filterChains[0]?.routes.failure).toContain('RouteConfiguration "bad"');
    stream.on('error', () => undefined);
    stream.cancel();
    const after = await eventually(report, (each) => each?.connections.generations.length === 1);
    expect(after?.calls).toMatchObject({ started: 1, inProgress: 0 });
  });

  it('counts handshakes with TLS of the application by their code', async () => {
    world.serve([world.listener()]);
    const pair = {
      cert_chain: Buffer.from(web.certificateChain),
      private_key: Buffer.from(web.privateKey),
    };
    const own = ServerCredentials.createSsl(Buffer.from(root.certificate), [pair], true);
    await world.bind(world.server(), new XdsServerCredentials(own));
    await callServer(world.client());
    const server = await eventually(report, (each) => each?.handshakes.failures.length !== 0);
    expect(server?.filterChains[0]?.tls).toBe('TLS of the application');
    expect(server?.handshakes.failures[0]?.cause).toMatch(/^ERR_SSL_/);
  });

  it('has a server until its last connection has closed', async () => {
    world.serve([world.listener()]);
    const server = world.server();
    await world.bind(server);
    const stream = openStream(world.client());
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    server.unbind(world.address);
    expect(report()).toMatchObject({ state: 'NOT_SERVING', reason: 'unbound' });
    expect(inspect({ target: '#server' }).servers).toHaveLength(1);
    expect(inspect({ target: 'xds:///shop' }).servers).toEqual([]);
    stream.end();
    await eventually(report, undefined);
  });
});

describe.each(WAYS)('metrics of servers, with a %s', (way) => {
  it('have the state, connections, calls, handshakes and refusals', async () => {
    const names = ['serving', 'connections', 'calls_in_progress', 'handshakes', 'refusals'];
    const enableMetrics = names.map((name) => `grpc_xds.server.${name}`);
    const reader = new MetricsReader(way, { disableAllMetrics: true, enableMetrics });
    const series = async (name: string) =>
      (await reader.series(`grpc_xds.server.${name}`)).map(({ labels, value }) => [labels, value]);
    const server = world.server();
    const bound = world.bind(server);
    const labels = { 'grpc.target': '#server', 'grpc_xds.server.address': world.address };
    expect(await series('serving')).toEqual([[labels, 0]]);
    world.serve([strict()]);
    await bound;
    expect(await callServer(world.client(secured(job)))).toBe(DENIED);
    await callServer(world.client(secured(undefined)));
    expect(await series('serving')).toEqual([[labels, 1]]);
    expect(await series('calls_in_progress')).toEqual([[labels, 0]]);
    let connections = await series('connections');
    // The connection without a certificate is closed once the alert has been sent.
    while (!connections.some(([, value]) => value === 1)) {
      await sleep(10);
      connections = await series('connections');
    }
    expect(connections).toHaveLength(2);
    expect(connections).toContainEqual([
      { ...labels, 'grpc_xds.server.connection_state': 'open' },
      1,
    ]);
    expect(await series('refusals')).toEqual([
      [
        {
          ...labels,
          'grpc.status': 'PERMISSION_DENIED',
          'grpc_xds.server.filter': 'rbac',
          'grpc_xds.server.action': 'allow',
          'grpc_xds.server.policy': '',
        },
        1,
      ],
    ]);
    const handshakes = await series('handshakes');
    const handshake = (result: string, cause: string) => ({
      ...labels,
      'grpc.tls.handshake.result': result,
      'grpc_xds.server.handshake_cause': cause,
    });
    expect(handshakes).toContainEqual([handshake('SUCCESS', ''), 1]);
    expect(handshakes.map(([each]) => each)).toContainEqual(
      handshake('CERTIFICATE_VERIFICATION_FAILED', 'NO_CERTIFICATE'),
    );
    await reader.stop();
  });

  it('count the stream to the management server for the target #server (gRFC A78)', async () => {
    const name = 'grpc.xds_client.connected';
    const reader = new MetricsReader(way, { disableAllMetrics: true, enableMetrics: [name] });
    const bound = world.bind(world.server());
    world.serve([world.listener()]);
    await bound;
    expect(await reader.series(name)).toMatchObject([
      { labels: { 'grpc.target': '#server' }, value: 1 },
    ]);
    await reader.stop();
  });
});

it('publishes each change of the state and each refused call', async () => {
  const recorder = new DiagnosticRecorder('grpc-xds:serving-state', 'grpc-xds:call-refused');
  world.serve([denyAll()]);
  const server = world.server();
  await world.bind(server);
  expect(await callServer(world.client())).toBe(DENIED);
  server.unbind(world.address);
  const common = { nodeId: expect.any(String), address: world.address };
  const state = { ...common, name: world.listenerName };
  expect(recorder.take()).toEqual([
    ['grpc-xds:serving-state', { ...state, state: 'SERVING', error: undefined }],
    [
      'grpc-xds:call-refused',
      {
        ...common,
        path: '/test.Echo/Say',
        status: 'PERMISSION_DENIED',
        policy: 'the-policy',
        filter: 'rbac',
        action: 'deny',
        client: '127.0.0.1',
        identity: undefined,
        error: 'denied by "rbac": it matches the policy "the-policy"',
      },
    ],
    ['grpc-xds:serving-state', { ...state, state: 'NOT_SERVING', error: 'unbound' }],
  ]);
});

it('logs a policy that denies calls once, and audits each of them; the status of the calls has neither', async () => {
  // Lines of one cause are limited: those of the tests before are long ago.
  skipTime(60_000);
  const lines: string[] = [];
  const audited: unknown[] = [];
  registerAnew({
    bootstrap: world.bootstrap,
    logger: { level: 'error', log: ({ message }: { message: string }) => lines.push(message) },
  });
  registerAuditLogger({
    name: 'test.Counted',
    parseConfig: () => ({}),
    create: () => ({ log: (event: unknown) => audited.push(event) }),
  });
  const typed_config = {
    '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
    type_url: 'type.googleapis.com/test.Counted',
    value: {},
  };
  const filter = rbacFilter('DENY', [{ any: true }]);
  const rules = {
    action: 'DENY',
    policies: { 'the-policy': { permissions: [{ any: true }], principals: [{ any: true }] } },
    audit_logging_options: {
      audit_condition: 'ON_DENY',
      logger_configs: [{ audit_logger: { name: 'test.Counted', typed_config } }],
    },
  };
  const audit = {
    ...filter,
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC',
      rules,
    },
  };
  world.serve([
    world.listener([serverChain({ ...inlineRoutes(), http_filters: [audit, routerFilter] })]),
  ]);
  await world.bind(world.server());
  const client = world.client();
  for (let i = 0; i < 5; i++) expect(await callServer(client)).toBe(DENIED);
  expect(lines.filter((line) => line.includes('the-policy'))).toEqual([
    `server ${world.address}: call "/test.Echo/Say" from 127.0.0.1 refused: ` +
      'denied by "rbac": it matches the policy "the-policy"',
  ]);
  expect(audited).toHaveLength(5);
  expect(report()?.refusals).toMatchObject([{ policy: 'the-policy', calls: 5 }]);
});

describe('the admin services (gRFC A38)', () => {
  /** Asks channelz in this process. */
  const channelz = (method: string, request: object): unknown => {
    let answer: unknown;
    const handler: unknown = Reflect.get(getChannelzHandlers(), method);
    if (typeof handler !== 'function') throw new Error(method);
    Reflect.apply(handler, undefined, [
      { request },
      (_error: unknown, response: unknown) => (answer = response),
    ]);
    return answer;
  };
  interface Sockets {
    readonly server: readonly {
      readonly ref: { readonly server_id: number };
      readonly listen_socket: readonly { readonly socket_id: number; readonly name: string }[];
    }[];
  }
  const listenSockets = () =>
    (
      channelz('GetServers', { start_server_id: '0', max_results: '1000' }) as Sockets
    ).server.flatMap(({ ref, listen_socket }) =>
      listen_socket.map(({ socket_id, name }) => ({ server: ref.server_id, socket_id, name })),
    );
  const own = () => listenSockets().filter(({ name }) => name === world.address);
  const socketsOf = (server: number) =>
    (
      channelz('GetServerSockets', {
        server_id: `${server}`,
        start_socket_id: '0',
        max_results: '1000',
      }) as { readonly socket_ref: readonly { readonly socket_id: number }[] }
    ).socket_ref;

  it('have one listen socket for each address, its connections, and neither after an unbind', async () => {
    world.serve([world.listener()]);
    const server = world.server();
    await world.bind(server);
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    const [socket, ...others] = own();
    expect(others).toEqual([]);
    if (socket === undefined) throw new Error('no listen socket');
    const [connection, ...more] = socketsOf(socket.server);
    expect(more).toEqual([]);
    expect(channelz('GetSocket', { socket_id: `${connection?.socket_id}` })).toMatchObject({
      socket: { remote: { tcpip_address: { ip_address: expect.anything() } } },
    });
    // A Listener that comes and goes leaves it alone.
    world.serve([world.listener([serverChain(inlineRoutes(), { name: 'changed' })])]);
    await eventually(
      () => callServer(client),
      () => world.peers.size === 2,
    );
    expect(own()).toEqual([socket]);
    server.unbind(world.address);
    await eventually(() => own().length, 0);
    await eventually(
      () => socketsOf(socket.server),
      ({ length }) => length === 0,
    );
    expect(channelz('GetSocket', { socket_id: `${socket.socket_id}` })).toBeUndefined();
    expect(channelz('GetSocket', { socket_id: `${connection?.socket_id}` })).toBeUndefined();
  });

  it('have the resources of the server in CSDS, with a rejected version beside the good one', async () => {
    registerAnew({ bootstrap: world.bootstrap });
    world.serve([world.listener([serverChain(rdsRoutes('r'))])], [serverRouteConfig('r')]);
    await world.bind(world.server());
    const admin = new Server();
    addAdminServicesToServer(admin);
    const port = await bind(admin);
    const status = new StatusClient(`127.0.0.1:${port}`);
    const configs = async () =>
      (await status.fetch()).config
        .find(({ client_scope }) => client_scope === '#server')
        ?.generic_xds_configs.map(({ name, client_status }) => [name, client_status]);
    expect(await configs()).toEqual([
      [world.listenerName, 'ACKED'],
      ['r', 'ACKED'],
    ]);
    world.serve(
      [world.listener([serverChain(rdsRoutes('r'))], { use_original_dst: true })],
      [serverRouteConfig('r')],
    );
    await eventually(configs, (all) => all?.[0]?.[1] === 'NACKED');
    expect(report()?.state).toBe('SERVING');
    status.close();
    admin.forceShutdown();
  });
});
