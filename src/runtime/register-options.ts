import { checkOptionNames } from '../util/check-arguments';
import type { BootstrapConfig } from '../bootstrap/bootstrap-config';
import type { Limits } from '../bootstrap/limits';
import { CheckedChildOptions, type ChildChannelOptions } from '../grpc-js/child-channel-options';
import type { XdsLogger } from '../util/logger';

/** How to set up the client. */
export interface RegisterOptions {
  /**
   * The bootstrap, as an object or as JSON text. Takes precedence over the environment variables
   * `GRPC_XDS_BOOTSTRAP` (a path) and `GRPC_XDS_BOOTSTRAP_CONFIG` (JSON text), which are read when a channel
   * first needs them.
   */
  readonly bootstrap?: BootstrapConfig | string;
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
   * `grpc.setLogVerbosity`, whose default shows what fails.
   */
  readonly logger?: XdsLogger;
  /**
   * The level of the lines that say that a failure is over. With `error` they are shown wherever its line was. Default:
   * `info`.
   */
  readonly recoveryLevel?: 'info' | 'error';
  /**
   * Headers whose values are hidden wherever the configuration is shown: in `inspect()`, on the live page, in CSDS and in
   * dumps. An empty list hides none. Default: `authorization`, `proxy-authorization`, `cookie` and `set-cookie`.
   */
  readonly hiddenHeaders?: readonly string[];
  /**
   * Options of child channels (gRFC A110), which are the connections to management servers and secret discovery servers:
   * keepalive, user agent, interceptors and others. For channels created from then on; a channel can have its own, which take
   * precedence one by one, in its option `grpc_xds.child_channel_options`. Channels with the same bootstrap share their
   * connections, which have the options of the first of them. Default: none.
   */
  readonly childChannelOptions?: ChildChannelOptions;
}

/** How to shut the client down. */
export interface ShutdownOptions {
  /**
   * How long to wait, in milliseconds, for the calls in progress whose load is reported, and for the last load reports.
   * What has not been reported by then is lost; the calls themselves go on. Default: 5000.
   */
  readonly timeoutMs?: number;
}

/** The names in `RegisterOptions`, each listed once: an option that is added there has to be added here. */
const OPTIONS: Readonly<Record<keyof RegisterOptions, true>> = {
  bootstrap: true,
  childChannelOptions: true,
  hiddenHeaders: true,
  limits: true,
  logger: true,
  recoveryLevel: true,
  snapshotPath: true,
};

/** Default of `ShutdownOptions.timeoutMs`. */
const SHUTDOWN_TIMEOUT_MS = 5000;

/** Checks the options of `register()`. @throws TypeError if one is unknown or has a value that it cannot have. */
export function checkRegisterOptions(options: unknown): void {
  const values = checkOptionNames('register', options, Object.keys(OPTIONS));
  const { logger, childChannelOptions, hiddenHeaders, recoveryLevel, snapshotPath } = values;
  readChildOptions(childChannelOptions);
  if (logger !== undefined && !isLogger(logger)) {
    throw new TypeError('grpc-xds: the logger of register() must be an object with the method log');
  }
  if (hiddenHeaders !== undefined && !isTextList(hiddenHeaders)) {
    throw new TypeError('grpc-xds: hiddenHeaders of register() must be a list of names of headers');
  }
  if (recoveryLevel !== undefined && recoveryLevel !== 'info' && recoveryLevel !== 'error') {
    throw new TypeError("grpc-xds: recoveryLevel of register() must be 'info' or 'error'");
  }
  if (snapshotPath !== undefined && typeof snapshotPath !== 'string') {
    throw new TypeError('grpc-xds: snapshotPath of register() must be a string');
  }
}

/** The name of the options of the child channels of a process in messages. */
export const REGISTERED_CHILD_OPTIONS = 'childChannelOptions of register()';

/** Returns the options of child channels; `undefined` if there are none. @throws TypeError if they cannot be used. */
export function readChildOptions(options: unknown): CheckedChildOptions | undefined {
  if (options === undefined) return undefined;
  const checked = CheckedChildOptions.check(options);
  if (checked.ok) return checked.value;
  throw new TypeError(`grpc-xds: ${REGISTERED_CHILD_OPTIONS}: ${checked.error}`);
}

/** Returns the timeout of `shutdown()` in milliseconds. @throws TypeError as `checkRegisterOptions` does. */
export function readShutdownTimeout(options: unknown): number {
  const { timeoutMs = SHUTDOWN_TIMEOUT_MS } = checkOptionNames('shutdown', options, ['timeoutMs']);
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return timeoutMs;
  throw new TypeError('grpc-xds: timeoutMs of shutdown() must be a number of milliseconds from 0');
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === 'string');
}

function isLogger(value: unknown): value is XdsLogger {
  return (
    typeof value === 'object' && value !== null && 'log' in value && typeof value.log === 'function'
  );
}
