import type { BootstrapConfig } from '../bootstrap/bootstrap-config';
import { LIMITS, type Limits } from '../bootstrap/limits';
import type * as ChildOptions from '../grpc-js/child-channel-options';
import type { CheckedChildOptions, ChildChannelOptions } from '../grpc-js/child-channel-options';
import {
  BOOLEAN,
  checkOptions,
  HEADER_NAME,
  listOf,
  MILLISECONDS,
  objectOf,
  oneOf,
  optional,
  TEXT,
  type MembersOf,
  type Rule,
  isRecord,
} from '../util/check-arguments';
import { lazy } from '../util/lazy';
import type { Logger, XdsLogger } from '../util/logger';
import type * as ApplicationLoggers from '../util/application-logger';
import type { LevelLogger } from '../util/application-logger';
import type * as UnixSocket from '../util/unix-socket';
import { XdsError } from '../util/xds-error';

/** Loaded lazily, because few processes have such options. */
const loadChildOptions = lazy<typeof ChildOptions>(() =>
  require('../grpc-js/child-channel-options'),
);
const loadLoggers = lazy<typeof ApplicationLoggers>(() => require('../util/application-logger'));

/** Loaded lazily, because few processes share their streams. */
const loadSockets = lazy<typeof UnixSocket>(() => require('../util/unix-socket'));

/** The options of `register()`. */
export interface RegisterOptions {
  /**
   * The bootstrap, as an object or as JSON text. Takes precedence over the environment variables
   * `GRPC_XDS_BOOTSTRAP` (a path) and `GRPC_XDS_BOOTSTRAP_CONFIG` (JSON text), which are read when a channel
   * first needs them.
   */
  readonly bootstrap?: BootstrapConfig | string;
  /**
   * A file for the last accepted resources, so that the process can start while no management server is reachable.
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
   * The logger of the application, which receives every line with its fields instead of the logger of `@grpc/grpc-js`: an object
   * with the method `log`, or `console`, or a logger of pino, bunyan, winston and others with a method for each level. Its level
   * can change at any time. Default: lines are written by `@grpc/grpc-js`: see `GRPC_VERBOSITY` and `grpc.setLogVerbosity`, whose
   * default shows what fails.
   */
  readonly logger?: XdsLogger | LevelLogger;
  /**
   * The level of lines about recoveries. With `error`, they appear wherever the failure did. Default: `info`; `error` in a process
   * with an `XdsServer` (gRFC A36).
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
  /**
   * Reads the bootstrap at once, and throws if it is missing or invalid, so that the application does not start without one.
   * `ready` also waits for the management server. Default: `false`: calls fail with the error, and a file that an agent writes
   * later is found.
   */
  readonly requireBootstrap?: boolean;
  /**
   * Shares the streams to the management servers among the processes of this host with the same value: the absolute path of a Unix
   * socket, such as `/run/shop.sock`, for processes of one user, such as the workers of `node:cluster`, also in several containers;
   * or `threads`, for the worker threads of this process. One of them serves the others as `grpc-xds relay` does; when it ends,
   * another one takes over. While none can, or if the relay has other management servers than the bootstrap, each process uses its
   * own streams. Each bootstrap of a process has its own relay. Needs the package `grpc-xds-relay`. Takes precedence over
   * `GRPC_XDS_RELAY`. Default: the environment variable `GRPC_XDS_SHARE`, or else nothing is shared.
   */
  readonly share?: string;
}

/** The options of `shutdown()`. */
export interface ShutdownOptions {
  /**
   * How long to wait, in milliseconds, for the calls in progress whose load is reported, and for the last load reports.
   * Load that is not reported by then is lost; the calls themselves continue. Default: 5000.
   */
  readonly timeoutMs?: number;
}

/** What the options must be whose rules have code of their own. */
const CHILD_OPTIONS: Rule = {
  legal: 'an object of channel options',
  accepts: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};
const LOGGER: Rule = {
  legal: 'an object with the method log, or with the methods error and info',
  accepts: (value) => loadLoggers().isLogger(value),
};
/** What the bootstrap of an option must be, before it is parsed. */
export const BOOTSTRAP: Rule = {
  legal: 'an object or JSON text',
  accepts: (value) => typeof value === 'string' || isRecord(value),
  names: ['xds_servers', 'node', 'authorities', 'certificate_providers'],
  isSecret: true,
};

const SHARE: Rule = {
  legal:
    '"threads", or the absolute path of a socket in a folder that all processes can write, such as "/run/shop.sock" (also for ' +
    'the workers of node:cluster)',
  accepts: (value) => typeof value === 'string' && /^(?:threads$|\/[^\0]*[^\0/]$)/.test(value),
};

const OPTIONS: MembersOf<RegisterOptions> = {
  bootstrap: optional(BOOTSTRAP),
  childChannelOptions: optional(CHILD_OPTIONS),
  hiddenHeaders: optional(listOf('a list of names of headers', HEADER_NAME)),
  limits: optional(objectOf(LIMITS)),
  logger: optional(LOGGER),
  recoveryLevel: optional(oneOf('info', 'error')),
  requireBootstrap: optional(BOOLEAN),
  share: optional(SHARE),
  snapshotPath: optional(TEXT),
};

const SHUTDOWN_OPTIONS: MembersOf<ShutdownOptions> = { timeoutMs: optional(MILLISECONDS) };

/** Default of `ShutdownOptions.timeoutMs`. */
const SHUTDOWN_TIMEOUT_MS = 5000;

/** Options that have been checked. */
export interface CheckedOptions extends RegisterOptions {
  readonly logger?: XdsLogger;
}

/**
 * Checks the options of `register()`.
 *
 * @returns a copy, whose logger has the form of this package.
 * @throws XdsError if one is unknown or has an invalid value.
 */
export function checkRegisterOptions(options: RegisterOptions): CheckedOptions {
  checkOptions('register()', options, OPTIONS);
  const { logger, ...others } = options;
  readChildOptions(others.childChannelOptions);
  const problem = findShareProblem(others.share);
  if (problem !== undefined)
    throw new XdsError('XDS_OPTION_INVALID', `share of register(): ${problem}`);
  if (logger === undefined) return others;
  return { ...others, logger: loadLoggers().adaptLogger(logger) };
}

/** The variable in place of `RegisterOptions.share`. */
export const SHARE_VARIABLE = 'GRPC_XDS_SHARE';

/** Returns how the streams of the process are shared, of its options or its environment; `undefined` if they are not. */
export function readShare(
  { share }: Pick<RegisterOptions, 'share'>,
  env: NodeJS.ProcessEnv,
  logger: Pick<Logger, 'error'>,
): string | undefined {
  const variable = env[SHARE_VARIABLE] ?? '';
  if (share !== undefined || variable === '') return share;
  const problem = SHARE.accepts(variable)
    ? findShareProblem(variable)
    : `it must be ${SHARE.legal}`;
  if (problem === undefined) return variable;
  logger.error(() => `${SHARE_VARIABLE} has no effect: ${problem}`);
  return undefined;
}

/** Returns why a value that is legal otherwise cannot be the path of a socket. */
function findShareProblem(share: string | undefined): string | undefined {
  const isPath = share !== undefined && share !== 'threads';
  return isPath ? loadSockets().findPathProblem(share) : undefined;
}

/** The name of the options of the child channels of a process in messages. */
export const REGISTERED_CHILD_OPTIONS = 'childChannelOptions of register()';

/** Returns the options of child channels; `undefined` if there are none. @throws XdsError if they cannot be used. */
export function readChildOptions(options: unknown): CheckedChildOptions | undefined {
  if (options === undefined) return undefined;
  const checked = loadChildOptions().CheckedChildOptions.check(options);
  if (checked.ok) return checked.value;
  throw new XdsError('XDS_OPTION_INVALID', `${REGISTERED_CHILD_OPTIONS}: ${checked.error}`);
}

/** Returns the timeout of `shutdown()` in milliseconds. @throws XdsError as `checkRegisterOptions` does. */
export function readShutdownTimeout(options: ShutdownOptions): number {
  checkOptions('shutdown()', options, SHUTDOWN_OPTIONS);
  return options.timeoutMs ?? SHUTDOWN_TIMEOUT_MS;
}
