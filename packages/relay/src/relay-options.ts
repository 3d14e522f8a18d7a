import { BOOTSTRAP } from 'grpc-xds/internal';
import {
  isRecord,
  LOGGER,
  oneOf,
  optional,
  POSITIVE_INTEGER,
  type MembersOf,
} from '../../../src/util/check-arguments';
import type { Logger } from '../../../src/util/logger';
import { LISTEN } from './listen-address';

/** The node that the management servers receive. */
export type RelayNode = 'own' | 'clients';

/** The options of a relay. */
export interface RelayOptions {
  /**
   * Where clients connect: `unix:/path`, or a loopback address and a port, such as `127.0.0.1:18000`; port 0 for any
   * free. A socket has the mode 0600. `systemd` and `systemd:NAME`: the socket that systemd has passed to this process, with the
   * mode and the owner that its unit has.
   */
  readonly listen: string;
  /** The management servers: a bootstrap as an object or JSON text (gRFC A27). Default: the bootstrap of the environment. */
  readonly bootstrap?: object | string;
  /**
   * The environment variables. `GRPC_XDS_RELAY` has no effect: a relay is not its own server. Default: the variables of the
   * process.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * The node that the management servers receive. `own`: the node of the bootstrap, for all clients on one stream. `clients`: `id`,
   * `cluster`, `locality` and `metadata` of each client, with a stream (ADS and LRS) for each distinct node. Default: `own`.
   */
  readonly node?: RelayNode;
  /** Distinct nodes with `node: 'clients'`. Clients with others are refused. Default: 100. */
  readonly maxNodes?: number;
  /** Bytes of one message of a management server. Default: 67,108,864. */
  readonly maxMessageBytes?: number;
  /** Bytes of the resources of all nodes, as estimated: see docs/limits.md. Default: 268,435,456. */
  readonly maxCachedBytes?: number;
  /** Default: no output. */
  readonly logger?: Logger;
}

export const RELAY_OPTIONS: MembersOf<RelayOptions> = {
  listen: LISTEN,
  bootstrap: optional(BOOTSTRAP),
  env: optional({ legal: 'an object of environment variables', accepts: isRecord }),
  node: optional(oneOf('own', 'clients')),
  maxNodes: optional(POSITIVE_INTEGER),
  maxMessageBytes: optional(POSITIVE_INTEGER),
  maxCachedBytes: optional(POSITIVE_INTEGER),
  logger: optional(LOGGER),
};
