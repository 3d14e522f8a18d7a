import type * as Csds from './observe/admin/csds';
import type * as DumpOnSignal from './observe/admin/dump-on-signal';
import type * as Inspect from './observe/admin/inspect';
import type { InspectOptions, InspectReport } from './observe/admin/inspect-report';
import type { ObservedProcess } from './observe/admin/observed-process';
import type { ObserveClients } from './observe/admin/status-queue';
import { Metadata, registerAdminService } from './grpc-js';
import {
  checkHost,
  CopyWatch,
  loadedModules,
  servingCopy,
  takeTargets,
} from './grpc-js/host-copies';
import { createGrpcLogger, currentTracers } from './grpc-js/grpc-logger';
import { logExceptionsBy } from './grpc-js/host-callbacks';
import { policyNames } from './lb/registry/policy-table';
import { registerLbPolicies } from './lb/registry/register-lb-policies';
import type { CallExplanation } from './resolver/explain-call';
import type * as ExplanationText from './resolver/explanation-text';
import { registerXdsResolver } from './resolver/xds-scheme';
import { GivenOptions } from './runtime/given-options';
import type * as Explain from './runtime/explain';
import type { ExplainedCall } from './runtime/explain';
import {
  checkRegisterOptions,
  readShare,
  SHARE_VARIABLE,
  readShutdownTimeout,
  type CheckedOptions,
  type RegisterOptions,
  type ShutdownOptions,
} from './runtime/register-options';
import { createShares, type RelayChoices, type Shares } from './runtime/shares';
import type * as Ready from './runtime/ready';
import type { ReadyChannel, ReadyClient, ReadyOptions } from './runtime/ready';
import type * as Runtime from './runtime/xds-runtime';
import type * as ChangeHistory from './xds-client/change-history';
import type { RuntimeAmbient, XdsRuntime } from './runtime/xds-runtime';
import { callSiteOf } from './util/call-site';
import { checkArgument, METADATA, TEXT, type Rule } from './util/check-arguments';
import { systemClock } from './util/clock';
import { currentFeatureFlags, processVariables } from './util/feature-flags';
import { OpenResources, type Closable } from './util/handle';
import type { Logger } from './util/logger';
import { describeOtherCopy, noteUse, ownCopy } from './util/package-copy';
import { systemRandom } from './util/random';
import { hideHeaders } from './util/secrets';
import { currentProxyVariable, describeProxyVariable } from './util/grpc-js-variables';
import { lazy } from './util/lazy';
import { XdsError } from './util/xds-error';

/** Loads what only processes with an `xds:` channel need, and the classes of what they register. */
export const loadRuntime = lazy<typeof Runtime>(() => require('./runtime/xds-runtime'));
/** Loaded lazily, because few processes explain calls. */
const loadExplain = lazy<typeof Explain>(() => require('./runtime/explain'));
const loadText = lazy<typeof ExplanationText>(() => require('./resolver/explanation-text'));
const loadReady = lazy<typeof Ready>(() => require('./runtime/ready'));
/** Loaded lazily, because few processes report their state. */
const loadInspect = lazy<typeof Inspect>(() => require('./observe/admin/inspect'));
const loadDumpOnSignal = lazy<typeof DumpOnSignal>(() => require('./observe/admin/dump-on-signal'));
const loadChangeHistory = lazy<typeof ChangeHistory>(() => require('./xds-client/change-history'));
/** Loads CSDS on first use, since most processes have no admin services. */
const loadCsds = lazy<typeof Csds>(() => require('./observe/admin/csds'));

/** Options in use. */
interface UsedOptions extends CheckedOptions {
  /** How bootstraps choose the relays that the process shares. */
  readonly relays?: RelayChoices | undefined;
}

/** The registration of this process. */
interface Registration {
  /** What the calls of `register` have given. */
  given: GivenOptions;
  /** The options in use. */
  options: UsedOptions;
  /** The streams that other processes share; `undefined` if none does. */
  shares: Shares | undefined;
  /** Loaded for the first channel or server. */
  runtime: XdsRuntime | undefined;
  /** Whether `register` was called, and not only a server created. */
  isRegistered: boolean;
  /** Whether `shutdown` was called after the latest `register`. */
  isShutDown: boolean;
  /** Finds other copies of grpc-js. */
  readonly copies: CopyWatch;
  /** Sets the options for what is created from now on. */
  use(given: GivenOptions): void;
  /** Registers the scheme `xds:`, also after another package did. */
  takeScheme(): void;
  /** Loads the runtime, unless it is loaded. */
  loadRuntime(): XdsRuntime;
}

let registration: Registration | undefined;
/** The pages and the dumps on signals. */
const opened = new OpenResources();

/** Says why this copy of the package knows no channels. */
function notRegistered(): string {
  const serving = servingCopy();
  if (serving !== undefined && serving !== ownCopy) {
    return `this is ${describeOtherCopy(ownCopy, serving)}`;
  }
  if (registration?.isShutDown === true) return 'shutdown() has been called: call register() again';
  return 'register() of grpc-xds has not been called in this process';
}

/**
 * Registers the scheme `xds:` with `@grpc/grpc-js` (gRFC A27). Call it once, before the first channel for such a target
 * is created, which loads most of the code. A later call keeps the options of earlier ones and adds its own, for the channels
 * created from then on, and registers the scheme again after another package did. `shutdown()` ends these options.
 *
 * Without the option `requireBootstrap` it does not throw for an invalid or missing bootstrap: calls fail with a status
 * that names the error.
 *
 * @throws XdsError if an option or a limit is unknown or invalid.
 * @throws XdsError if an earlier call gave one of these options another value, with the places of both calls; if another copy of
 * this package serves `xds:` targets, with the paths of both; if `@grpc/grpc-js` lacks what this package needs, with both
 * versions; with the option `requireBootstrap`, if the bootstrap is missing or invalid.
 *
 * @example
 * ```ts
 * import { register } from 'grpc-xds';
 *
 * register();
 * // From here on, xds:///name is a target for every client.
 * ```
 */
export function register(options: RegisterOptions = {}): void {
  checkRegisterOptions(options);
  checkHost();
  const before = registration?.isShutDown === false ? registration.given : GivenOptions.none;
  const given = before.with(options, callSiteOf(register));
  takeTargets();
  registration ??= announce();
  const { isShutDown, copies } = registration;
  registration.isShutDown = false;
  registration.use(given);
  try {
    if (options.requireBootstrap === true) registration.loadRuntime().requireBootstrap();
  } catch (error) {
    // A call that failed has given nothing: another one may have a bootstrap that is valid.
    registration.use(before);
    registration.isShutDown = isShutDown;
    throw error;
  }
  if (isShutDown) copies.start();
  registration.takeScheme();
}

/**
 * Returns the runtime of this process, for servers. Without an earlier `register` neither the scheme nor the names of policies are
 * registered; a later one sets the bootstrap of what is created from then on, and the logger.
 *
 * @throws XdsError if `@grpc/grpc-js` lacks what this package needs.
 */
export function processRuntime(): XdsRuntime {
  if (registration === undefined) {
    checkHost();
    registration = announce();
  }
  return registration.loadRuntime();
}

/**
 * Stops everything of this package in this process: streams to management servers, load reports, watches, timers, live
 * pages and dumps on signals. A program only needs it to send the last load reports, or to be sure that nothing is
 * left open: nothing of this package keeps a process alive.
 *
 * From then on every call on an `xds:` channel that was created before fails with status UNAVAILABLE, whose details name
 * this function; calls with a connection continue, and the application closes their channel as usual. After
 * another `register()`, new channels work, with the options of that call alone. Calling it again, or before `register()`, is
 * not an error.
 *
 * @returns A promise that is resolved when the last load reports have been sent, or the timeout has passed. It is rejected
 * with an XdsError if an option is unknown or is not a number of milliseconds.
 *
 * @example
 * ```ts
 * import { shutdown } from 'grpc-xds';
 *
 * process.once('SIGTERM', () => {
 *   // After the last call. Sends the last load reports.
 *   void shutdown({ timeoutMs: 2000 });
 * });
 * ```
 */
export async function shutdown(options: ShutdownOptions = {}): Promise<void> {
  const timeoutMs = readShutdownTimeout(options);
  if (registration !== undefined) registration.isShutDown = true;
  registration?.copies.stop();
  await Promise.all([endClients(timeoutMs), opened.closeAll()]);
}

/** Ends the clients, and then the relay that they and other processes report their loads to. */
async function endClients(timeoutMs: number): Promise<void> {
  if (registration === undefined) return;
  const { runtime, shares } = registration;
  const endMs = systemClock.monotonicMs() + timeoutMs;
  registration.shares = undefined;
  await runtime?.shutDown(timeoutMs);
  await shares?.stop(Math.max(0, endMs - systemClock.monotonicMs()));
}

/**
 * Explains the routing of a call: which routes of the target do not match and why, which one takes it, and its clusters,
 * filters, timeout, retries and hash. Uses the config and the matchers of calls.
 *
 * @param target The target of the channel, such as `xds:///echo.example.com`.
 * @param method The full path, such as `/package.Service/Method`.
 * @param headers The headers as the application would send them.
 * @returns The routing, or why there is none at the moment. `toString()` describes it for people.
 *
 * @example
 * ```ts
 * import { explainCall } from 'grpc-xds';
 *
 * console.log(String(explainCall('xds:///shop', '/shop.Cart/Add')));
 * ```
 */
export function explainCall(
  target: string,
  method: string,
  headers: Metadata = new Metadata(),
): CallExplanation {
  checkCall('explainCall()', { target, method, headers });
  return explainOnChannel({ target, method, headers });
}

function explainOnChannel(call: ExplainedCall): CallExplanation {
  const { runtime, isRegistered = false } = registration ?? {};
  if (runtime !== undefined && isRegistered) {
    return loadExplain().explainOnChannel(runtime.explained(), call);
  }
  const reason = !isRegistered
    ? notRegistered()
    : 'no channel for an xds: target has been created in this process';
  return loadText().withText({ kind: 'unrouted', reason, waitingFor: [] });
}

/**
 * Explains the routing of a call from given resources, without a management server or a connection, so that a team can test its
 * routes. Uses the parsers of the client, and the filters and policies that the application has registered.
 *
 * @param resources The path of a resource file (YAML, JSON or binary), or an object with the lists `listeners`, `routes`,
 * `clusters` and `endpoints`, whose resources are written as in Envoy's configuration.
 * @param target Such as `xds:///shop`; its Listener is named as with a bootstrap without templates.
 * @param method The full path, such as `/package.Service/Method`.
 * @param headers The headers as the application would send them. Default: none.
 * @returns The routing, or why there is none, such as a missing or rejected resource.
 * @throws XdsError if the file cannot be read, or the resources do not match their types.
 *
 * @example
 * ```ts
 * import { explainResources } from 'grpc-xds';
 *
 * const explanation = explainResources('mesh.yaml', 'xds:///shop', '/shop.Cart/Add');
 * console.log(String(explanation));
 * ```
 */
export function explainResources(
  resources: string | object,
  target: string,
  method: string,
  headers: Metadata = new Metadata(),
): CallExplanation {
  checkArgument('explainResources()', 'resources', resources, RESOURCES);
  checkCall('explainResources()', { target, method, headers });
  return loadExplain().explainResources(resources, { target, method, headers });
}

/**
 * Waits until calls on a channel can be sent: its configuration is complete, and an endpoint is connected. For the start of
 * an application, and for readiness probes.
 *
 * @param target A client or a channel of the application, whose credentials and connections are used; or a target, such
 * as `xds:///shop`, for which a channel is created meanwhile, with xDS credentials whose fallback is insecure.
 * @param deadline As for `waitForReady` of grpc-js: a `Date`, or milliseconds since 1970.
 * @returns A promise that is rejected after the deadline with an XdsError whose message says what the channel waits for, or
 * why it fails, as the status of a call does; and at once if an argument is none of these, if `register()` has not been
 * called or `shutdown()` has, or if the channel is closed. If the signal of the options is aborted, it is rejected with its reason.
 */
export async function ready(
  target: string | ReadyClient | ReadyChannel,
  deadline: Date | number,
  options: ReadyOptions = {},
): Promise<void> {
  const { checkReadyArguments, waitUntilReady } = loadReady();
  checkReadyArguments(target, deadline, options);
  const parts = () => {
    if (registration?.isRegistered === true && !registration.isShutDown) {
      return registration.runtime?.explained();
    }
    throw new XdsError('XDS_NOT_REGISTERED', `ready(): ${notRegistered()}`);
  };
  await waitUntilReady(target, { deadline, signal: options.signal }, parts);
}

/**
 * Reports the state of the xDS client of this process as plain JSON: targets, resources, servers, policies down to each
 * endpoint, certificates, and the last changes. It contains no keys, tokens or credentials.
 *
 * @throws XdsError if an option is unknown.
 *
 * @example
 * ```ts
 * import { inspect } from 'grpc-xds';
 *
 * const { targets } = inspect({ target: 'xds:///shop' });
 * for (const { state, waitingFor } of targets) console.log(state, waitingFor);
 * ```
 */
export function inspect(options: InspectOptions = {}): InspectReport {
  noteUse();
  // The primary of a cluster may have no channel.
  const shares = registration?.shares?.describe() ?? [];
  return loadInspect().inspectProcess(
    options,
    systemClock,
    registration?.runtime?.inspected() ?? { shares },
  );
}

/**
 * Writes the report of {@link inspect}, with the contents of resources, to a new file in the folder for temporary files
 * whenever this process receives a signal. Only this user can read the file. Its path is logged.
 *
 * @param signal Such as `SIGUSR2`. Without a listener most signals end a process, so nothing else should rely on that.
 * @returns A handle that ends it.
 * @throws XdsError if this system has no such signal.
 *
 * @example
 * ```ts
 * import { dumpOnSignal } from 'grpc-xds';
 *
 * const dumps = dumpOnSignal('SIGUSR2');
 * // Later, to ignore the signal again:
 * dumps.close();
 * ```
 */
export function dumpOnSignal(signal: NodeJS.Signals): Closable {
  const logger = createLogger(() => registration);
  const handle = loadDumpOnSignal().dumpOnSignal(signal, () => inspect({ contents: true }), {
    clock: systemClock,
    logger,
  });
  const close = opened.add(() => {
    handle.release();
    return Promise.resolve();
  });
  return { close: () => void close() };
}

/**
 * Returns what a live page reads of this process.
 *
 * @internal
 */
export function observeProcess(): ObservedProcess {
  noteUse();
  return loadInspect().observe({
    inspected: () => registration?.runtime?.inspected(),
    explainCall: (of, method, headers) =>
      explainOnChannel({ target: of.scope, xdsClient: of.xdsClient, method, headers }),
    keepMoreValues: () => loadChangeHistory().keepMoreValues(),
    closeAtShutdown: (close) => opened.add(close),
  });
}

const RESOURCES: Rule = {
  legal: 'the path of a file or an object with the lists listeners, routes, clusters and endpoints',
  accepts: (value) =>
    typeof value === 'string' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value)),
  // JSON would leave out these values.
  each: {
    legal: 'a list of resources',
    accepts: (value) => typeof value !== 'symbol' && typeof value !== 'function',
  },
};

const METHOD: Rule = {
  legal: 'the path of a method, such as "/package.Service/Method"',
  accepts: (value) => typeof value === 'string' && value.startsWith('/'),
};

/** The arguments by which a call is explained. */
const CALL = { target: TEXT, method: METHOD, headers: METADATA };

/** @throws XdsError that names the argument. */
function checkCall(caller: string, call: Readonly<Record<keyof typeof CALL, unknown>>): void {
  for (const [name, rule] of Object.entries(CALL))
    checkArgument(caller, name, Reflect.get(call, name), rule);
}

/** Registers CSDS with grpc-js, and returns what registers the rest; most code is loaded when a channel or server needs it. */
function announce(): Registration {
  const logger = createLogger(() => current);
  const copies = new CopyWatch({ modules: loadedModules, clock: systemClock, logger });
  const flags = currentFeatureFlags();
  const runtimeOf = (): XdsRuntime => {
    if (current.runtime !== undefined) return current.runtime;
    const ambient = { logger, flags, ...sharing(() => current.shares) };
    const created = new (loadRuntime().XdsRuntime)(ambient, current.options);
    if (current.isShutDown) void created.shutDown(0);
    current.runtime = created;
    return created;
  };
  const current: Registration = {
    given: GivenOptions.none,
    options: {},
    shares: undefined,
    runtime: undefined,
    isRegistered: false,
    isShutDown: false,
    copies,
    use: (given) => useOptions(current, given, logger),
    takeScheme() {
      copies.reportPeer();
      if (!current.isRegistered) {
        current.isRegistered = true;
        reportProxy(logger);
        registerLbPolicies(policyNames(flags), () => runtimeOf().lbPolicyRoots);
      }
      registerXdsResolver((...args) => {
        copies.scan();
        return runtimeOf().createResolver(...args);
      });
    },
    loadRuntime: runtimeOf,
  };
  current.use(current.given);
  copies.start();
  offerStatus(() => current.runtime?.observe() ?? []);
  return current;
}

function useOptions(current: Registration, given: GivenOptions, logger: Logger): void {
  const options = checkRegisterOptions(given.options);
  logExceptionsBy(logger);
  hideHeaders(options.hiddenHeaders);
  const before = current.options;
  // What is said about sharing goes to the logger of these options.
  current.options = options;
  try {
    current.options = { ...options, relays: shareStreams(current, options, logger) };
  } catch (error) {
    current.options = before;
    throw error;
  }
  current.given = given;
  current.runtime?.use(current.options);
}

/** Returns the part of shares in the runtime. */
function sharing(
  shares: () => Shares | undefined,
): Pick<RuntimeAmbient, 'withRelays' | 'describeShares'> {
  return {
    withRelays: (factory) => ({
      create: (server, options) => {
        const connect = () => factory.create(server, options);
        return shares()?.createTransport(server.serverUri, connect) ?? connect();
      },
    }),
    describeShares: () => shares()?.describe() ?? [],
  };
}

/** Shares the streams of the process, if that is an option. @returns how bootstraps choose the relays. */
function shareStreams(
  current: Registration,
  options: CheckedOptions,
  logger: Logger,
): RelayChoices | undefined {
  const env = processVariables();
  const share = readShare(options, env, logger);
  if (share === undefined) return undefined;
  if (current.shares === undefined) {
    const created = createShares({
      clock: systemClock,
      random: systemRandom,
      logger,
      env,
      resourcesFrom: (serverUri) => current.runtime?.resourcesFrom(serverUri) ?? [],
    });
    if (!created.ok) {
      if (options.share !== undefined) {
        throw new XdsError('XDS_PACKAGE_MISSING', `share of register() ${created.error}`);
      }
      logger.error(() => `${SHARE_VARIABLE} has no effect: it ${created.error}`);
      return undefined;
    }
    current.shares = created.value;
  }
  return current.shares.use(share, options.limits);
}

/** @param registered Returns what is in force when a line is written. */
function createLogger(registered: () => Registration | undefined): Logger {
  return createGrpcLogger({
    isTracerOn: currentTracers(),
    application: () => registered()?.options.logger,
    recoveryLevel: () => {
      const { options, runtime } = registered() ?? {};
      return options?.recoveryLevel ?? (runtime?.hasServers === true ? 'error' : undefined);
    },
    clock: systemClock,
  });
}

/** Logs a proxy: a channel that uses it never creates a resolver, so nothing else can report why its calls fail. */
function reportProxy(logger: Logger): void {
  const proxy = currentProxyVariable();
  if (proxy === undefined) return;
  logger.error(() => {
    const { text, remedy } = describeProxyVariable(proxy);
    return `grpc-xds: ${text}; ${remedy}`;
  });
}

/** Adds CSDS to the services of `addAdminServicesToServer` of grpc-js (gRFCs A38, A40). */
function offerStatus(observe: ObserveClients): void {
  registerAdminService(
    () => loadCsds().csdsDefinition,
    () => loadCsds().createCsdsHandlers(observe),
  );
}
