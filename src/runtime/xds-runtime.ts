import { setMaxListeners } from 'node:events';
import { BOOTSTRAP_OPTION, CHILD_CHANNEL_OPTION } from '../util/channel-options';
import type { GivenTarget, InspectedProcess } from '../observe/admin/inspected-process';
import type { XdsConfig } from '../dependency-manager/xds-config';
import { processServers } from '../observe/admin/process-servers';
import type { ShareReport } from '../observe/admin/share-report';
import type { ObserveClients } from '../observe/admin/status-queue';
import type { Bootstrap } from '../bootstrap/bootstrap';
import { resolveLimits, type Limits } from '../bootstrap/limits';
import {
  createBootstrapLoader,
  type BootstrapError,
  findOptionProblem,
  OptionBootstraps,
  type LoadBootstrapOptions,
  type RelayChoice,
} from '../bootstrap/load-bootstrap';
import { createDnsWatcherFactory } from '../dependency-manager/dns-watch';
import type { ChannelOptions, GrpcUri, Resolver, ResolverListener } from '../grpc-js';
import {
  type CheckedChildOptions,
  type ChildChannelOptions,
} from '../grpc-js/child-channel-options';
import { processHttpFilters, type HttpFilterRegistry } from '../http-filters/registry';
import { ConnectionAttempts } from '../lb/connections/connection-attempts';
import { createPolicyRegistry } from '../lb/registry/create-policy-registry';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { processLbPolicies } from '../lb/custom/custom-policies';
import { RegistryRoots } from '../lb/tree/grpc-js-root';
import type { LbPolicyRegistry } from '../lb/registry/lb-policy-registry';
import { TimeSlices } from '../util/time-slices';
import { LoadStreams } from '../xds-client/lrs/load-reporter';
import type { ResourceTypes } from '../resources/resource-types';
import {
  LiveResolutions,
  type ClientRef,
  type XdsResolverDependencies,
} from '../resolver/resolver-dependencies';
import { XdsResolver } from '../resolver/xds-resolver';
import {
  CertificateProviders,
  processCertificateProviders,
} from '../security/providers/certificate-providers';
import { processRates } from '../observe/rates/process-rates';
import { processStats } from '../observe/stats/stats-registry';
import { systemClock } from '../util/clock';
import { lazy } from '../util/lazy';
import { createHandle, type Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { createBudgets, type Budgets } from '../xds-client/budgets';
import type { ClientPool } from '../xds-client/client-pool';
import { SharedTransports, type XdsTransportFactory } from '../xds-client/transport';
import type { ResourceType } from '../xds-client/resource-type';
import { mergeResources, type ResourceSnapshot } from '../xds-client/client-snapshot';
import { SERVER_TARGET } from '../util/report-targets';
import type { XdsClient } from '../xds-client/xds-client';
import {
  createEnvironment,
  createParts,
  createServerAccess,
  type ServerAccess,
} from './built-in-parts';
import {
  ChildOptionsChoice,
  createClientPool,
  USER_AGENT,
  type XdsClientGroup,
} from './process-clients';
import type * as Explain from './explain';
import type { ExplainedChannels } from './explain';
import { readChildOptions } from './register-options';
import type { ServerClient } from './server-client';
import { XdsError } from '../util/xds-error';

// The registrations of an application are in the same module instances.
export { registerChannelCredentials } from '../security/credentials/management-credentials';
export { registerCertificateProvider } from '../security/providers/certificate-providers';
export { registerHttpFilter } from '../http-filters/registry';
export { registerLbPolicy } from '../lb/custom/custom-policies';
export { registerClusterSpecifierPlugin } from '../lb/cluster-specifiers/registry';

/** Loaded for the first page that shows an earlier time. */
const loadExplain = lazy<typeof Explain>(() => require('./explain'));

/** The options of this package that a channel may have. */
const CHANNEL_OPTIONS = [BOOTSTRAP_OPTION, CHILD_CHANNEL_OPTION];

const CHANNEL_SOURCE = `channel option ${BOOTSTRAP_OPTION}`;
const SERVER_SOURCE = 'XdsServer({ bootstrap })';

/** The options of `register()` that the runtime uses. */
export interface RuntimeOptions {
  readonly bootstrap?: object | string;
  readonly snapshotPath?: string;
  readonly limits?: Partial<Limits>;
  readonly childChannelOptions?: ChildChannelOptions;
  /** How bootstraps choose the relays that the processes of this host share. Default: from the environment. */
  readonly relays?: { readonly ofProcess: RelayChoice; readonly ofOption: RelayChoice } | undefined;
}

/** What the runtime has from its registration. */
export interface RuntimeAmbient extends Pick<PolicyEnvironment, 'logger' | 'flags'> {
  /** Returns a factory for the transports to relays as well. */
  readonly withRelays: (factory: XdsTransportFactory) => XdsTransportFactory;
  readonly describeShares: () => readonly ShareReport[];
}

/** The dependencies that do not depend on the channel. */
interface SharedDependencies extends Omit<
  XdsResolverDependencies,
  'loadBootstrap' | 'acquireClient' | 'childChannelOptions' | 'shutdown'
> {
  readonly types: ResourceTypes;
  readonly httpFilters: HttpFilterRegistry;
}

/** The composition root of the `xds:` channels of a process. */
export class XdsRuntime {
  /** The roots of policy trees, for grpc-js. */
  readonly lbPolicyRoots: RegistryRoots;
  private readonly environment: PolicyEnvironment;
  /** Those in which policies apply configuration. */
  private readonly timeSlices = new TimeSlices(systemClock, (durationMs) =>
    this.budgets.time.spend(durationMs, systemClock.monotonicMs()),
  );
  /** What policies apply in later turns delays the next responses, as what is applied at once does. */
  private readonly budgets: Budgets;
  private readonly support: ServerAccess['support'];
  private readonly liveResolutions = new LiveResolutions();
  private readonly certificates: CertificateProviders;
  private readonly clients: ClientPool<XdsClient, XdsClientGroup>;
  private readonly resolverDependencies: SharedDependencies;
  private readonly childOptions: ChildOptionsChoice;
  private channelBootstraps: OptionBootstraps;
  private serverBootstraps: OptionBootstraps;
  private relays: RuntimeOptions['relays'];
  private loadBootstrap: () => Result<Bootstrap, BootstrapError>;
  /** The limits that the latest registration asks for. */
  private seenLimits: Partial<Limits> | undefined;
  private wasServerBound = false;
  private readonly loadStreams = new LoadStreams(systemClock);
  /** Aborted by a shutdown; replaced by the next registration. */
  private lifetime = createLifetime();

  private readonly describeShares: RuntimeAmbient['describeShares'];

  constructor({ withRelays, describeShares, ...ambient }: RuntimeAmbient, options: RuntimeOptions) {
    this.describeShares = describeShares;
    this.environment = createEnvironment({ ...ambient, limits: resolveLimits(options.limits) });
    const { environment } = this;
    const policies = createPolicyRegistry(environment);
    this.lbPolicyRoots = this.createPolicyRoots(policies);
    // After that: grpc-js has no use for policies that need our tree around them.
    processLbPolicies.addTo(policies);
    const { transportFactory, support } = createServerAccess(
      environment,
      USER_AGENT,
      (factory) => new SharedTransports(withRelays(factory)),
    );
    this.support = support;
    this.certificates = new CertificateProviders({
      ...environment,
      types: processCertificateProviders,
    });
    this.relays = options.relays;
    this.channelBootstraps = this.createBootstraps(CHANNEL_SOURCE);
    this.serverBootstraps = this.createBootstraps(SERVER_SOURCE);
    this.childOptions = new ChildOptionsChoice(ambient.logger);
    this.childOptions.register(readChildOptions(options.childChannelOptions));
    this.loadBootstrap = this.createLoader(options);
    this.budgets = createBudgets(environment.limits, environment.clock.monotonicMs());
    const { budgets, loadStreams } = this;
    this.clients = createClientPool(environment, transportFactory, budgets, loadStreams);
    this.resolverDependencies = this.createDependencies(policies);
  }

  private createPolicyRoots(policies: ReturnType<typeof createPolicyRegistry>): RegistryRoots {
    const { environment } = this;
    const { maxConnectionAttempts } = environment.limits;
    const { timeSlices } = this;
    const connectionAttempts = new ConnectionAttempts({
      ...environment,
      maxConnectionAttempts,
      timeSlices,
    });
    return new RegistryRoots(policies, {
      ...environment,
      policies,
      connectionAttempts,
      timeSlices,
    });
  }

  /** Sets the options for channels created from now on. */
  use(options: RuntimeOptions): void {
    this.reportLateLimits(options.limits);
    if (this.lifetime.signal.aborted) this.lifetime = createLifetime();
    this.loadBootstrap = this.createLoader(options);
    if (this.relays !== options.relays) {
      this.relays = options.relays;
      this.channelBootstraps = this.createBootstraps(CHANNEL_SOURCE);
      this.serverBootstraps = this.createBootstraps(SERVER_SOURCE);
    }
    this.childOptions.register(readChildOptions(options.childChannelOptions));
  }

  /** Logs limits that differ from those of the process, which were set when the first channel or server was created. */
  private reportLateLimits(limits: Partial<Limits> = {}): void {
    if (limits === this.seenLimits) return;
    this.seenLimits = limits;
    const used = this.environment.limits;
    const names = Object.entries<number | undefined>(limits)
      .filter(([name, value]) => value !== undefined && Reflect.get(used, name) !== value)
      .map(([name]) => name);
    if (names.length === 0) return;
    this.environment.logger.error(
      () =>
        `limits of register() have no effect: ${names.join(', ')}: those of the process were set when its first xds: channel ` +
        'or XdsServer was created: call register() with them before',
    );
  }

  /** Reads the bootstrap that was registered. @throws XdsError if it is missing or invalid. */
  requireBootstrap(): void {
    const loaded = this.loadBootstrap();
    if (loaded.ok) return;
    const { code, message } = loaded.error;
    throw new XdsError(code, `register(): ${message}`);
  }

  /**
   * Called by grpc-js when a channel is constructed. The channel keeps the bootstrap and the child channel options
   * registered by then, also when it resolves for the first time, or leaves idle, after a later registration.
   */
  createResolver(target: GrpcUri, listener: ResolverListener, options: ChannelOptions): Resolver {
    const loadBootstrap = this.channelBootstraps.loaderOf(options[BOOTSTRAP_OPTION]);
    const childOptions = this.childOptions.of(options[CHILD_CHANNEL_OPTION]);
    const used = childOptions.ok ? childOptions.value : undefined;
    const problem =
      findOptionProblem(options, CHANNEL_OPTIONS) ??
      (childOptions.ok ? undefined : childOptions.error);
    const shared: XdsResolverDependencies = {
      ...this.resolverDependencies,
      // Nothing is requested over connections that would not be as the application has said.
      loadBootstrap:
        problem === undefined
          ? (loadBootstrap ?? this.loadBootstrap)
          : () => err({ message: problem }),
      acquireClient: (bootstrap, name) => this.acquireClient(bootstrap, name, used),
      childChannelOptions: used?.forClient,
      shutdown: this.lifetime.signal,
    };
    return new XdsResolver(target, listener, options, shared);
  }

  /** Whether a server has been bound: the end of what its log has as an error is then shown, too (gRFC A36). */
  get hasServers(): boolean {
    return this.wasServerBound;
  }

  /**
   * Acquires the client that the servers of the process share (gRFC A71), with the bootstrap registered by now.
   *
   * @param bootstrap That of the server, as an object or JSON text; `undefined` for the one of the process.
   * @returns the client, or why there is none.
   */
  acquireServerClient(bootstrap: unknown): Result<ServerClient, string> {
    const { signal: shutdown } = this.lifetime;
    this.wasServerBound = true;
    if (shutdown.aborted) return err('shutdown() of grpc-xds was called: call register() before');
    const loaded = (this.serverBootstraps.loaderOf(bootstrap) ?? this.loadBootstrap)();
    if (!loaded.ok) return err(loaded.error.message);
    const options = this.childOptions.of(undefined);
    const pooled = this.clients.acquire(
      loaded.value,
      SERVER_TARGET,
      options.ok ? options.value : undefined,
    );
    const { client, group } = pooled;
    const { types, httpFilters, meter } = this.resolverDependencies;
    const { clock, random, logger } = this.environment;
    const release = releaseOnAbort(pooled, shutdown);
    return ok({
      bootstrap: loaded.value,
      client,
      types,
      httpFilters,
      meter,
      timeSlices: this.timeSlices,
      certificates: this.certificates.of(loaded.value, group.connectionOptions),
      clock,
      random,
      logger,
      shutdown,
      release,
    });
  }

  /**
   * Ends every channel and the watches of servers, until the next `use`, and the load reports.
   * @returns A promise that is resolved after the last load reports.
   */
  shutDown(timeoutMs: number): Promise<void> {
    this.lifetime.abort();
    return this.loadStreams.end(timeoutMs);
  }

  /** Returns the parts of the process by which calls are explained. */
  explained(): ExplainedChannels {
    return {
      resolutions: this.liveResolutions,
      types: this.resolverDependencies.types,
      limits: this.environment.limits,
      meter: this.resolverDependencies.meter,
      resourcesOf: ({ xdsClient }) =>
        this.clients
          .clients()
          .find(({ client }) => client === xdsClient)
          ?.client.resources() ?? [],
      policiesOf: ({ clusters }) => this.lbPolicyRoots.describe(clusters),
    };
  }

  /** Returns the parts of the process that a report describes. */
  inspected(): InspectedProcess {
    const types: readonly ResourceType<unknown>[] = Object.values(this.resolverDependencies.types);
    return {
      clients: this.clients.clients().map(({ client, scope }) => ({
        scope,
        xdsClient: client,
        nodeId: client.node.id,
        resolution: () => this.liveResolutions.find(scope, client),
        snapshot: () => client.snapshot(),
        history: () => client.history(),
      })),
      servers: () => processServers.reports(),
      certificates: this.certificates.inUse(),
      shares: this.describeShares(),
      describePolicies: ({ clusters }) => this.lbPolicyRoots.describe(clusters),
      policyFailures: () => this.lbPolicyRoots.failures(),
      describeUnusedFields: (typeUrl, bytes) =>
        types.find((type) => type.typeUrl === typeUrl)?.describeUnusedFields(bytes) ?? [],
      resolve: (given) => this.resolve(given),
    };
  }

  /** Builds the config that a target would have. */
  private resolve({
    target,
    resources,
    listenerName,
  }: GivenTarget): Promise<Result<XdsConfig, string>> {
    const { types } = this.resolverDependencies;
    const { limits } = this.environment;
    return new Promise((resolve) =>
      resolve(loadExplain().configOfGiven(resources, target, { types, limits, listenerName })),
    );
  }

  /** Lists the resources of all clients (gRFC A40). */
  observe(): ReturnType<ObserveClients> {
    return this.clients.clients().map(({ client, scope }) => {
      return { node: client.node, scope, resources: client.resources() };
    });
  }

  /** Lists the resources of the clients that use a server, each once. */
  resourcesFrom(serverUri: string): readonly ResourceSnapshot[] {
    const clients = this.clients.clients().map(({ client }) => client);
    return mergeResources(
      clients.filter((client) =>
        client.serverStates().some((server) => server.serverUri === serverUri),
      ),
    );
  }

  private createLoader({ bootstrap, snapshotPath, relays }: RuntimeOptions) {
    const relay = relays?.ofProcess;
    const options = { inline: bootstrap, snapshotPath, relay, ...this.loaderOptions() };
    return createBootstrapLoader(options, this.environment.logger);
  }

  private createBootstraps(source: string): OptionBootstraps {
    const { relays } = this;
    const relay: RelayChoice | undefined =
      relays &&
      ((bootstrap) => {
        // The bootstrap of the process has the first choice.
        this.loadBootstrap();
        return relays.ofOption(bootstrap);
      });
    return new OptionBootstraps(
      source,
      { ...this.loaderOptions(), relay },
      this.environment.logger,
    );
  }

  private loaderOptions(): Pick<LoadBootstrapOptions, 'support' | 'flags'> {
    return { support: this.support, flags: this.environment.flags };
  }

  private acquireClient(
    bootstrap: Bootstrap,
    target: string,
    options: CheckedChildOptions | undefined,
  ): ClientRef {
    const pooled = this.clients.acquire(bootstrap, target, options);
    const { client, group } = pooled;
    this.childOptions.reportUnused(target, options, group);
    const { loads, connectionOptions } = group;
    return { client, loads, connectionOptions, release: () => pooled.release() };
  }

  private createDependencies(policies: LbPolicyRegistry): SharedDependencies {
    const { hash } = this.environment;
    return {
      ...this.environment,
      ...createParts(this.environment, processHttpFilters, policies),
      hash: (text) => (hash.isReady ? hash.hash(text) : undefined),
      liveResolutions: this.liveResolutions,
      timeSlices: this.timeSlices,
      certificates: this.certificates,
      createDns: (options) => createDnsWatcherFactory(options, this.environment.logger),
      stats: processStats,
      rates: processRates,
    };
  }
}

/** Returns the release of a handle that a shutdown releases as well. */
function releaseOnAbort(handle: Handle, signal: AbortSignal): () => void {
  const once = createHandle(() => {
    signal.removeEventListener('abort', release);
    handle.release();
  });
  const release = () => once.release();
  signal.addEventListener('abort', release);
  return release;
}

/** Every channel listens: Node.js would warn of a leak from the eleventh on. */
function createLifetime(): AbortController {
  const lifetime = new AbortController();
  setMaxListeners(Infinity, lifetime.signal);
  return lifetime;
}
