import type { Bootstrap } from '../bootstrap/bootstrap';
import { resolveLimits } from '../bootstrap/limits';
import { loadBootstrap } from '../bootstrap/load-bootstrap';
import type { ListenAddress } from '../control-plane/grpc-listener';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { BOOTSTRAP } from '../runtime/register-options';
import { createServerAccess, type ServerAccess } from '../runtime/server-access';
import {
  checkOptions,
  CLOCK,
  isRecord,
  LOGGER,
  optional,
  POSITIVE_INTEGER,
  type MembersOf,
} from '../util/check-arguments';
import { systemClock, type Clock } from '../util/clock';
import { processVariables, readFeatureFlags } from '../util/feature-flags';
import { XxHash64 } from '../util/hashes';
import { containLogger, silentLogger, type Logger } from '../util/logger';
import { systemRandom } from '../util/random';
import { joinHostPort } from '../util/text';
import { PACKAGE_VERSION } from '../util/version';
import type { UserAgent } from '../xds-client/management-servers';
import {
  checkPassedSocket,
  findPassedSocket,
  LISTEN,
  parseListenAddress,
  pathOfSocket,
} from './listen-address';
import { freePath, listenPrivately } from './listen-path';
import type { RelayReport } from './relay-report';
import { RelaySession } from './relay-session';

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

/** The name that management servers receive. */
const USER_AGENT: UserAgent = { name: 'grpc-xds (relay)', version: PACKAGE_VERSION };

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'started'; readonly session: RelaySession; address: string | undefined };

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
  private readonly listen: ListenAddress;
  private readonly listenText: string;
  private readonly environment: PolicyEnvironment;
  private readonly access: ServerAccess;
  private readonly bootstrap: Bootstrap;
  private state: State = { kind: 'stopped' };

  /** @throws TypeError if an option is unknown or has an illegal value; Error if the bootstrap cannot be used. */
  constructor(options: RelayOptions) {
    checkOptions('new Relay()', options, OPTIONS);
    const { env = processVariables(), logger = silentLogger, clock = systemClock } = options;
    const { maxMessageBytes, maxCachedBytes } = options;
    const listen = findPassedSocket(options.listen, env) ?? parseListenAddress(options.listen);
    if (listen === undefined) throw new Error(`${options.listen}: not an address`);
    this.listen = listen;
    this.listenText = options.listen;
    this.environment = {
      ...{ clock, random: systemRandom, logger: containLogger(logger) },
      flags: readFeatureFlags(env),
      hash: new XxHash64(),
      limits: resolveLimits({ maxMessageBytes, maxCachedBytes }),
    };
    this.access = createServerAccess(this.environment, USER_AGENT);
    const loaded = loadBootstrap({
      env: { ...env, GRPC_XDS_RELAY: '' },
      ...{ inline: options.bootstrap, inlineSource: 'new Relay({ bootstrap })' },
      ...{ support: this.access.support, flags: this.environment.flags },
    });
    if (!loaded.ok) throw new Error(loaded.error.message);
    this.bootstrap = loaded.value;
  }

  /**
   * Starts to listen. Streams to the management servers are opened for the first client. May be called again after `stop`.
   *
   * @returns the address, in the form of `server_uri` of the clients.
   * @throws if the address cannot be used, such as a socket that another process listens on or that belongs to another user;
   * or if already started.
   */
  async start(): Promise<string> {
    if (this.state.kind !== 'stopped') throw new Error('the relay is already started');
    const { environment, access, bootstrap } = this;
    const session = new RelaySession({
      ...{ environment, bootstrap, userAgent: USER_AGENT },
      transportFactory: access.transportFactory,
      describe: () => this.inspect(),
    });
    const state: State = { kind: 'started', session, address: undefined };
    this.state = state;
    try {
      return (state.address = await this.bind(session));
    } catch (error) {
      if (this.state === state) this.state = { kind: 'stopped' };
      session.kill();
      throw error;
    }
  }

  /**
   * Ends the streams of clients with UNAVAILABLE, stops listening, reports the loads that clients have reported, and closes the
   * connections to the management servers.
   */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = { kind: 'stopped' };
    if (state.kind === 'started') await state.session.stop();
  }

  /** Closes all connections at once, as a crash does. */
  kill(): void {
    const { state } = this;
    this.state = { kind: 'stopped' };
    if (state.kind === 'started') state.session.kill();
  }

  /** Returns the state of the relay and of its clients, a copy. */
  inspect(): RelayReport {
    const { state } = this;
    const nothing = { servers: [], types: [], clients: [], loadClients: [] };
    return {
      pid: process.pid,
      address: state.kind === 'started' ? state.address : undefined,
      nodeId: this.bootstrap.node.id,
      ...(state.kind === 'started' ? state.session.inspect() : nothing),
    };
  }

  private async bind(session: RelaySession): Promise<string> {
    const { listen } = this;
    if ('path' in listen) {
      await freePath(listen.path);
      await listenPrivately(listen.path, () => session.start(listen));
      return `unix:${listen.path}`;
    }
    if ('fd' in listen) {
      await session.start(listen);
      checkPassedSocket(this.listenText, session.address);
      const path = pathOfSocket(listen.fd);
      return session.address ?? (path === undefined ? `fd:${listen.fd}` : `unix:${path}`);
    }
    return joinHostPort(listen.host, await session.start(listen));
  }
}
