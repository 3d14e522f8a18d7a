import type * as Csds from './observe/admin/csds';
import type * as DumpOnSignal from './observe/admin/dump-on-signal';
import type * as Inspect from './observe/admin/inspect';
import type { InspectOptions, InspectReport } from './observe/admin/inspect-report';
import type * as ClientPage from './observe/admin/page/client-page';
import type { ObserveClients } from './observe/admin/status-queue';
import type { AdminPageOptions } from './observe/live-page/page-access';
import type { AdminPage } from './observe/live-page/page-server';
import { resolveLimits } from './bootstrap/limits';
import { Metadata, registerAdminService } from './grpc-js';
import { checkHost, loadedModules, CopyWatch } from './grpc-js/host-copies';
import { createGrpcLogger, currentTracers } from './grpc-js/grpc-logger';
import { policyNames } from './lb/registry/policy-table';
import { registerLbPolicies } from './lb/registry/register-lb-policies';
import type { CallExplanation } from './resolver/explain-call';
import { withText } from './resolver/explanation-text';
import { registerXdsResolver } from './resolver/xds-scheme';
import type * as Explain from './runtime/explain';
import {
  checkRegisterOptions,
  readShutdownTimeout,
  type RegisterOptions,
  type ShutdownOptions,
} from './runtime/register-options';
import type * as Runtime from './runtime/xds-runtime';
import type { XdsRuntime } from './runtime/xds-runtime';
import { systemClock } from './util/clock';
import { currentFeatureFlags } from './util/feature-flags';
import { OpenResources } from './util/handle';
import type { Logger } from './util/logger';
import { hideHeaders } from './util/secrets';
import { currentProxyVariable, describeProxyVariable } from './util/grpc-js-variables';
import { late } from './util/late';

/** Loads what only processes with an `xds:` channel need, and the classes of what they register. */
export const loadRuntime = late<typeof Runtime>(() => require('./runtime/xds-runtime'));
/** Loaded late, because few processes explain calls. */
const loadExplain = late<typeof Explain>(() => require('./runtime/explain'));
/** Loaded late, because few processes report their state. */
const loadInspect = late<typeof Inspect>(() => require('./observe/admin/inspect'));
const loadDumpOnSignal = late<typeof DumpOnSignal>(() => require('./observe/admin/dump-on-signal'));
const loadClientPage = late<typeof ClientPage>(() => require('./observe/admin/page/client-page'));
/** Loads CSDS on first use, since most processes have no admin services. */
const loadCsds = late<typeof Csds>(() => require('./observe/admin/csds'));

/** The registration of this process. */
interface Registration {
  /** The options of the latest call. */
  options: RegisterOptions;
  /** Loaded for the first channel. */
  runtime: XdsRuntime | undefined;
  /** Whether `shutdown` was called after the latest `register`. */
  isShutDown: boolean;
  /** Finds other copies of grpc-js. */
  readonly copies: CopyWatch;
  /** Registers the scheme `xds:`, also after another package did. */
  takeScheme(): void;
}

let registration: Registration | undefined;
/** The pages and the dumps on signals. */
const opened = new OpenResources();

/**
 * Registers the scheme `xds:` with `@grpc/grpc-js` (gRFC A27). Call it once, before the first channel for such a target
 * is created, which loads most of the code. A later call replaces the bootstrap for the channels created from then on,
 * and registers the scheme again after another package did.
 *
 * Never throws for an invalid or missing bootstrap: calls fail with a status that has the error.
 *
 * @throws TypeError if an option or a limit is unknown, a limit is not a positive whole number, or the logger is none.
 * @throws Error if `@grpc/grpc-js` lacks what this package needs, with both versions.
 */
export function register(options: RegisterOptions = {}): void {
  checkRegisterOptions(options);
  resolveLimits(options.limits);
  checkHost();
  hideHeaders(options.hiddenHeaders);
  if (registration === undefined) {
    registration = announce(options);
  } else {
    const { isShutDown, copies, runtime } = registration;
    registration.options = options;
    registration.isShutDown = false;
    if (isShutDown) copies.start();
    runtime?.use(options);
  }
  registration.takeScheme();
}

/**
 * Ends everything of this package in this process: streams of management servers, load reports, watches, timers, live
 * pages and dumps on signals. A program needs it only to have its last load reports sent, or to be sure that nothing is
 * left: what is open does not keep a process alive.
 *
 * From then on every call on an `xds:` channel that was created before fails with status UNAVAILABLE, whose details name
 * this function; calls that have a connection go on, and their channel is closed by the application as ever. After
 * another `register()`, new channels work. Calling it again, or before `register()`, is not an error.
 *
 * @returns A promise that is resolved when the last load reports have been sent, or the timeout has passed. It is rejected
 * with a TypeError if an option is unknown or is not a number of milliseconds.
 */
export async function shutdown(options: ShutdownOptions = {}): Promise<void> {
  const timeoutMs = readShutdownTimeout(options);
  if (registration !== undefined) registration.isShutDown = true;
  registration?.copies.stop();
  await Promise.all([registration?.runtime?.shutDown(timeoutMs), opened.closeAll()]);
}

/**
 * Explains the routing of a call: which routes of the target do not match and why, which one takes it, and its clusters,
 * filters, timeout, retries and hash. Uses the config and the matchers of calls.
 *
 * @param target As the channel was given it, such as `xds:///echo.example.com`.
 * @param method Full path, such as `/package.Service/Method`.
 * @param headers As the application would send them.
 * @returns The routing, or why there is none at the moment. Printed, it is a text for people.
 */
export function explainCall(
  target: string,
  method: string,
  headers: Metadata = new Metadata(),
): CallExplanation {
  const { runtime } = registration ?? {};
  if (runtime !== undefined) {
    return loadExplain().explainOnChannel(runtime.explained(), { target, method, headers });
  }
  const reason =
    registration === undefined
      ? 'register() of grpc-xds has not been called in this process'
      : 'no channel for an xds: target has been created in this process';
  return withText({ kind: 'unrouted', reason, waitingFor: [] });
}

/**
 * Explains the routing of a call by resources that are given, without a management server or a connection, so that a team
 * can test its routes. Uses the parsers of the client, and the filters and policies that the application has registered.
 *
 * @param resources The path of a resource file (YAML, JSON or binary), or an object with the lists `listeners`, `routes`,
 * `clusters` and `endpoints`, whose resources are written as in Envoy's configuration.
 * @param target Such as `xds:///shop`; the name of its Listener is that of a bootstrap without templates.
 * @param method Full path, such as `/package.Service/Method`.
 * @param headers As the application would send them. Default: none.
 * @returns The routing, or why there is none, such as a resource that is missing or rejected.
 * @throws Error if the file cannot be read, or the resources are not in the form of their types.
 */
export function explainResources(
  resources: string | object,
  target: string,
  method: string,
  headers: Metadata = new Metadata(),
): CallExplanation {
  return loadExplain().explainResources(resources, { target, method, headers });
}

/**
 * Reports the state of the xDS client of this process as plain JSON: targets, resources, servers, policies down to each
 * endpoint, certificates, and the last changes. Has no keys, tokens or credentials.
 *
 * @throws TypeError if an option is unknown.
 */
export function inspect(options: InspectOptions = {}): InspectReport {
  return loadInspect().inspectProcess(options, systemClock, registration?.runtime?.inspected());
}

/**
 * Writes the report of {@link inspect}, with the contents of resources, to a new file in the folder for temporary files
 * whenever this process receives a signal. Only this user can read the file. Its path is logged.
 *
 * @param signal Such as `SIGUSR2`. Without a listener most signals end a process, so nothing else should rely on that.
 * @returns A function that ends it.
 * @throws TypeError if it is no signal of this system.
 */
export function dumpOnSignal(signal: NodeJS.Signals): () => void {
  const logger = createLogger(() => registration?.options);
  const handle = loadDumpOnSignal().dumpOnSignal(signal, () => inspect({ contents: true }), {
    clock: systemClock,
    logger,
  });
  const end = opened.add(() => {
    handle.release();
    return Promise.resolve();
  });
  return () => void end();
}

/**
 * Serves a live page with the state of the xDS client of this process over HTTP: targets, management servers, resources,
 * routes with an explanation of calls, the load-balancing policies down to each endpoint, certificates and events. The
 * page is read only and has no keys, tokens or credentials. It does not keep the process alive.
 *
 * @returns A promise of the page with its URL, which has the token that readers need. It is rejected if the address
 * cannot be used.
 * @throws TypeError if an option is invalid, or if there is no token for an address that is not loopback.
 */
export function serveAdminPage(options: AdminPageOptions): Promise<AdminPage> {
  const observed = { inspected: () => registration?.runtime?.inspected(), explainCall };
  const serving = loadClientPage().serveClientPage(options, observed, systemClock);
  const close = opened.add(async () => {
    const page = await serving.catch(() => undefined);
    await page?.close();
  });
  void serving.catch(close);
  return serving.then((page) => ({ ...page, close }));
}

/** Registers everything but the scheme with grpc-js; most code is loaded when a channel needs it. */
function announce(options: RegisterOptions): Registration {
  const logger = createLogger(() => current.options);
  const copies = new CopyWatch({ modules: loadedModules, clock: systemClock, logger });
  const flags = currentFeatureFlags();
  const runtime = () => {
    if (current.runtime !== undefined) return current.runtime;
    const created = new (loadRuntime().XdsRuntime)({ logger, flags }, current.options);
    if (current.isShutDown) void created.shutDown(0);
    current.runtime = created;
    return created;
  };
  const current: Registration = {
    options,
    runtime: undefined,
    isShutDown: false,
    copies,
    takeScheme() {
      copies.reportPeer();
      registerXdsResolver((...args) => {
        copies.scan();
        return runtime().createResolver(...args);
      });
    },
  };
  copies.start();
  reportProxy(logger);
  registerLbPolicies(policyNames(flags), () => runtime().lbPolicyRoots);
  offerStatus(() => current.runtime?.observe() ?? []);
  return current;
}

/** @param options Returns those in force when a line is written. */
function createLogger(options: () => RegisterOptions | undefined): Logger {
  return createGrpcLogger({
    isTracerOn: currentTracers(),
    application: () => options()?.logger,
    recoveryLevel: () => options()?.recoveryLevel,
    clock: systemClock,
  });
}

/** Logs a proxy: a channel that uses it never creates a resolver, so nothing else can report why its calls fail. */
function reportProxy(logger: Logger): void {
  const proxy = currentProxyVariable();
  if (proxy !== undefined) logger.error(() => describeProxyVariable(proxy));
}

/** Adds CSDS to the services of `addAdminServicesToServer` of the host library (gRFCs A38, A40). */
function offerStatus(observe: ObserveClients): void {
  registerAdminService(
    () => loadCsds().csdsDefinition,
    () => loadCsds().createCsdsHandlers(observe),
  );
}
