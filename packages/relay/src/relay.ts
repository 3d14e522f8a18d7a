import { START_OPTIONS, type StartOptions } from '../../../src/util/abort';
import { BOOLEAN, checkOptions, optional, type MembersOf } from '../../../src/util/check-arguments';
import { RELAY_OPTIONS, type RelayOptions } from './relay-options';
import type { RelayReport } from './relay-report';
import { RelayServer } from './relay-server';

/** The options of `Relay.close`. */
export interface CloseOptions {
  /** Closes all connections at once, as a crash would, and reports no loads. Default: false. */
  readonly force?: boolean;
}

const CLOSE_OPTIONS: MembersOf<CloseOptions> = { force: optional(BOOLEAN) };

/**
 * Shares one stream to the management servers among several processes. To the servers it is a client, which subscribes to
 * everything that its own clients subscribe to; to its clients it is a server (ADS in both variants, and LRS). It passes
 * resources on as the bytes it received. The last ones are served while no server can be reached.
 *
 * @example
 * ```ts
 * import { Relay } from 'grpc-xds-relay';
 *
 * const relay = new Relay({ listen: 'unix:/run/grpc-xds.sock' });
 * const serverUri = await relay.start();
 * process.once('SIGTERM', () => void relay.close());
 * ```
 */
export class Relay {
  private readonly server: RelayServer;

  /** @throws XdsError if an option is unknown or invalid, or if the bootstrap cannot be used. */
  constructor(options: RelayOptions) {
    checkOptions('new Relay()', options, RELAY_OPTIONS);
    this.server = new RelayServer(options, 'new Relay({ bootstrap })');
  }

  /**
   * Starts to listen. Streams to the management servers are opened for the first client. May be called again after `close`.
   *
   * @returns the address, in the form of `server_uri` of the clients.
   * @throws XdsError if the address cannot be used, such as a socket that another process listens on or that belongs to another user;
   * or if already started.
   */
  async start(options: StartOptions = {}): Promise<string> {
    checkOptions('Relay.start()', options, START_OPTIONS);
    return this.server.start({ signal: options.signal });
  }

  /**
   * Waits for the last load reports of clients and reports their loads, which takes up to 1.2 seconds; then stops listening, ends the
   * streams of clients with UNAVAILABLE, and closes the connections to the management servers.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('Relay.close()', options, CLOSE_OPTIONS);
    if (options.force === true) this.server.kill();
    else await this.server.stop();
  }

  /** Returns the state of the relay and of its clients, a copy. */
  inspect(): RelayReport {
    return this.server.inspect();
  }
}
