import type * as Csds from './admin/csds';
import type * as DumpOnSignal from './admin/dump-on-signal';
import type * as Inspect from './admin/inspect';
import type { InspectOptions, InspectReport } from './admin/inspect';
import type * as ClientPage from './admin/page/client-page';
import type { ObserveClients } from './admin/status-queue';
import type { AdminPageOptions } from './live-page/page-options';
import type { AdminPage } from './live-page/page-server';
import { resolveLimits, type Limits } from './bootstrap/limits';
import { Metadata, registerAdminService } from './grpc-js';
import { checkHost } from './grpc-js/check-host';
import { CopyWatch } from './grpc-js/copy-watch';
import { createGrpcLogger, currentTracers } from './grpc-js/grpc-logger';
import { loadedModules } from './grpc-js/other-copies';
import { policyNames, registerLbPolicies } from './lb/registry/register-lb-policies';
import type { CallExplanation } from './resolver/explain-call';
import { registerXdsResolver } from './resolver/xds-scheme';
import type * as Explain from './runtime/explain-resources';
import { loadRuntime } from './runtime/load-runtime';
import type { XdsRuntime } from './runtime/xds-runtime';
import { systemClock } from './util/clock';
import { currentFeatureFlags } from './util/feature-flags';
import type { Logger, XdsLogger } from './util/logger';
import { currentProxyVariable, describeProxyVariable } from './util/proxy-variable';

/** How to set up the client. */
export interface RegisterOptions {
  /**
   * The bootstrap, as an object or as JSON text. Takes precedence over the environment variables
   * `GRPC_XDS_BOOTSTRAP` (a path) and `GRPC_XDS_BOOTSTRAP_CONFIG` (JSON text), which are read when a channel
   * first needs them.
   */
  readonly bootstrap?: object | string;
  /**
   * A file for the resources last accepted, so that the process can start while no management server is reachable.
   * They are used until a server responds, and are marked as stale in statuses, logs and CSDS. Written at least
   * a second after a change. A file that is damaged, or was saved for another node or other servers, is not used. Default: the
   * environment variable `GRPC_XDS_SNAPSHOT_PATH`, or else no file.
   */
  readonly snapshotPath?: string;
  /**
   * Upper bounds on the resources that the control plane, backends and callers can use in this process. They apply to
   * the whole process from its first channel on. Default: see docs/limits.md.
   */
  readonly limits?: Partial<Limits>;
  /**
   * The logger of the application, which receives every line with its fields in place of that of `@grpc/grpc-js`. Its
   * level can change at any time. Default: lines are written by `@grpc/grpc-js`: see `GRPC_VERBOSITY` and
   * `grpc.setLogVerbosity`, whose default shows what fails and what recovers.
   */
  readonly logger?: XdsLogger;
}

/** The registration of this process. */
interface Registration {
  /** The options of the latest call. */
  options: RegisterOptions;
  /** Loaded for the first channel. */
  runtime: XdsRuntime | undefined;
  /** Registers the scheme `xds:`, also after another package did. */
  takeScheme(): void;
}

/** The names in `RegisterOptions`, each listed once: an option that is added there has to be added here. */
const OPTIONS: Readonly<Record<keyof RegisterOptions, true>> = {
  bootstrap: true,
  limits: true,
  logger: true,
  snapshotPath: true,
};

let registration: Registration | undefined;

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
  checkOptions(options);
  resolveLimits(options.limits);
  checkHost();
  if (registration === undefined) {
    registration = announce(options);
  } else {
    registration.options = options;
    registration.runtime?.use(options);
  }
  registration.takeScheme();
}

function checkOptions(options: unknown): void {
  const known = Object.keys(OPTIONS).join(', ');
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`grpc-xds: register() takes an object with the options ${known}`);
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(OPTIONS, name)) continue;
    throw new TypeError(
      `grpc-xds: unknown option "${name}" of register(); the options are ${known}`,
    );
  }
  if ('logger' in options && options.logger !== undefined && !isLogger(options.logger)) {
    throw new TypeError('grpc-xds: the logger of register() must be an object with the method log');
  }
}

function isLogger(value: unknown): value is XdsLogger {
  return (
    typeof value === 'object' && value !== null && 'log' in value && typeof value.log === 'function'
  );
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
  if (runtime !== undefined) return runtime.explainCall(target, method, headers);
  const reason =
    registration === undefined
      ? 'register() of grpc-xds has not been called in this process'
      : 'no channel for an xds: target has been created in this process';
  return { kind: 'unrouted', reason, waitingFor: [] };
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

/** Loaded late, because it is for tests. */
function loadExplain(): typeof Explain {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./runtime/explain-resources');
}

/**
 * Reports the state of the xDS client of this process as plain JSON: targets, resources, servers, policies down to each
 * endpoint, certificates, and the last changes. Has no keys, tokens or credentials.
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
 */
export function dumpOnSignal(signal: NodeJS.Signals): () => void {
  const logger = createLogger(() => registration?.options);
  const handle = loadDumpOnSignal().dumpOnSignal(signal, () => inspect({ contents: true }), {
    clock: systemClock,
    logger,
  });
  return () => handle.release();
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
  return loadClientPage().serveClientPage(options, observed, systemClock);
}

/** Registers everything but the scheme with grpc-js; most code is loaded when a channel needs it. */
function announce(options: RegisterOptions): Registration {
  const logger = createLogger(() => current.options);
  const copies = new CopyWatch({ modules: loadedModules, clock: systemClock, logger });
  const flags = currentFeatureFlags();
  const runtime = () => {
    current.runtime ??= new (loadRuntime().XdsRuntime)({ logger, flags }, current.options);
    return current.runtime;
  };
  const current: Registration = {
    options,
    runtime: undefined,
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

/** Loaded late, because few processes report their state. */
function loadInspect(): typeof Inspect {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- as above
  return require('./admin/inspect');
}

function loadDumpOnSignal(): typeof DumpOnSignal {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- as above
  return require('./admin/dump-on-signal');
}

function loadClientPage(): typeof ClientPage {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- as above
  return require('./admin/page/client-page');
}

/** Loads CSDS on first use, since most processes have no admin services. */
function loadCsds(): typeof Csds {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./admin/csds');
}
