import { promisify } from 'node:util';
import {
  Client,
  credentials,
  Metadata,
  Server,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import { EchoClient, echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  Mesh,
  SERVICE,
  simpleResources,
  registerAnew,
  useMesh,
} from '../support/mesh';
import { SilentServer } from '../support/silent-server';
import { SlowServer } from '../support/slow-server';
import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { bind } from '../support/listen';

const TARGET = `xds:///${SERVICE}`;

/** How a call that is expected to fail is made. */
interface Attempt {
  readonly waitForReady?: boolean;
  readonly deadlineMs?: number;
  /** Called when the call is started. */
  readonly onStarted?: () => void;
}

/** An attempt in whose second half the process does nothing for a while. */
const blocking: Attempt = {
  deadlineMs: 1000,
  onStarted: () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    setTimeout(() => Atomics.wait(cell, 0, 0, 2000), 500);
  },
};
/** The end of a text that does not name the management server before. */
const CONFIGURED = String.raw`(?:; configured by management server \S+ \(node "test-node"\))?$`;
const BLOCKED = String.raw`; this process was blocked for \d+\.\d s${CONFIGURED}`;

/** Returns the error of a call that must fail. */
async function errorOf(call: Promise<string>): Promise<ServiceError> {
  const error = await call.then(
    (answer) => new Error(`The call was answered by ${answer}`),
    (reason: ServiceError) => reason,
  );
  if (!('metadata' in error)) throw error;
  return error;
}

/**
 * Makes the first call of a new channel until it fails with such a text: on a busy machine, a short deadline may pass
 * before the call waits for what the test is about.
 */
async function firstFailure(pattern: RegExp, attempt: Attempt = {}): Promise<string> {
  return (await firstError(pattern, attempt)).details;
}

function firstError(pattern: RegExp, attempt: Attempt): Promise<ServiceError> {
  const { waitForReady = false, deadlineMs = 250 } = attempt;
  return eventually(
    async () => {
      const client = new EchoClient(TARGET);
      try {
        const metadata = new Metadata({ waitForReady });
        const call = client.say({ deadlineMs, metadata });
        attempt.onStarted?.();
        const failure = await errorOf(call);
        expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
        return failure;
      } finally {
        client.close();
      }
    },
    (failure) => pattern.test(failure.details),
  );
}

const seconds = String.raw`\d+\.\d+`;
/** Matches texts that end with the given one, in which `#` stands for a number and `*` for anything. */
const ending = (text: string) =>
  new RegExp(
    `${text
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('#', seconds)
      .replaceAll('*', '.*')}${CONFIGURED}`,
  );

describe('the first call of a channel says at its deadline what it waited for', () => {
  const mesh = useMesh();
  const silent = new SilentServer();
  let silentPort = 0;

  beforeAll(async () => {
    silentPort = await silent.listen();
  });
  afterEach(() => {
    delete process.env.GRPC_XDS_BOOTSTRAP;
  });
  afterAll(() => silent.close());

  it('a block of this process, besides an endpoint that does not answer', async () => {
    const slow = new SlowServer();
    await slow.start();
    mesh.serve(simpleResources([slow.port]));
    await firstFailure(
      new RegExp(`remote_addr=.* has not answered the call: .*${BLOCKED}`),
      blocking,
    );
    slow.stop();
  });

  it('a block of this process, besides the management server', async () => {
    registerAnew({ bootstrap: bootstrapFor(`127.0.0.1:${silentPort}`) });
    await firstFailure(new RegExp(`connecting to management server .*${BLOCKED}`), blocking);
  });

  it('only the causes of its own target, and three at most', async () => {
    registerAnew({ bootstrap: bootstrapFor(mesh.address, []) });
    const clusters = ['a', 'b', 'c', 'd', 'e'];
    const routes = clusters.map((name) => ({
      ...routeToCluster(name),
      match: { path: `/test.Echo/${name}` },
    }));
    mesh.serve({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, routes)],
      clusters: clusters.map((name) => edsClusterJson(name)),
      endpoints: [],
    });
    const other = new EchoClient('xds:///other.test');
    const unanswered = other.failure({ deadlineMs: 60_000 }).catch(() => {});
    const details = await firstFailure(/ClusterLoadAssignment/);
    expect(details.match(/ClusterLoadAssignment "/g)).toHaveLength(3);
    expect(details).not.toContain('other.test');
    other.close();
    await unanswered;
  });
});

const routeTimeout = (duration: string): Json => ({
  max_stream_duration: { max_stream_duration: duration },
});

/** A server whose calls fail. */
class FailingServer {
  calls = 0;
  port = 0;
  private readonly server = new Server();

  async start(): Promise<void> {
    const say = (_call: object, callback: sendUnaryData<Buffer>) => {
      this.calls++;
      callback({ code: status.UNAVAILABLE, details: 'not now' });
    };
    this.server.addService({ say: echoMethod }, { say });
    this.port = await bind(this.server);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

/** A server that records the deadlines of its calls. */
class DeadlineServer {
  readonly received: number[] = [];
  port = 0;
  private readonly server = new Server();

  async start(): Promise<void> {
    const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      this.received.push(Number(call.getDeadline()));
      callback(null, Buffer.from(''));
    };
    this.server.addService({ say: echoMethod }, { say });
    this.port = await bind(this.server);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

describe('the timeout of the route of a first call', () => {
  const mesh = useMesh();
  const silent = new SilentServer();
  const slow = new SlowServer();
  const deadlines = new DeadlineServer();
  const failing = new FailingServer();

  beforeAll(() => Promise.all([slow.start(), deadlines.start(), failing.start()]));
  afterAll(() => {
    slow.stop();
    deadlines.stop();
    failing.stop();
    silent.close();
  });

  const serve = (port: number, extra: Json = {}) => {
    mesh.serve(simpleResources([port], { ...routeTimeout('0.25s'), ...extra }));
  };
  const patient: Attempt = { deadlineMs: 60_000 };
  const EXCEEDED = `Deadline exceeded after #s,timeout of the route,`;
  const stageOfSlow = () => {
    const address = `127.0.0.1:${slow.port}`;
    return `remote_addr=${address}; Cluster "echo": ${address} has not answered the call: see its log`;
  };

  it('ends a call that a server does not answer', async () => {
    serve(slow.port);
    await firstFailure(ending(`${EXCEEDED}${stageOfSlow()}`), patient);
  });

  it('ends a call before the next attempt at a server, and shows nothing of how', async () => {
    const retry_policy = {
      retry_on: 'unavailable',
      num_retries: 3,
      retry_back_off: { base_interval: '50s', max_interval: '50s' },
    };
    mesh.serve(simpleResources([failing.port], { ...routeTimeout('0.5s'), retry_policy }));
    const { details, metadata } = await firstError(
      /timeout of the route,Waiting for LB pick/,
      patient,
    );
    expect(details).not.toContain('remote_addr');
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual([]);
    expect(failing.calls).toBeGreaterThan(0);
  });

  it('is sent to the server', async () => {
    mesh.serve(simpleResources([deadlines.port], routeTimeout('60s')));
    const client = mesh.client();
    await client.say({ deadlineMs: Infinity });
    await client.say({ deadlineMs: Infinity });
    await client.say({ deadlineMs: 30_000 });
    const [first = 0, second = 0, third = 0] = deadlines.received;
    // Within the time that the test takes.
    expect(first).toBeLessThanOrEqual(second);
    expect(second).toBeLessThan(Infinity);
    expect(third).toBeLessThan(first);
  });

  it('does not prolong the deadline of the caller', async () => {
    mesh.serve(simpleResources([slow.port], routeTimeout('60s')));
    const details = await firstFailure(ending(stageOfSlow()));
    expect(details).not.toContain('timeout of the route');
    // The time of grpc-js for it is that in which the call waited for its route.
    expect(details).not.toContain('metadata filters');
  });
});

describe('the timeout of the route of a later call', () => {
  const mesh = useMesh();
  const silent = new SilentServer();
  const slow = new SlowServer();

  beforeAll(() => slow.start());
  afterAll(() => {
    slow.stop();
    silent.close();
  });

  const delayed: Json = {
    name: 'fault',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
      delay: { fixed_delay: '60s', percentage: { numerator: 100 } },
    },
  };
  const slowRetry = {
    retry_on: 'unavailable',
    num_retries: 3,
    retry_back_off: { base_interval: '50s', max_interval: '50s' },
  };

  interface LaterCall {
    readonly port: () => number | Promise<number>;
    readonly route?: Json;
    readonly filters?: readonly Json[];
    readonly waitForReady?: boolean;
    readonly ending: RegExp;
  }
  it.each<[string, LaterCall]>([
    ['a server does not answer', { port: () => slow.port, ending: /has not answered the call/ }],
    [
      'there is no connection',
      { port: () => silent.listen(), ending: /Waiting for LB pick; Cluster "echo": / },
    ],
    [
      'it waits for ready',
      { port: () => 1, waitForReady: true, ending: /Waiting for LB pick; Cluster "echo": / },
    ],
    [
      'the next attempt would be later',
      { port: () => 1, route: { retry_policy: slowRetry }, ending: /Waiting for LB pick/ },
    ],
    [
      'a filter delays it',
      { port: () => slow.port, filters: [delayed, routerFilter], ending: /delays the call/ },
    ],
  ])('is in the status if %s', async (_what, { port, route = {}, filters, ...call }) => {
    const resources = simpleResources([await port()], { ...routeTimeout('0.25s'), ...route });
    mesh.serve({
      ...resources,
      ...(filters && { listeners: [listenerJson(SERVICE, undefined, { http_filters: filters })] }),
    });
    const client = mesh.client();
    const metadata = new Metadata({ waitForReady: call.waitForReady ?? false });
    for (let count = 0; count < 3; count++) {
      const failure = await client.failure({ metadata });
      expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
      expect(failure.details).toMatch(/^Deadline exceeded after [\d.]+s,timeout of the route,/);
      expect(failure.details).toMatch(call.ending);
    }
  });

  it('is not in the status if the deadline of the caller has passed', async () => {
    mesh.serve(simpleResources([slow.port], routeTimeout('60s')));
    const client = mesh.client();
    await client.failure({ deadlineMs: 500 });
    const { details } = await client.failure({ deadlineMs: 100 });
    expect(details).toMatch(/^Deadline exceeded after/);
    expect(details).not.toContain('timeout of the route');
  });
});

describe('a channel without calls', () => {
  it('connects when the application waits for it, with a policy that connects on demand', async () => {
    const mesh = await Mesh.start();
    const backend = await mesh.backend('b1');
    const clusters = [edsClusterJson('echo', { lb_policy: 'RING_HASH' })];
    mesh.serve({ ...simpleResources([backend.port]), clusters });
    const client = new Client(TARGET, credentials.createInsecure());
    await promisify(client.waitForReady.bind(client))(Date.now() + 25_000);
    client.close();
    mesh.stop();
  });
});
