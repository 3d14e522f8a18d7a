import { Client, credentials, Metadata, status, type ClientUnaryCall } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterKind } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE } from '../support/mesh';
import { unaryMethod, UrlMapBackend } from '../support/url-map-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  type Json,
} from '../support/xds-json';
import { SilentServer } from '../support/silent-server';

// What a call holds: its cluster, a place among the concurrent requests of the cluster, and a place among the
// active faults. Ends of every kind are tried very often; one call that keeps something would be seen.

jest.setTimeout(300_000);

/** For a long run: `CALLS=10000`. */
const CALLS = Number(process.env['CALLS'] ?? 200);
const BATCH = Math.min(CALLS, 500);

/** A server hangs up on a connection after 1,000 resets in a row, so the cancelled calls share several. */
const BACKENDS = 12;

const FAULT = 'envoy.filters.http.fault';
const FAULT_TYPE = 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault';

const always = { numerator: 100, denominator: 'HUNDRED' };
const longDelay = { fixed_delay: '600s', percentage: always };
const { path, requestSerialize, responseDeserialize } = unaryMethod;

/** What the control plane says; all calls go to one cluster. */
interface Config {
  readonly cluster?: 'a' | 'b';
  /** A fault for every call. */
  readonly fault?: Json;
  readonly retryPolicy?: Json;
  /** Concurrent requests that cluster `a` allows. */
  readonly maxRequests?: number;
  /** Whether cluster `a` has the silent server for its endpoint. */
  readonly isSilent?: boolean;
}

interface RunningCall {
  readonly call: ClientUnaryCall;
  readonly ended: Promise<{ code: status; details: string }>;
}

interface CallOptions {
  readonly behavior?: string;
  readonly deadlineMs?: number;
}

class Scene {
  private readonly client = new Client(`xds:///${SERVICE}`, credentials.createInsecure());

  private constructor(
    private readonly mesh: Mesh,
    private readonly backends: readonly UrlMapBackend[],
    private readonly silent: SilentServer,
    private readonly silentPort: number,
  ) {}

  static async start(): Promise<Scene> {
    const silent = new SilentServer();
    const starting = Array.from({ length: BACKENDS }, (_, i) => UrlMapBackend.start(`b${i}`));
    return new Scene(
      await Mesh.start(),
      await Promise.all(starting),
      silent,
      await silent.listen(),
    );
  }

  /** Calls that have reached a backend, each attempt counted. */
  get attempts(): number {
    return this.backends.reduce((sum, { calls }) => sum + calls, 0);
  }

  get subscribedClusters(): readonly string[] {
    const [client] = this.mesh.controlPlane.clients();
    return client?.types.get(clusterKind.typeUrl)?.subscribed ?? [];
  }

  /** Serves a config and waits until the client has accepted it. */
  async serve(config: Config): Promise<void> {
    this.mesh.serve(this.resourcesOf(config));
    await eventually(
      () => this.mesh.controlPlane.clients()[0]?.types ?? new Map<string, never>(),
      (types) =>
        types.size === 4 &&
        [...types.values()].every((type) => type.ackedVersion === type.sentVersion),
    );
  }

  start({ behavior, deadlineMs }: CallOptions = {}): RunningCall {
    const { promise, resolve } = createDeferred<{ code: status; details: string }>();
    const headers = new Metadata();
    if (behavior !== undefined) headers.set('rpc-behavior', behavior);
    const call = this.client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.alloc(0),
      headers,
      deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
      (error) => resolve(error ?? { code: status.OK, details: '' }),
    );
    return { call, ended: promise };
  }

  stop(): void {
    this.client.close();
    for (const backend of this.backends) backend.stop();
    this.silent.close();
    this.mesh.stop();
  }

  private resourcesOf({ cluster = 'a', fault, retryPolicy, maxRequests, isSilent }: Config) {
    const ports = this.backends.map(({ port }) => port);
    const route: Json = {
      match: { prefix: '' },
      route: { cluster, ...(retryPolicy && { retry_policy: retryPolicy }) },
      ...(fault && { typed_per_filter_config: { [FAULT]: { '@type': FAULT_TYPE, ...fault } } }),
    };
    const thresholds = maxRequests === undefined ? [] : [{ max_requests: maxRequests }];
    const faultFilter = { name: FAULT, typed_config: { '@type': FAULT_TYPE } };
    return {
      listeners: [listenerJson(SERVICE, 'routes', { http_filters: [faultFilter, routerFilter] })],
      routes: [routeConfigJson('routes', [route])],
      clusters: [edsClusterJson('a', { circuit_breakers: { thresholds } }), edsClusterJson('b')],
      endpoints: [
        endpointsJson('a', [{ zone: 'z', ports: isSilent ? [this.silentPort] : ports }]),
        endpointsJson('b', [{ zone: 'z', ports }]),
      ],
    };
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function createDeferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** A way for calls to end. */
interface Kind {
  readonly name: string;
  readonly config: Config;
  readonly options?: CallOptions;
  /** What the application does to calls that it has started. */
  readonly meddle?: (calls: readonly RunningCall[], scene: Scene) => Promise<void>;
  readonly code: status;
  /** How often each reaches a backend. */
  readonly attempts: 0 | 1;
}

const cancelAll = (calls: readonly RunningCall[]) => {
  for (const { call } of calls) call.cancel();
};

const isSilent = true;
const kinds: readonly Kind[] = [
  { name: 'is answered', config: {}, code: status.OK, attempts: 1 },
  {
    name: 'is failed by the server',
    config: {},
    options: { behavior: 'error-code-9' },
    code: status.FAILED_PRECONDITION,
    attempts: 1,
  },
  {
    name: 'is aborted by a filter',
    config: { fault: { abort: { grpc_status: status.ABORTED, percentage: always } } },
    code: status.ABORTED,
    attempts: 0,
  },
  {
    name: 'is cancelled while a filter holds it back',
    config: { fault: { delay: longDelay } },
    meddle: async (calls) => {
      await sleep(1);
      cancelAll(calls);
    },
    code: status.CANCELLED,
    attempts: 0,
  },
  {
    name: 'is overtaken by its deadline while a filter holds it back',
    config: { fault: { delay: longDelay } },
    options: { deadlineMs: 5 },
    code: status.DEADLINE_EXCEEDED,
    attempts: 0,
  },
  {
    name: 'is overtaken by its deadline while it waits for a connection',
    config: { isSilent },
    options: { deadlineMs: 5 },
    code: status.DEADLINE_EXCEEDED,
    attempts: 0,
  },
  {
    name: 'is cancelled while it waits for a connection',
    config: { isSilent },
    meddle: async (calls) => {
      await sleep(1);
      cancelAll(calls);
    },
    code: status.CANCELLED,
    attempts: 0,
  },
  {
    name: 'is cancelled as soon as it was made',
    config: { isSilent },
    meddle: async (calls) => cancelAll(calls),
    code: status.CANCELLED,
    attempts: 0,
  },
  {
    name: 'is cancelled while the server works on it',
    config: {},
    options: { behavior: 'keep-open' },
    meddle: async (calls, scene) => {
      const { attempts } = scene;
      await eventually(() => scene.attempts - attempts, calls.length);
      cancelAll(calls);
    },
    code: status.CANCELLED,
    attempts: 1,
  },
  {
    name: 'is cancelled while it waits to be tried again',
    config: {
      retryPolicy: { retry_on: 'unavailable', retry_back_off: { base_interval: '600s' } },
    },
    options: { behavior: 'error-code-14' },
    meddle: async (calls, scene) => {
      const { attempts } = scene;
      await eventually(() => scene.attempts - attempts, calls.length);
      // Until the answers are here.
      await sleep(10);
      cancelAll(calls);
    },
    code: status.CANCELLED,
    attempts: 1,
  },
];

/** Ends calls, many at a time. @returns how many have ended with each status. */
async function endCalls(scene: Scene, { options, meddle }: Kind): Promise<Map<status, number>> {
  const codes = new Map<status, number>();
  for (let made = 0; made < CALLS; made += BATCH) {
    const calls = Array.from({ length: BATCH }, () => scene.start(options));
    await meddle?.(calls, scene);
    for (const { ended } of calls) {
      const { code } = await ended;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
  }
  return codes;
}

describe(`a call holds on to nothing, ${CALLS} times out of ${CALLS}, when it`, () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.start();
    const first = scene.start();
    await scene.serve({});
    expect((await first.ended).code).toBe(status.OK);
  });
  afterEach(() => scene.stop());

  it.each(kinds)('$name', async (kind) => {
    await scene.serve(kind.config);
    const before = scene.attempts;
    expect(await endCalls(scene, kind)).toEqual(new Map([[kind.code, CALLS]]));
    expect(scene.attempts - before).toBe(CALLS * kind.attempts);
    await expectNoHolds(kind.config);
    await expectNoRequests();
    await expectNoFaults();
  });

  /** The cluster goes once it is not routed to any more, even if calls to it could still not be sent. */
  async function expectNoHolds(config: Config): Promise<void> {
    await scene.serve({ ...config, cluster: 'b' });
    await untilOnlyCluster('b');
  }

  /** Until then, calls may still go by the config before. */
  async function untilOnlyCluster(name: string): Promise<void> {
    await eventually(
      () => scene.subscribedClusters,
      (clusters) => clusters.join() === name,
      60_000,
    );
  }

  /** The one place that there is can be taken, and is free again afterwards. */
  async function expectNoRequests(): Promise<void> {
    await scene.serve({ maxRequests: 1 });
    await untilOnlyCluster('a');
    const { attempts } = scene;
    const first = scene.start({ behavior: 'keep-open' });
    await Promise.race([
      first.ended,
      eventually(
        () => scene.attempts,
        (now) => now > attempts,
      ),
    ]);
    expect(scene.attempts).toBe(attempts + 1);
    const overLimit =
      'Cluster "a" has reached its limit of 1 concurrent requests: see max_requests of its circuit breakers';
    const second = await scene.start().ended;
    expect(second).toMatchObject({ code: status.UNAVAILABLE });
    expect(second.details).toContain(overLimit);
    first.call.cancel();
    await first.ended;
    expect((await scene.start().ended).code).toBe(status.OK);
  }

  /** Of two calls, the one place goes to the first, which is held back; each time anew. */
  async function expectNoFaults(): Promise<void> {
    await scene.serve({ fault: { delay: longDelay, max_active_faults: 1 } });
    for (let round = 0; round < 2; round++) {
      const { attempts } = scene;
      const held = scene.start();
      expect((await scene.start().ended).code).toBe(status.OK);
      expect(scene.attempts).toBe(attempts + 1);
      held.call.cancel();
      expect((await held.ended).code).toBe(status.CANCELLED);
    }
  }
});
