import type * as Csds from './admin/csds';
import type { ObserveClients } from './admin/status-queue';
import { resolveLimits, type Limits } from './bootstrap/limits';
import { Metadata, registerAdminService } from './grpc-js';
import { checkHost } from './grpc-js/check-host';
import { CopyWatch } from './grpc-js/copy-watch';
import { createGrpcLogger, currentTracers } from './grpc-js/grpc-logger';
import { loadedModules } from './grpc-js/other-copies';
import { policyNames, registerLbPolicies } from './lb/registry/register-lb-policies';
import type { CallExplanation } from './resolver/explain-call';
import { registerXdsResolver } from './resolver/xds-scheme';
import { loadRuntime } from './runtime/load-runtime';
import type { XdsRuntime } from './runtime/xds-runtime';
import { systemClock } from './util/clock';
import { currentFeatureFlags } from './util/feature-flags';
import type { Logger } from './util/logger';
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
   * A file to keep the resources in that were last accepted, so that the process can start when no management
   * server can be reached. They are used until a server answers, and everything said about them says that they
   * are stale. Written a second after a change at the earliest. A file that is damaged, or was saved for another
   * node or other servers, is not used. Default: the environment variable `GRPC_XDS_SNAPSHOT_PATH`, or else
   * nothing is kept.
   */
  readonly snapshotPath?: string;
  /**
   * Bounds on what the control plane, backends and callers can make this process spend. They are in force from the
   * first channel on, and are those of the whole process. Default: see docs/limits.md.
   */
  readonly limits?: Partial<Limits>;
}

/** What this process was set up with. */
interface Registration {
  /** Those of the latest call. */
  options: RegisterOptions;
  /** Loaded for the first channel. */
  runtime: XdsRuntime | undefined;
  /** Makes `xds:` targets be resolved by this package, whichever package registered the scheme before. */
  takeScheme(): void;
}

/** The names in `RegisterOptions`, each listed once: an option that is added there has to be added here. */
const OPTIONS: Readonly<Record<keyof RegisterOptions, true>> = {
  bootstrap: true,
  limits: true,
  snapshotPath: true,
};

let registration: Registration | undefined;

/**
 * Makes `xds:` targets work in `@grpc/grpc-js` (gRFC A27). To be called once, before the first channel for such
 * a target is made, which is when most of the code is loaded. A later call replaces the bootstrap for the channels
 * made from then on, and takes the scheme back from a package that registered it in between.
 *
 * Never throws for a bootstrap that is bad or missing: calls fail with a status that says what is wrong.
 *
 * @throws TypeError if an option or a limit is unknown, or a limit is not a positive whole number.
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
  return registration?.runtime?.explainCall(target, method, headers);
}

/** Registers everything but the scheme with grpc-js; the code behind it is loaded when a channel needs it. */
function announce(options: RegisterOptions): Registration {
  const logger = createGrpcLogger(currentTracers());
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

/** A channel that goes to a proxy never gets to a resolver, so that nothing else can say why its calls fail. */
function reportProxy(logger: Logger): void {
  const proxy = currentProxyVariable();
  if (proxy !== undefined) logger.error(() => describeProxyVariable(proxy));
}

/** Makes CSDS one of the services that `addAdminServicesToServer` of the host library adds (gRFCs A38, A40). */
function offerStatus(observe: ObserveClients): void {
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
