import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { TimeSlices } from '../../src/util/time-slices';
import {
  Client,
  credentials,
  experimental,
  Metadata,
  Server,
  status,
  type CallOptions,
  type ClientUnaryCall,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import {
  ConnectivityState,
  PickResultType,
  type ChannelOptions,
  type LbHelper,
  type LoadBalancer,
  type Picker,
  type PickResult,
  type Subchannel,
  type TypedLoadBalancingConfig,
} from '../../src/grpc-js';
import { CLUSTER_MANAGER, ClusterManagerConfig } from '../../src/lb/cluster-manager/config';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { LiveResolutions } from '../../src/resolver/resolver-dependencies';
import { registerXdsResolver } from '../../src/resolver/xds-scheme';
import { XdsResolver } from '../../src/resolver/xds-resolver';
import type { RetryPolicy } from '../../src/resources/route-config/route-config';
import {
  CertificateProviderRegistry,
  CertificateProviders,
} from '../../src/security/providers/certificate-providers';
import { systemClock } from '../../src/util/clock';
import { silentLogger } from '../../src/util/logger';
import { ok } from '../../src/util/result';
import { echoMethod } from '../support/echo-backend';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes } from '../support/fake-resource-source';
import {
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  routeConfig,
  virtualHost,
} from '../support/xds-builders';
import { bind } from '../support/listen';

// How calls end is up to the real channel. Here it works with the real resolver, over a scripted client
// below and a scripted load-balancing policy above, which records what config it is given.

type Pick = 'queue' | 'drop' | 'fail' | 'complete';

const failure = { code: status.UNAVAILABLE, details: 'as told', metadata: new Metadata() };
const nothing = { subchannel: null, status: null, onCallStarted: null, onCallEnded: null };

/** The policy of the one channel there is. */
let policy: ScriptedPolicy | undefined;
let backendPort = 0;

function setPolicy(made: ScriptedPolicy): void {
  policy = made;
}

class ScriptedConfig implements TypedLoadBalancingConfig {
  constructor(readonly children: readonly string[]) {}

  getLoadBalancerName(): string {
    return CLUSTER_MANAGER;
  }

  toJsonObject(): object {
    return {};
  }

  static createFromJson(config: unknown): ScriptedConfig {
    if (!(config instanceof ClusterManagerConfig)) throw new Error('That is no config of ours');
    return new ScriptedConfig([...config.children.keys()].sort());
  }
}

class ScriptedPolicy implements LoadBalancer, Picker {
  children: readonly string[] = [];
  /** What picks come to. */
  mode: Pick = 'queue';
  picks = 0;
  private subchannel: Subchannel | undefined;

  constructor(private readonly helper: LbHelper) {
    setPolicy(this);
  }

  updateAddressList(
    _endpoints: unknown,
    config: TypedLoadBalancingConfig,
    options: ChannelOptions,
  ): boolean {
    if (config instanceof ScriptedConfig) this.children = config.children;
    this.subchannel ??= this.connect(options);
    this.publish();
    return true;
  }

  publish(): void {
    this.helper.updateState(ConnectivityState.READY, this, null);
  }

  pick(): PickResult {
    this.picks++;
    const { mode } = this;
    const isConnected = this.subchannel?.getConnectivityState() === ConnectivityState.READY;
    if (mode === 'queue' || (mode === 'complete' && !isConnected)) {
      return { ...nothing, pickResultType: PickResultType.QUEUE };
    }
    if (mode === 'drop') {
      return { ...nothing, pickResultType: PickResultType.DROP, status: failure };
    }
    if (mode === 'fail') {
      return { ...nothing, pickResultType: PickResultType.TRANSIENT_FAILURE, status: failure };
    }
    const subchannel = this.subchannel ?? null;
    return { ...nothing, pickResultType: PickResultType.COMPLETE, subchannel };
  }

  exitIdle(): void {}

  resetBackoff(): void {}

  destroy(): void {
    this.subchannel?.unref();
  }

  getTypeName(): string {
    return CLUSTER_MANAGER;
  }

  private connect(options: ChannelOptions): Subchannel {
    const address = { host: '127.0.0.1', port: backendPort };
    const subchannel = this.helper.createSubchannel(address, options);
    subchannel.ref();
    subchannel.addConnectivityStateListener(() => this.publish());
    subchannel.startConnecting();
    return subchannel;
  }
}

const retryPolicy: RetryPolicy = {
  retryOn: ['unavailable'],
  maxAttempts: 3,
  baseIntervalMs: 1,
  maxIntervalMs: 1,
};

class Scene {
  readonly source = new FakeResourceSource();
  private readonly client: Client;
  readonly errors: (ServiceError | null)[] = [];

  constructor(retries?: RetryPolicy) {
    const dependencies = {
      loadBootstrap: () =>
        ok({
          source: 'the test',
          servers: [],
          node: { id: 'n1', cluster: '', locality: undefined, metadata: undefined },
          authorities: new Map(),
          clientDefaultListenerResourceNameTemplate: '%s',
          certificateProviders: new Map(),
        }),
      acquireClient: () => ({ client: this.source, release: () => {} }),
      types: fakeTypes,
      httpFilters: new HttpFilterRegistry([]),
      hash: () => undefined,
      meter: new MatchMeter(DEFAULT_LIMITS, silentLogger),
      liveResolutions: new LiveResolutions(),
      timeSlices: new TimeSlices(systemClock),
      certificates: new CertificateProviders({
        types: new CertificateProviderRegistry(),
        clock: systemClock,
        logger: silentLogger,
      }),
      createDns: () => new FakeDns(),
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      limits: DEFAULT_LIMITS,
    };
    registerXdsResolver((...args) => new XdsResolver(...args, dependencies));
    this.source.serve(fakeTypes.listener, 'svc', listener('svc'));
    for (const name of ['a', 'b']) {
      this.source.serve(fakeTypes.cluster, name, edsCluster(name));
      this.source.serve(fakeTypes.endpoints, name, endpoints(name, '127.0.0.1'));
    }
    this.routeTo('a', retries);
    this.client = new Client('xds:///svc', credentials.createInsecure());
  }

  routeTo(cluster: string, retries?: RetryPolicy): void {
    const forward = route(forwardTo(cluster, { retryPolicy: retries }));
    const config = routeConfig('svc-routes', virtualHost([forward]));
    this.source.serve(fakeTypes.routeConfig, 'svc-routes', config);
  }

  call(options: CallOptions = {}): ClientUnaryCall {
    const same = (buffer: Buffer) => buffer;
    return this.client.makeUnaryRequest(
      echoMethod.path,
      same,
      same,
      Buffer.from('hello'),
      new Metadata(),
      options,
      (error) => this.errors.push(error),
    );
  }

  /** Makes the policy decide from now on, also about the calls that wait for it. */
  setMode(mode: Pick): void {
    const { policy: current } = this;
    current.mode = mode;
    current.publish();
  }

  get policy(): ScriptedPolicy {
    if (policy === undefined) throw new Error('There is no policy yet');
    return policy;
  }

  get children(): readonly string[] {
    return this.policy.children;
  }

  close(): void {
    this.client.close();
  }
}

const HOUR_MS = 3_600_000;

/** Holds the timers of long deadlines until `come()`: a slow machine changes nothing. */
function heldDeadlines(): { readonly come: () => void } {
  const waiting: (() => void)[] = [];
  const { setTimeout: original } = globalThis;
  const setTimer = (callback: () => void, ms?: number) => {
    if (ms === undefined || ms < HOUR_MS / 2) return original(callback, ms);
    waiting.push(callback);
    return original(() => {}, 0);
  };
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(setTimer);
  return { come: () => waiting.forEach((callback) => callback()) };
}

const isPicking = () => policy !== undefined && policy.picks > 0;

/** Waits until it is so, or fails with what `actual` gives in the end. */
async function until<T>(actual: () => T, expected: T): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (JSON.stringify(actual()) !== JSON.stringify(expected) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(actual()).toEqual(expected);
}

describe('A cluster that a call was sent to leaves the load-balancing config', () => {
  let server: Server;
  let scene: Scene;
  /** What the server does with a call. */
  let answer: 'ok' | 'unavailable' | 'none' = 'ok';
  let served = 0;

  beforeAll(async () => {
    experimental.registerLoadBalancerType(CLUSTER_MANAGER, ScriptedPolicy, ScriptedConfig);
    server = new Server();
    const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      served++;
      if (answer === 'ok') callback(null, call.request);
      if (answer === 'unavailable') callback({ code: status.UNAVAILABLE, details: 'not now' });
    };
    server.addService({ say: echoMethod }, { say });
    backendPort = await bind(server);
  });

  beforeEach(() => {
    policy = undefined;
    answer = 'ok';
    served = 0;
  });

  afterEach(() => {
    jest.restoreAllMocks();
    scene.close();
  });

  afterAll(() => server.forceShutdown());

  /** Makes a call that waits for its pick, and takes its cluster out of the routes. */
  async function queued(retries?: RetryPolicy, options: CallOptions = {}) {
    scene = new Scene(retries);
    const call = scene.call(options);
    await until(isPicking, true);
    scene.routeTo('b');
    expect(scene.children).toEqual(['cluster:a', 'cluster:b']);
    return call;
  }

  const left = () => until(() => scene.children, ['cluster:b']);
  const ended = (...codes: readonly (number | undefined)[]) =>
    until(() => scene.errors.map((error) => error?.code), [...codes]);

  it('when it has been answered', async () => {
    await queued();
    scene.setMode('complete');
    await left();
    await ended(undefined);
  });

  it('when it was answered before the cluster was removed from the routes', async () => {
    scene = new Scene();
    scene.call();
    await until(isPicking, true);
    scene.setMode('complete');
    await ended(undefined);
    scene.routeTo('b');
    expect(scene.children).toEqual(['cluster:b']);
  });

  it.each([
    ['drop', undefined],
    ['fail', undefined],
    ['drop', retryPolicy],
    ['fail', retryPolicy],
  ] as const)('when its pick comes to: %s (retries: %j)', async (mode, retries) => {
    await queued(retries);
    scene.setMode(mode);
    await left();
    await ended(status.UNAVAILABLE);
  });

  it.each([[undefined], [retryPolicy]])(
    'when it is cancelled while it waits for its pick (retries: %j)',
    async (retries) => {
      const call = await queued(retries);
      call.cancel();
      await left();
      await ended(status.CANCELLED);
    },
  );

  it.each([[undefined], [retryPolicy]])(
    'when its deadline comes while it waits for its pick (retries: %j)',
    async (retries) => {
      const deadlines = heldDeadlines();
      await queued(retries, { deadline: Date.now() + HOUR_MS });
      deadlines.come();
      await left();
      await ended(status.DEADLINE_EXCEEDED);
    },
  );

  it.each([[undefined], [retryPolicy]])(
    'when it is cancelled while the server works on it (retries: %j)',
    async (retries) => {
      const call = await queued(retries);
      answer = 'none';
      scene.setMode('complete');
      await until(() => served, 1);
      call.cancel();
      await left();
      await ended(status.CANCELLED);
    },
  );

  it('when all its attempts have failed', async () => {
    await queued(retryPolicy);
    answer = 'unavailable';
    scene.setMode('complete');
    await left();
    await ended(status.UNAVAILABLE);
    expect(served).toBe(3);
  });

  it('when it is cancelled while it waits to be tried again', async () => {
    const slow = { ...retryPolicy, baseIntervalMs: 60_000, maxIntervalMs: 60_000 };
    const call = await queued(slow);
    answer = 'unavailable';
    scene.setMode('complete');
    await until(() => served, 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(scene.children).toEqual(['cluster:a', 'cluster:b']);
    call.cancel();
    await left();
    await ended(status.CANCELLED);
  });

  it.each([[undefined], [retryPolicy]])(
    'when it was cancelled before it could be sent (retries: %j)',
    async (retries) => {
      scene = new Scene(retries);
      scene.call();
      await until(isPicking, true);
      scene.setMode('drop');
      await ended(status.UNAVAILABLE);
      scene.setMode('queue');
      scene.call().cancel();
      scene.call({ deadline: Date.now() - 1 });
      await ended(status.UNAVAILABLE, status.CANCELLED, status.DEADLINE_EXCEEDED);
      scene.routeTo('b');
      await left();
    },
  );
});
