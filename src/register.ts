import type * as Csds from './admin/csds';
import type { Bootstrap } from './bootstrap/bootstrap';
import { createBootstrapLoader } from './bootstrap/load-bootstrap';
import { CallCredentialsRegistry } from './credentials/call-creds-registry';
import { builtInChannelCredentials } from './credentials/channel-creds-registry';
import { createJwtTokenFileType } from './credentials/jwt-token-file-type';
import { processChannelCredentials } from './credentials/register-channel-credentials';
import { ManagementCredentials } from './credentials/management-credentials';
import { createDnsWatcherFactory } from './dependency-manager/dns-watch';
import { Metadata, registerAdminService } from './grpc-js';
import { createGrpcLogger } from './grpc-js/grpc-logger';
import { findLoadedCollisions } from './grpc-js/other-copies';
import { XxHash64 } from './hash/xx-hash';
import { createCompositeFilter } from './http-filters/composite/composite-filter';
import { createFaultFilter } from './http-filters/fault/fault-filter';
import { processHttpFilters } from './http-filters/register-http-filter';
import { createStatefulSessionFilter } from './http-filters/stateful-session/stateful-session-filter';
import { createPolicyRegistry, type PolicyEnvironment } from './lb/create-policy-registry';
import { processLbPolicies } from './lb/custom/register-lb-policy';
import { registerLbPolicies } from './lb/register-lb-policies';
import { LoadReporter } from './load-reporting/load-reporter';
import { Re2Compiler } from './regex/re2-compiler';
import { explainCall as explain, type CallExplanation } from './resolver/explain-call';
import { LiveConfigs } from './resolver/live-configs';
import { registerXdsResolver } from './resolver/register-xds-resolver';
import { createResourceTypes } from './resources/resource-types';
import { TransportFactory } from './transport/transport-factory';
import type * as Snapshots from './transport/snapshot/keep-snapshot';
import { systemClock } from './util/clock';
import { currentFeatureFlags } from './util/feature-flags';
import type { Logger } from './util/logger';
import { systemRandom } from './util/random';
import type { Result } from './util/result';
import { currentTracers } from './util/tracers';
import { PACKAGE_VERSION } from './util/version';
import { ClientPool } from './xds-client/client-pool';
import { SharedTransports } from './xds-client/shared-transports';
import type { XdsTransportFactory } from './xds-client/transport';
import { XdsClient } from './xds-client/xds-client';

/** How to set up the client. */
export interface RegisterOptions {
  /**
   * The bootstrap, as an object or as JSON text. Takes precedence over the environment variables
   * `GRPC_XDS_BOOTSTRAP` (a path) and `GRPC_XDS_BOOTSTRAP_CONFIG` (JSON text), which are read when a channel
   * first needs them.
   */
  readonly bootstrap?: object | string;
  /**
   * A file to keep the resources in that were last accepted, so that the process can start when no management
   * server can be reached. They are used until a server answers, and everything said about them says that they
   * are stale. Written a second after a change at the earliest. A file that is damaged, or was saved for another
   * node or other servers, is not used. Default: the environment variable `GRPC_XDS_SNAPSHOT_PATH`, or else
   * nothing is kept.
   */
  readonly snapshotPath?: string;
}

/** What a later call to `register` may replace. */
interface Registration {
  readonly credentials: ManagementCredentials;
  readonly liveConfigs: LiveConfigs;
  loadBootstrap: () => Result<Bootstrap, string>;
}

let registration: Registration | undefined;

/**
 * Makes `xds:` targets work in `@grpc/grpc-js` (gRFC A27). To be called once, before the first channel for such
 * a target is made. A later call replaces the bootstrap for the channels made from then on.
 *
 * Never throws for a bootstrap that is bad or missing: calls fail with a status that says what is wrong.
 */
export function register(options: RegisterOptions = {}): void {
  if (registration === undefined) {
    const logger = createGrpcLogger(currentTracers());
    const credentials = createCredentials(logger);
    const loadBootstrap = createLoader(options, credentials);
    registration = { credentials, liveConfigs: new LiveConfigs(), loadBootstrap };
    reportCollisions(logger);
    compose(registration, logger);
  } else {
    registration.loadBootstrap = createLoader(options, registration.credentials);
  }
}

function createLoader(
  { bootstrap, snapshotPath }: RegisterOptions,
  { support }: ManagementCredentials,
): () => Result<Bootstrap, string> {
  return createBootstrapLoader({ inline: bootstrap, snapshotPath, support });
}

/** Adds every type of credentials of this package. Those of the application stay in force. */
function createCredentials(logger: Logger): ManagementCredentials {
  const environment = { clock: systemClock, random: systemRandom, logger };
  const channel = processChannelCredentials;
  for (const type of builtInChannelCredentials(environment)) channel.registerDefault(type);
  const { bootstrapCallCreds } = currentFeatureFlags();
  const callTypes = bootstrapCallCreds ? [createJwtTokenFileType(environment)] : [];
  return new ManagementCredentials({ channel, call: new CallCredentialsRegistry(callTypes) });
}

function reportCollisions(logger: Logger): void {
  for (const { path, problem } of findLoadedCollisions()) {
    logger.error(() => `grpc-xds: ${path} is ${problem}`);
  }
}

/**
 * Says what would become of a call and why: which routes of the target do not match and for what reason, which one
 * takes it, and with what clusters, filters, timeout, retries and hash. It goes by the config and the matchers that
 * calls go by.
 *
 * @param target As the channel was given it, such as `xds:///echo.example.com`.
 * @param method Full path, such as `/package.Service/Method`.
 * @param headers As the application would send them.
 * @returns `undefined` if no channel of this process has a config for the target at the moment.
 */
export function explainCall(
  target: string,
  method: string,
  headers: Metadata = new Metadata(),
): CallExplanation | undefined {
  const config = registration?.liveConfigs.find(target);
  return config && explain({ config, method, headers, filters: processHttpFilters });
}

/** Puts the parts together. */
function compose(current: Registration, logger: Logger): void {
  const flags = currentFeatureFlags();
  const hash = new XxHash64();
  const environment = { clock: systemClock, random: systemRandom, logger, flags, hash };
  const policies = createPolicyRegistry(environment);
  registerLbPolicies(policies, () => ({ ...environment, policies }));
  // After that: grpc-js has no use for policies that need our tree around them.
  processLbPolicies.attach(policies);
  addHttpFilters(environment);
  const { credentials } = current;
  const transportFactory = new SharedTransports(
    new TransportFactory({ ...environment, credentials }),
  );
  const clients = createClientPool(environment, transportFactory);
  const loadsOf = createLoadReporters(environment, transportFactory);
  offerStatus(clients);
  registerXdsResolver({
    ...environment,
    httpFilters: processHttpFilters,
    hash: (text) => (hash.isReady ? hash.hash(text) : undefined),
    liveConfigs: current.liveConfigs,
    loadBootstrap: () => current.loadBootstrap(),
    acquireClient(bootstrap, target) {
      const hold = clients.acquire(bootstrap, target);
      return { ...hold, loads: loadsOf(hold.client) };
    },
    types: createResourceTypes({
      lbConfigs: policies,
      httpFilters: processHttpFilters,
      regexes: new Re2Compiler(),
      keepDraining: flags.overrideHost,
      endpointCollections: flags.endpointFallback,
    }),
    createDns: createDnsWatcherFactory,
  });
}

function createClientPool(
  { clock, random, logger, flags }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): ClientPool<XdsClient> {
  const userAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };
  const { dataErrorHandling, endpointFallback } = flags;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool((bootstrap) => {
    const config = bootstrap.servers.at(-1)?.snapshot;
    const keeper = config && loadSnapshots().keepSnapshot({ config, clock, logger });
    const client = new XdsClient({
      ...{ bootstrap, transportFactory, userAgent, clientFeatures, dataErrorHandling },
      ...{ clock, random, logger },
      ...(keeper && { events: keeper.events }),
    });
    keeper?.start(() => client.snapshot());
    return client;
  });
}

/** Few processes keep what they were sent. */
function loadSnapshots(): typeof Snapshots {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./transport/snapshot/keep-snapshot');
}

/** Makes the function that gives each client its load reports (gRFC A27), which outlive it by the calls that run. */
function createLoadReporters(
  { clock, random, logger, flags }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): (client: XdsClient) => LoadReporter {
  const reporters = new WeakMap<XdsClient, LoadReporter>();
  const { lrsPropagation: choosesMetrics } = flags;
  return (client) => {
    const known = reporters.get(client);
    if (known !== undefined) return known;
    const { node } = client;
    const created = new LoadReporter({
      ...{ node, transportFactory, choosesMetrics },
      ...{ clock, random, logger },
    });
    reporters.set(client, created);
    return created;
  };
}

/** Makes CSDS one of the services that `addAdminServicesToServer` of the host library adds (gRFCs A38, A40). */
function offerStatus(clients: ClientPool<XdsClient>): void {
  const observe = () =>
    clients.clients().map(({ client, scopes }) => {
      return { node: client.node, scopes, snapshot: client.snapshot() };
    });
  registerAdminService(
    () => loadCsds().csdsDefinition,
    () => loadCsds().createCsdsHandlers(observe),
  );
}

/** Most processes have no admin services, and need not wait for the code. */
function loadCsds(): typeof Csds {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./admin/csds');
}

/** Adds every HTTP filter of this package. Those of the application stay in force. */
function addHttpFilters({ flags, clock, random, logger }: PolicyEnvironment): void {
  const filters = processHttpFilters;
  if (flags.faultInjection) filters.registerDefault(createFaultFilter({ clock, random }));
  if (flags.overrideHost) filters.registerDefault(createStatefulSessionFilter({ logger }));
  if (flags.compositeFilter) filters.registerDefault(createCompositeFilter({ filters, random }));
}
