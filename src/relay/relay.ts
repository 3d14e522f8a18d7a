import {
  checkOptions,
  CLOCK,
  isRecord,
  LOGGER,
  optional,
  POSITIVE_INTEGER,
  type MembersOf,
} from '../util/check-arguments';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import { BOOTSTRAP } from '../runtime/register-options';
import { LISTEN } from './listen-address';
import type { RelayReport } from './relay-report';
import { RelayServer } from './relay-server';

/** The options of a relay. */
export interface RelayOptions {
  /**
   * Where clients connect: `unix:/path`, or a loopback address and a port, such as `127.0.0.1:18000`; port 0 takes any that is
   * free. A socket has the mode 0600. `systemd` and `systemd:NAME`: the socket that systemd has passed to this process, with the
   * mode and the owner that its unit has.
   */
  readonly listen: string;
  /** The management servers: a bootstrap as an object or JSON text (gRFC A27). Default: that of the environment. */
  readonly bootstrap?: object | string;
  /**
   * The environment variables. `GRPC_XDS_RELAY` has no effect: a relay is not its own server. Default: those of the process.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Bytes of one message of a management server. Default: 67,108,864. */
  readonly maxMessageBytes?: number;
  /** Bytes of the resources of one management server, as estimated: see docs/limits.md. Default: 268,435,456. */
  readonly maxCachedBytes?: number;
  /** Default: no output. */
  readonly logger?: Logger;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const OPTIONS: MembersOf<RelayOptions> = {
  listen: LISTEN,
  bootstrap: optional(BOOTSTRAP),
  env: optional({ legal: 'an object of environment variables', accepts: isRecord }),
  maxMessageBytes: optional(POSITIVE_INTEGER),
  maxCachedBytes: optional(POSITIVE_INTEGER),
  logger: optional(LOGGER),
  clock: optional(CLOCK),
};

/**
 * One stream to the management servers for several processes: a client of the servers, with the union of what its own clients
 * subscribe to, and a server for those (ADS in both variants, and LRS). Resources are handed on as the bytes they came in. The
 * last ones are served while no server can be reached.
 *
 * @example
 * ```ts
 * import { Relay } from 'grpc-xds/relay';
 *
 * const relay = new Relay({ listen: 'unix:/run/grpc-xds.sock' });
 * const serverUri = await relay.start();
 * process.once('SIGTERM', () => void relay.stop());
 * ```
 */
export class Relay {
  private readonly server: RelayServer;

  /** @throws TypeError if an option is unknown or has an illegal value; Error if the bootstrap cannot be used. */
  constructor(options: RelayOptions) {
    checkOptions('new Relay()', options, OPTIONS);
    this.server = new RelayServer(options, 'new Relay({ bootstrap })');
  }

  /**
   * Starts to listen. Streams to the management servers are opened for the first client. May be called again after `stop`.
   *
   * @returns the address, in the form of `server_uri` of the clients.
   * @throws if the address cannot be used, such as a socket that another process listens on or that belongs to another user;
   * or if already started.
   */
  start(): Promise<string> {
    return this.server.start();
  }

  /**
   * Reports the loads that clients have reported, which takes up to a second, and acknowledges them; then stops listening, ends the
   * streams of clients, those of resources with UNAVAILABLE, and closes the connections to the management servers.
   */
  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Closes all connections at once, as a crash does. */
  kill(): void {
    this.server.kill();
  }

  /** Returns the state of the relay and of its clients, a copy. */
  inspect(): RelayReport {
    return this.server.inspect();
  }
}
