import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer } from 'node:net';
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  status,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { inspect, shutdown, type BootstrapConfig } from '../../src';
import { createXdsServerCredentials, XdsServer, type XdsServerOptions } from '../../src/server';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { HeldTimers } from '../support/held-timers';
import { routerFilter } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  openStream,
  rbacFilter,
  serverChain,
  useServerWorld,
} from '../support/xds-server-world';
import { MAX_CALLS_IN_TURN } from '../../src/util/call-turns';
import { runChild } from '../support/run-child';
import { registerAnew } from '../support/mesh';
import { freePort } from '../support/free-port';
import { FastClock } from '../support/fast-clock';

const world = useServerWorld();

const lastState = () => world.states.at(-1)?.state;

it('a process waits for a Listener, and ends by itself after tryShutdown', async () => {
  const child = runChild('serve-once', { args: [world.address], bootstrap: world.bootstrap });
  await eventually(() => world.controlPlane.clients().length, 1, 60_000);
  world.serve([world.listener()]);
  const { stdout } = await child;
  expect(stdout).toBe('served\ndown\n');
});

it('is not served while another process uses the port, and is a minute after that has ended', async () => {
  const timers = new HeldTimers('listen-socket');
  try {
    const other = createServer().listen(world.port, '127.0.0.1');
    await once(other, 'listening');
    const bound = world.bind(world.server());
    world.serve([world.listener()]);
    await eventually(lastState, 'NOT_SERVING');
    expect(world.states.at(-1)?.error).toContain('EADDRINUSE');
    other.close();
    await eventually(() => timers.size > 0, true);
    timers.runOut();
    expect((await bound).error).toBeNull();
    expect(await callServer(world.client())).toBe('OK');
  } finally {
    timers.stop();
  }
});

it('serves IPv4 and IPv6 clients of [::], by their own addresses', async () => {
  world.stop();
  await world.begin('::');
  const range = { address_prefix: '127.0.0.0', prefix_len: 8 };
  const match = { filter_chain_match: { source_prefix_ranges: [range] } };
  const filters = [
    rbacFilter('DENY', [{ any: true }], [{ direct_remote_ip: range }]),
    routerFilter,
  ];
  const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, match);
  world.serve([world.listener([chain], { default_filter_chain: serverChain() })]);
  await world.bind(world.server());
  expect(await callServer(world.client())).toMatch(/^PERMISSION_DENIED/);
  expect(await callServer(world.client(undefined, '[::1]'))).toBe('OK');
});

describe('the interceptors of an application', () => {
  it('are called for authorized calls only, and handlers of no kind of call for others', async () => {
    const seen: string[] = [];
    const interceptor: ServerInterceptor = ({ path }, call) =>
      new ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata(metadata, pass) {
              seen.push(path);
              pass(metadata);
            },
          }),
      });
    const path = { path: { exact: '/test.Echo/Say' } };
    const filters = [rbacFilter('ALLOW', [{ url_path: path }]), routerFilter];
    world.serve([world.listener([serverChain({ ...inlineRoutes(), http_filters: filters })])]);
    await world.bind(world.server({ interceptors: [interceptor] }));
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    const stream = openStream(client);
    stream.write(Buffer.from('x'));
    const [error] = await once(stream, 'error');
    expect(error).toMatchObject({ code: status.PERMISSION_DENIED });
    expect(seen).toEqual(['/test.Echo/Say']);
  });
});

it('drain() ends the connections that there are, and accepts new ones', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  const client = world.client();
  expect(await callServer(client)).toBe('OK');
  server.drain(world.address, 1000);
  await eventually(
    () => callServer(client),
    () => world.peers.size === 2,
  );
  server.drain();
  await eventually(
    () => callServer(client),
    () => world.peers.size === 3,
  );
});

it('drains no connection that has just been opened: clients send a call twice, and not a third time', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  // A client that sends no call twice.
  const session = connectHttp2(`http://${world.address}`);
  const ended = Promise.all([once(session, 'goaway'), once(session, 'close')]);
  await once(session, 'remoteSettings');
  server.drain();
  const headers = { ':method': 'POST', ':path': echoMethod.path, te: 'trailers' };
  const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
  stream.end(Buffer.alloc(5));
  const [answer] = await once(stream, 'response');
  expect(answer[':status']).toBe(200);
  stream.resume();
  const [[code]] = await ended;
  expect(code).toBe(0);
});

it('a process that is blocked accepts calls that have arrived meanwhile, and lets them have the grace time after that', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  const session = connectHttp2(`http://${world.address}`);
  await once(session, 'remoteSettings');
  const goaway = once(session, 'goaway').then(() => performance.now());
  const graceMs = 400;
  server.drain(world.address, graceMs);
  const headers = { ':method': 'POST', ':path': '/test.Echo/Chat', te: 'trailers' };
  const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  const ended = once(stream, 'close').then(() => performance.now());
  const echoed = once(stream, 'data');
  stream.write(Buffer.from([0, 0, 0, 0, 1, 120]));
  // The call is sent in the next turn.
  setImmediate(() => {
    const unblockedMs = performance.now() + 3 * graceMs;
    while (performance.now() < unblockedMs);
  });
  await echoed;
  const goawayMs = await goaway;
  expect((await ended) - goawayMs).toBeGreaterThan(graceMs - 10);
});

it('serves all calls that have arrived when their connection accepts no more, however many they are', async () => {
  world.serve([world.listener()]);
  let judged = 0;
  const unbindInBurst: ServerInterceptor = (_method, call) => {
    if (++judged === 2) server.unbind(world.address);
    return new ServerInterceptingCall(call);
  };
  const server = world.server({ interceptors: [unbindInBurst] });
  await world.bind(server);
  const session = connectHttp2(`http://${world.address}`);
  const headers = { ':method': 'POST', ':path': echoMethod.path, te: 'trailers' };
  const call = async () => {
    const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
    let code: unknown;
    const see = (seen: { readonly 'grpc-status'?: unknown }) => (code ??= seen['grpc-status']);
    stream.on('response', see).on('trailers', see);
    stream.on('error', () => undefined);
    stream.end(Buffer.alloc(5));
    stream.resume();
    await once(stream, 'close');
    return code;
  };
  expect(await call()).toBe('0');
  // A connection accepts calls for a second from its first one.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const codes = await Promise.all(Array.from({ length: 3 * MAX_CALLS_IN_TURN }, call));
  expect(codes.filter((code) => code === '0').length).toBeGreaterThan(MAX_CALLS_IN_TURN);
  // Those that had not arrived have none: their clients send them again.
  expect(codes.filter((code) => code !== '0' && code !== undefined)).toEqual([]);
});

it('unbind() stops listening, and lets calls end', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  const stream = openStream(world.client());
  stream.write(Buffer.from('x'));
  await once(stream, 'data');
  server.unbind(world.address);
  expect(await world.connects()).toBe('refused');
  stream.write(Buffer.from('y'));
  await once(stream, 'data');
  stream.end();
  const [end] = await once(stream, 'status');
  expect(end).toMatchObject({ code: status.OK });
  expect((await world.bind(server)).error).toBeNull();
  expect(await callServer(world.client())).toBe('OK');
});

it.each([
  ['unbind()', (server: XdsServer) => server.unbind(world.address)],
  ['tryShutdown()', (server: XdsServer) => server.tryShutdown(() => undefined)],
  ['forceShutdown()', (server: XdsServer) => server.forceShutdown()],
])(
  '%s is no change of the state to be notified of, and neither is what happens to the Listener after it',
  async (_name, end) => {
    world.serve([world.listener()]);
    const codes: number[] = [];
    const server = world.server();
    server.addServingStateListener(world.address, ({ code }) => codes.push(code));
    await world.bind(server);
    end(server);
    world.serve([]);
    expect(await world.connects()).toBe('refused');
    world.serve([world.listener()]);
    // By the time that another server is served, the first one would have been notified.
    const seen = world.states.length;
    const other = world.server({ onServingState: undefined });
    expect((await world.bind(other)).error).toBeNull();
    expect([seen, world.states, codes]).toEqual([
      1,
      [{ state: 'SERVING', error: undefined }],
      [status.OK],
    ]);
  },
);

it('unbind() of an address in the callback that bound it ends its use of the Listener', async () => {
  // Not usable.
  world.serve([
    { ...world.listener(), address: { socket_address: { address: '::', port_value: 1 } } },
  ]);
  const other = `127.0.0.1:${await freePort()}`;
  let hasBound = false;
  const server = world.server({
    onServingState() {
      server.bindAsync(other, ServerCredentials.createInsecure(), () => undefined);
      server.unbind(other);
      hasBound = true;
    },
  });
  void world.bind(server);
  await eventually(() => hasBound, true);
  const watched = inspect().targets.flatMap(({ resources }) => resources.map(({ name }) => name));
  expect(watched).toEqual([world.listenerName]);
});

it('shutdown() of the package stops listening', async () => {
  world.serve([world.listener()]);
  await world.bind(world.server());
  try {
    await shutdown();
    expect(await world.connects()).toBe('refused');
    const { error } = await world.bind(world.server());
    expect(error?.message).toContain('call register() before');
  } finally {
    registerAnew();
  }
});

it('an exception of a listener of the state is dropped', async () => {
  world.serve([world.listener()]);
  const codes: number[] = [];
  const server = world.server({
    onServingState() {
      throw new Error('on purpose');
    },
  });
  server.addServingStateListener(world.address, ({ code }) => codes.push(code));
  await world.bind(server);
  expect(codes).toEqual([status.OK]);
  world.serve([]);
  await eventually(() => codes.length > 1, true);
  expect(codes[1]).toBe(status.UNAVAILABLE);
});

it('tryShutdown() does not wait for clients that do not close their connections', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  const clock = new FastClock(20);
  // Nothing is read from a socket without a listener of data, not even its end.
  const silent = connect(world.port, '127.0.0.1');
  silent.on('error', () => undefined);
  await once(silent, 'connect');
  // The server accepts it in one of the next turns of the same event loop.
  expect(await callServer(world.client())).toBe('OK');
  await new Promise<Error | undefined>((resolve) => server.tryShutdown(resolve));
  clock.stop();
  silent.destroy();
});

it('connections in a handshake or without a call do not hold up a shutdown by force', async () => {
  world.serve([world.listener()]);
  const server = world.server();
  await world.bind(server);
  const client = world.client();
  expect(await callServer(client)).toBe('OK');
  server.forceShutdown();
  expect(await world.connects()).toBe('refused');
  await new Promise<Error | undefined>((resolve) => server.tryShutdown(resolve));
});

describe('options', () => {
  it('are checked: those of grpc-js have a dot in their names', () => {
    const create = (options: object) => () => new XdsServer(options);
    expect(create({ drainGraceTimeMs: -1 })).toThrow(
      'drainGraceTimeMs of new XdsServer() must be a number of milliseconds from 0',
    );
    expect(create({ onServingStates() {} })).toThrow('onServingState');
    expect(create({ interceptors: 1 })).toThrow('interceptors of new XdsServer() must be a list');
    expect(create({ interceptors: [1] })).toThrow(
      'interceptors[0] of new XdsServer() must be a function',
    );
    for (const none of [null, 1, 'x', true, () => undefined, Symbol('x'), ['x'], new Map()]) {
      expect(create(none as object)).toThrow('options of new XdsServer() must be');
    }
    expect(create({ 'grpc.max_concurrent_streams': 1 })).not.toThrow();
    expect(() => createXdsServerCredentials(Object(null))).toThrow('fallback');
  });

  it('listenerName overrides the template', async () => {
    const server = world.server({ listenerName: (address) => `mine/${address}` });
    world.serve([world.listener([serverChain()], { name: `mine/${world.address}` })]);
    expect((await world.bind(server)).error).toBeNull();
  });

  it.each<[string, Partial<BootstrapConfig>, XdsServerOptions]>([
    ['a template without %s', { server_listener_resource_name_template: 'mine' }, {}],
    ['an option that returns one name', {}, { listenerName: () => 'mine' }],
  ])('logs once that addresses have one Listener: %s', async (_what, bootstrap, options) => {
    const lines: string[] = [];
    registerAnew({ logger: { level: 'error', log: ({ message }) => lines.push(message) } });
    world.bootstrapExtra = bootstrap;
    world.serve([world.listener([serverChain()], { name: 'mine' })]);
    const server = world.server(options);
    await world.bind(server);
    const credentials = createXdsServerCredentials(ServerCredentials.createInsecure());
    const bind = (on: XdsServer, port: number) =>
      on.bindAsync(`127.0.0.1:${port}`, credentials, () => undefined);
    const about = () => lines.filter((line) => line.includes('also that of'));
    bind(world.server(options), world.port);
    expect(about()).toEqual([]);
    bind(world.server(options), 2);
    bind(server, 3);
    expect(about()).toEqual([
      `server 127.0.0.1:2: Listener "mine": also that of ${world.address}, and a Listener is for one address: give each a name of ` +
        'its own, by %s in server_listener_resource_name_template of the bootstrap or by the option listenerName',
    ]);
    registerAnew({});
  });
});

it('xDS credentials are the fallback on a plain server', async () => {
  const plain = new Server();
  const credentials = createXdsServerCredentials(ServerCredentials.createInsecure());
  const bound = await new Promise<number>((resolve) =>
    plain.bindAsync(world.address, credentials, (_error, port) => resolve(port)),
  );
  expect(bound).toBe(world.port);
  expect(await callServer(world.client(), { metadata: new Metadata() })).toMatch(/^UNIMPLEMENTED/);
  plain.forceShutdown();
});
