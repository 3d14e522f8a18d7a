import type { ServerOptions } from '../grpc-js';
import {
  checkArgument,
  checkOptions,
  FUNCTION,
  isRecord,
  listOf,
  MILLISECONDS,
  optional,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';

import { BOOTSTRAP } from '../runtime/register-options';
import {
  BOOTSTRAP_OPTION,
  CHILD_CHANNEL_OPTION,
  describeChannelOption,
} from '../util/channel-options';
import { XdsError } from '../util/xds-error';

/** Whether an address of a server is served. */
export type ServingState = 'SERVING' | 'NOT_SERVING';

/**
 * Notified of the state of an address.
 *
 * @param address The address as passed to `bindAsync`.
 * @param state Notified once per change to `SERVING`, and each time there is a reason not to serve.
 * @param error Why it is not served: names the resource, the management server and the node. `undefined` while it is served.
 */
export type ServingStateListener = (
  address: string,
  state: ServingState,
  error: Error | undefined,
) => void;

/** The options of an `XdsServer`, in addition to the options of a `Server` of `@grpc/grpc-js`. */
export interface XdsOptions {
  /**
   * The bootstrap of this server, as an object or as JSON text. Default: the bootstrap of `register()`, or else of the environment
   * variables `GRPC_XDS_BOOTSTRAP` and `GRPC_XDS_BOOTSTRAP_CONFIG`.
   */
  readonly bootstrap?: object | string | undefined;
  /**
   * Returns the name of the Listener of an address, such as `0.0.0.0:50051` or `[::]:50051`. Default: by
   * `server_listener_resource_name_template` of the bootstrap (gRFC A36).
   */
  readonly listenerName?: ((address: string) => string) | undefined;
  /** Called with each state of an address, until it is unbound or the server is shut down. States are also logged. */
  readonly onServingState?: ServingStateListener | undefined;
  /**
   * Milliseconds that open calls have to end after the GOAWAY of their connection, when a change of the Listener drains it (gRFC
   * A36). 0 cancels them at once, Infinity never. Default: 600,000.
   */
  readonly drainGraceTimeMs?: number | undefined;
  /** Milliseconds over which the drains of one change are spread, so that clients do not all reconnect at once. Default: 1,000. */
  readonly drainJitterMs?: number | undefined;
}

/** The options of an `XdsServer`, together with the options of a `Server` of `@grpc/grpc-js`. */
export interface XdsServerOptions extends ServerOptions, XdsOptions {}

const OBJECT: Rule = { legal: 'an object', accepts: isRecord };

const OPTIONS: MembersOf<XdsOptions> = {
  bootstrap: optional(BOOTSTRAP),
  listenerName: optional(FUNCTION),
  onServingState: optional(FUNCTION),
  drainGraceTimeMs: optional(MILLISECONDS),
  drainJitterMs: optional(MILLISECONDS),
};

/** What a server has in place of the options of channels. */
const INSTEAD = {
  [BOOTSTRAP_OPTION]: 'the option bootstrap of new XdsServer()',
  [CHILD_CHANNEL_OPTION]: 'the option childChannelOptions of register()',
};

const INTERCEPTORS = optional(listOf('a list of functions', FUNCTION));

/** As in gRFC A36. */
const DRAIN_GRACE_MS = 600_000;
const DRAIN_JITTER_MS = 1000;

/** The options with their defaults. */
export interface CheckedXdsOptions extends XdsOptions {
  readonly drainGraceTimeMs: number;
  readonly drainJitterMs: number;
}

/**
 * Checks the options of a server.
 *
 * @throws XdsError if one is unknown or has an invalid value. Those of grpc-js have a dot in their names.
 */
export function checkXdsServerOptions(options: XdsServerOptions): {
  readonly own: CheckedXdsOptions;
  readonly ofHost: ServerOptions;
} {
  checkArgument('new XdsServer()', 'options', options, OBJECT);
  const entries = Object.entries(options);
  const isOfHost = ([name]: readonly [string, unknown]) =>
    name === 'interceptors' || name.includes('.');
  const given = Object.fromEntries(entries.filter((entry) => !isOfHost(entry)));
  checkOptions('new XdsServer()', given, OPTIONS);
  for (const [name] of entries) {
    const problem = describeChannelOption(name, INSTEAD);
    if (problem !== undefined)
      throw new XdsError('XDS_OPTION_INVALID', `option of new XdsServer(): ${problem}`);
  }
  // grpc-js would fail in the first call, which ends the process.
  checkArgument('new XdsServer()', 'interceptors', options.interceptors, INTERCEPTORS);
  const { bootstrap, listenerName, onServingState } = options;
  const { drainGraceTimeMs = DRAIN_GRACE_MS, drainJitterMs = DRAIN_JITTER_MS } = options;
  return {
    own: { bootstrap, listenerName, onServingState, drainGraceTimeMs, drainJitterMs },
    ofHost: Object.fromEntries(entries.filter(isOfHost)),
  };
}
