import { inspect, type LogRecord } from '../../src';
import type { Handle } from '../../src/util/handle';
import { eventually } from '../support/eventually';
import { FastClock, skipTime, speedTime } from '../support/fast-clock';
import { bootstrapFor, Mesh, NODE_ID, simpleResources, registerAnew } from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import { edsClusterJson } from '../support/xds-json';
import type { EchoClient } from '../support/echo-backend';
import { EchoBackend } from '../support/echo-backend';

const LOCALITY = '{region="test", zone="a", sub_zone=""}';

describe('the log at the level of errors, with recoveries', () => {
  const records: LogRecord[] = [];
  const logger = { level: 'error', log: (record: LogRecord) => void records.push(record) } as const;
  const clients: EchoClient[] = [];
  let mesh: Mesh;

  const untilLogged = (event: string) =>
    eventually(
      () => records.find((record) => record.event === event),
      (record) => record !== undefined,
    );
  const connect = (target?: string) => {
    const client = mesh.client({}, target);
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    records.length = 0;
    // Lines of one cause are limited: those of the tests before are long ago.
    skipTime(60_000);
    mesh = await Mesh.start();
    registerAnew({ bootstrap: bootstrapFor(mesh.address), logger, recoveryLevel: 'error' });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    mesh.stop();
    registerAnew({});
  });

  it('shows that all endpoints of a cluster fail, with cause and address, and that one is back', async () => {
    const backend = new EchoBackend('b1');
    await backend.listen();
    const { port } = backend;
    backend.stop();
    mesh.serve(simpleResources([port]));
    const client = connect();
    await client.failure();
    await client.failure();
    await backend.listen();
    await eventually(() => client.say().catch(() => ''), 'b1');
    await untilLogged('cluster-recovered');
    backend.stop();
    expect(records).toMatchObject([
      {
        level: 'error',
        event: 'cluster-failed',
        cluster: 'echo',
        message:
          'Cluster "echo": No connection established. Last error: connect ECONNREFUSED ' +
          `(127.0.0.1:${port} in ${LOCALITY}): check that a server listens there. Resolution note: management server ${mesh.address} (node "${NODE_ID}")`,
      },
      { level: 'error', event: 'cluster-recovered', cluster: 'echo' },
    ]);
  });

  it('shows a locality without a weight, whose endpoints are not used', async () => {
    const [assignment] = simpleResources([1]).endpoints;
    const lb_endpoints = [
      { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: 1 } } } },
    ];
    const endpoints = [{ ...assignment, endpoints: [{ locality: { zone: 'a' }, lb_endpoints }] }];
    mesh.serve({ ...simpleResources([1]), endpoints });
    const { details } = await connect().failure();
    const slip = '1 locality has no load_balancing_weight, so its endpoints are not used: set it';
    expect(details).toContain(`Cluster "echo" has no endpoints`);
    expect(details).toContain(`Resolution note: ${slip}; `);
    expect(records.filter(({ message }) => message.endsWith(slip))).toHaveLength(1);
  });

  it('shows a resource that does not exist, and that it does', async () => {
    // The incremental variant says so at once.
    registerAnew({
      bootstrap: bootstrapFor(mesh.address, ['grpc_xds_delta']),
      logger,
      recoveryLevel: 'error',
    });
    mesh.serve({ ...simpleResources([1]), listeners: [] });
    await connect().failure();
    mesh.serve(simpleResources([1]));
    await untilLogged('config-recovered');
    const [failed, recovered] = records;
    expect(failed?.message).toMatch(/no such resource: .* does not have it: check the name, and/);
    expect([failed?.event, recovered?.event]).toEqual(['config-failed', 'config-recovered']);
    expect([failed?.level, recovered?.level]).toEqual(['error', 'error']);
  });

  it('shows more as soon as the level is another one, and less again', async () => {
    const application = { ...logger, level: 'error' as 'error' | 'info' };
    registerAnew({ bootstrap: bootstrapFor(mesh.address), logger: application });
    const serveTimeout = (seconds: number) => {
      // A field without effect on gRPC clients, in another version each time.
      const clusters = [edsClusterJson('echo', { connect_timeout: `${seconds}s` })];
      mesh.serve({ ...simpleResources([1]), clusters });
    };
    const untilApplied = (seconds: number) =>
      eventually(
        () => JSON.stringify(inspect({ contents: true })),
        (text) => text.includes(`"${seconds}s"`),
      );
    const shown = () => records.filter(({ event }) => event === 'fields-unused').length;
    serveTimeout(1);
    await connect().failure();
    await untilApplied(1);
    expect(shown()).toBe(0);
    application.level = 'info';
    serveTimeout(2);
    await untilApplied(2);
    expect(shown()).toBe(1);
    application.level = 'error';
    serveTimeout(3);
    await untilApplied(3);
    expect(shown()).toBe(1);
  });

  it('shows that the control plane is down, and that it answers again', async () => {
    mesh.serve(simpleResources([1]));
    mesh.killControlPlane();
    const client = connect();
    const { details } = await client.failure();
    expect(details).toMatch(
      / cannot be reached: .*: check that a server listens there \(failing since /,
    );
    await mesh.restartControlPlane(simpleResources([1]));
    await untilLogged('server-recovered');
    await untilLogged('config-recovered');
    const target = expect.stringMatching(/^xds:/) as unknown;
    expect(records.slice(0, 3)).toMatchObject([
      { event: 'server-failed', serverUri: mesh.address, nodeId: NODE_ID },
      { event: 'server-recovered', serverUri: mesh.address, nodeId: NODE_ID },
      { event: 'config-recovered', target },
    ]);
  });

  it('has one line for the failed server of twenty targets', async () => {
    mesh.killControlPlane();
    const targets = Array.from({ length: 20 }, (_, at) => `xds:///target-${at}`);
    await Promise.all(targets.map((target) => connect(target).failure()));
    expect(records.map(({ event }) => event)).toEqual(['server-failed']);
  });

  it('does not show recoveries, unless their level is that of errors', async () => {
    registerAnew({ bootstrap: bootstrapFor(mesh.address), logger });
    mesh.killControlPlane();
    const client = connect();
    await client.failure();
    const backend = await mesh.backend('b1');
    await mesh.restartControlPlane(simpleResources([backend.port]));
    await eventually(() => client.say().catch(() => ''), 'b1');
    expect(records.map(({ event }) => event)).toEqual(['server-failed']);
  });

  describe('after some time, in a tenth of it', () => {
    let clock: FastClock;
    let time: Handle;
    beforeEach(() => {
      clock = new FastClock(10);
      time = speedTime(10);
    });
    afterEach(() => {
      time.release();
      clock.stop();
    });

    /** The first time in the message is as long as the wait before it. */
    const expectAfter5s = (message: string | undefined) => {
      const [, seconds] = /(\d+\.\d) s\b/.exec(message ?? '') ?? [];
      expect(Number(seconds)).toBeGreaterThanOrEqual(5);
    };

    it('shows endpoints that fail while others are used, and that none does any more', async () => {
      const backends = [
        await mesh.backend('b1'),
        await mesh.backend('b2'),
        await mesh.backend('b3'),
      ];
      const [first, second, third] = backends;
      if (first === undefined || second === undefined || third === undefined) throw new Error();
      mesh.serve(simpleResources([first.port, second.port, third.port]));
      const client = connect();
      await client.say();
      second.stop();
      third.stop();
      const { message, ...fields } = (await untilLogged('endpoints-failed')) ?? {};
      expect(message).toMatch(
        new RegExp(
          '^Cluster "echo": [12] of 3 endpoints failing for \\d+\\.\\d s: connect ECONNREFUSED ' +
            '\\(127\\.0\\.0\\.1:.*; first in .*\\): check that a server listens there$',
        ),
      );
      expect(fields).toMatchObject({ level: 'error', cluster: 'echo', locality: LOCALITY });
      await Promise.all([second.listen(), third.listen()]);
      const recovered = await untilLogged('endpoints-recovered');
      expect(recovered?.level).toBe('error');
      expect(records.filter(({ event }) => event === 'endpoints-recovered')).toHaveLength(1);
    }, 60_000);

    it('shows a resource that is not sent for 5 s, and that it is received', async () => {
      registerAnew({ bootstrap: bootstrapFor(mesh.address, []), logger, recoveryLevel: 'error' });
      mesh.serve({ ...simpleResources([1]), clusters: [] });
      const ended = connect()
        .failure({ deadlineMs: 60_000 })
        .catch(() => {});
      const waiting = await untilLogged('resource-waiting');
      expectAfter5s(waiting?.message);
      expect(waiting?.message).toMatch(
        /^Cluster "echo": waiting for .* has not sent it: check the/,
      );
      mesh.serve(simpleResources([1]));
      const received = await untilLogged('resource-received');
      expect(received).toMatchObject({ level: 'error', name: 'echo' });
      await ended;
    }, 30_000);

    it.each(['a silent endpoint', 'a management server that says nothing'] as const)(
      'shows %s after 5 s',
      async (name) => {
        const silent = new SilentServer();
        const port = await silent.listen();
        const isEndpoint = name === 'a silent endpoint';
        if (isEndpoint) mesh.serve(simpleResources([port]));
        else registerAnew({ bootstrap: bootstrapFor(`127.0.0.1:${port}`), logger });
        const client = connect();
        const ended = client.failure({ deadlineMs: 60_000 }).catch(() => {});
        const record = await untilLogged(isEndpoint ? 'cluster-connecting' : 'resource-waiting');
        expectAfter5s(record?.message);
        expect(record?.message).toMatch(
          isEndpoint
            ? new RegExp(
                `^Cluster "echo": no endpoint is connected \\(1 of 1 connecting\\); ` +
                  `127.0.0.1:${port} in .* has been connecting for \\d+\\.\\d s: check the network`,
              )
            : new RegExp(`^Listener ".*": waiting for \\d+\\.\\d s: connecting to .*:${port} `),
        );
        client.close();
        silent.close();
        await ended;
      },
      30_000,
    );
  });
});

describe('register({ logger })', () => {
  it.each([null, 'console', {}, { log: 'error' }])('refuses %j', (logger) => {
    // What plain JavaScript may pass.
    const options = { logger } as unknown as Parameters<typeof registerAnew>[0];
    expect(() => registerAnew(options)).toThrow(
      'grpc-xds: logger of register() must be an object with the method log, or with the methods error and info, not ',
    );
  });
});
