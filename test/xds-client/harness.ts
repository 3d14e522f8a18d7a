import type { AuthorityConfig, Bootstrap, ServerConfig } from '../../src/bootstrap/bootstrap';
import type { Handle } from '../../src/util/handle';
import type { Logger } from '../../src/util/logger';
import type { Result } from '../../src/util/result';
import type { CachedResource } from '../../src/xds-client/ads/read-response';
import { createBudgets, type Budgets } from '../../src/xds-client/budgets';
import type { ClientEvents } from '../../src/xds-client/client-snapshot';
import type { Accepted } from '../../src/xds-client/resource-state';
import type { ResourceWatcher, WatchError } from '../../src/xds-client/resource-watcher';
import { ManagementServers } from '../../src/xds-client/management-servers';
import { XdsClient, type XdsClientOptions } from '../../src/xds-client/xds-client';
import { FakeClock } from '../support/fake-clock';
import type { Random } from '../../src/util/random';
import { FakeNetwork, type FakeServer, type FakeStream } from '../support/fake-transport';
import { withoutSince } from '../../src/util/since';
import { TestResourceType, wrapper, type TestValue } from './test-resource';

/** Records what is logged, one line per call, without since when a failure lasts. */
export class RecordingWatcher implements ResourceWatcher<TestValue> {
  readonly told: string[] = [];
  readonly values: TestValue[] = [];
  readonly errors: WatchError[] = [];

  constructor(private readonly also: () => void = () => {}) {}

  onResourceChanged(update: Result<TestValue, WatchError>): void {
    if (update.ok) {
      this.values.push(update.value);
      this.told.push(`value ${update.value.text}`);
    } else {
      this.errors.push(update.error);
      this.told.push(withoutSince(`error ${update.error.message}`));
    }
    this.also();
  }

  onAmbientError(error: WatchError | undefined): void {
    this.told.push(error === undefined ? 'ambient over' : withoutSince(`ambient ${error.message}`));
    this.also();
  }

  /** What was told since the last call. */
  take(): string[] {
    return this.told.splice(0);
  }
}

/** Keeps what is logged. */
class RecordingLogger implements Logger {
  showsInfo = false;
  readonly traces: string[] = [];
  readonly infos: string[] = [];
  readonly errors: string[] = [];

  trace(tracer: string, text: () => string): void {
    this.traces.push(withoutSince(`${tracer}: ${text()}`));
  }

  info(text: () => string): void {
    this.infos.push(withoutSince(text()));
  }

  error(text: () => string): void {
    this.errors.push(withoutSince(text()));
  }
}

/** A requested resource, as a response is read with it. Its removal is any event. */
export function cachedResource(accepted?: Accepted<unknown>): CachedResource {
  return { accepted, removal: () => ({ kind: 'renewed', ttlMs: undefined }) };
}

export function serverConfig(uri: string, features: readonly string[] = []): ServerConfig {
  return {
    serverUri: uri,
    channelCreds: { type: 'insecure', config: undefined },
    callCreds: [],
    features: new Set(features),
    key: `${uri} insecure ${features.join(',')}`,
  };
}

export function authorityConfig(
  servers: readonly ServerConfig[],
  fallbackOnReachabilityOnly = false,
): AuthorityConfig {
  return { clientListenerResourceNameTemplate: '%s', servers, fallbackOnReachabilityOnly };
}

export interface HarnessOptions {
  readonly servers?: readonly ServerConfig[];
  readonly authorities?: ReadonlyMap<string, AuthorityConfig>;
  readonly dataErrorHandling?: boolean;
  readonly federation?: boolean;
  /** Of the node. */
  readonly metadata?: ReadonlyMap<string, string | number>;
  readonly events?: ClientEvents;
  readonly maxCachedBytes?: number;
  /** Default: no jitter. */
  readonly random?: Random;
  /** Shared with other clients. */
  readonly budgets?: Budgets;
}

export function bootstrap({ servers, authorities, metadata }: HarnessOptions = {}): Bootstrap {
  return {
    source: 'bootstrap.json',
    servers: servers ?? [serverConfig('xds.test:1')],
    node: { id: 'node-1', cluster: 'c1', locality: undefined, metadata },
    authorities: authorities ?? new Map<string, AuthorityConfig>(),
    clientDefaultListenerResourceNameTemplate: '%s',
    certificateProviders: new Map(),
  };
}

/** A client, the servers it talks to and everything it can be observed by. */
export class Harness {
  readonly clock = new FakeClock();
  readonly network = new FakeNetwork(this.clock);
  readonly logger = new RecordingLogger();
  readonly listener = new TestResourceType('Listener', true, {
    service: 'test.ListenerDiscoveryService',
    noun: 'Listeners',
  });
  readonly endpoints = new TestResourceType('Endpoints', false, {
    service: 'test.EndpointDiscoveryService',
    noun: 'Endpoints',
  });
  readonly client: XdsClient;
  /** The clients of other targets. */
  readonly others: XdsClient[] = [];
  /** What the users of the clients have opened. */
  readonly opened: Handle[] = [];
  protected readonly options: XdsClientOptions;
  readonly budgets: Budgets;
  readonly servers: ManagementServers;
  /** Whether a test is about errors that are bugs. */
  expectsBugs = false;

  constructor(options: HarnessOptions = {}) {
    this.budgets = options.budgets ?? createBudgets(options, this.clock.monotonicMs());
    this.options = {
      bootstrap: bootstrap(options),
      transportFactory: this.network,
      clock: this.clock,
      random: options.random ?? (() => 0.5),
      logger: this.logger,
      userAgent: { name: 'test-agent', version: '1.2.3' },
      dataErrorHandling: options.dataErrorHandling ?? false,
      federation: options.federation ?? true,
      ...(options.events === undefined ? {} : { events: options.events }),
      budgets: this.budgets,
    };
    this.servers = new ManagementServers(this.options);
    this.client = new XdsClient(this.options, this.servers);
    harnesses.push(this);
  }

  /** The client of another target of the same bootstrap. */
  clientOf(target: string): XdsClient {
    const client = new XdsClient({ ...this.options, target }, this.servers);
    this.others.push(client);
    return client;
  }

  /** The first server of the default bootstrap. */
  get server(): FakeServer {
    return this.network.server('xds.test:1');
  }

  /** Its newest stream. */
  get stream(): FakeStream {
    return this.server.stream;
  }

  /** Watches a resource and lets everything happen that follows at once. */
  watch(
    type: TestResourceType,
    name: string,
    watcher = new RecordingWatcher(),
    client: XdsClient = this.client,
  ): RecordingWatcher & Handle {
    const handle = client.watch(type, name, watcher);
    this.clock.flush();
    return Object.assign(watcher, {
      release: () => {
        handle.release();
        this.clock.flush();
      },
    });
  }

  /** Sends resources of one type on the newest stream; each is given as name and value. */
  send(
    type: TestResourceType,
    version: string,
    resources: Readonly<Record<string, string>> | ReadonlyMap<string, string>,
  ): void {
    const entries = resources instanceof Map ? [...resources] : Object.entries(resources);
    this.stream.respond({
      typeUrl: type.typeUrl,
      versionInfo: version,
      resources: entries.map(([name, value]) => type.resource(name, value)),
    });
  }
}

/** A client that speaks the incremental variant with its server. */
export class DeltaHarness extends Harness {
  constructor(options: HarnessOptions & { readonly features?: readonly string[] } = {}) {
    const { features = [], ...rest } = options;
    super({ servers: [serverConfig('xds.test:1', ['grpc_xds_delta', ...features])], ...rest });
  }

  /** Sends resources of one type on the newest stream; each is given as name and value, all with one version. */
  sendDelta(
    type: TestResourceType,
    version: string,
    resources: Readonly<Record<string, string>>,
    removedResources: string[] = [],
  ): void {
    this.stream.respondDelta({
      typeUrl: type.typeUrl,
      systemVersionInfo: `system ${version}`,
      resources: Object.entries(resources).map(([name, value]) =>
        wrapper(name, type.resource(name, value), { version }),
      ),
      removedResources,
    });
  }
}

const harnesses: Harness[] = [];

// No test leaves an unexpected error behind, and none leaves a timer or a connection behind once closed.
afterEach(() => {
  for (const harness of harnesses.splice(0)) {
    const { client, others, opened, clock, logger, network, expectsBugs } = harness;
    for (const each of opened) each.release();
    for (const each of [client, ...others]) each.close();
    // What is left of long work runs in the next turn of the event loop.
    clock.advance(1);
    clock.flush();
    const bugs = logger.errors.filter((text) => text.startsWith('unexpected error'));
    if (!expectsBugs) expect(bugs).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    expect(network.openConnections).toBe(0);
  }
});
