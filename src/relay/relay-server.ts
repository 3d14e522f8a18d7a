import type { Bootstrap } from '../bootstrap/bootstrap';
import { resolveLimits } from '../bootstrap/limits';
import { loadBootstrap } from '../bootstrap/load-bootstrap';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { createServerAccess, type ServerAccess } from '../runtime/server-access';
import { systemClock } from '../util/clock';
import { processVariables, readFeatureFlags, type Environment } from '../util/feature-flags';
import { XxHash64 } from '../util/hashes';
import { containLogger, silentLogger } from '../util/logger';
import { systemRandom } from '../util/random';
import { joinHostPort } from '../util/text';
import { PACKAGE_VERSION } from '../util/version';
import type { UserAgent } from '../xds-client/management-servers';
import { ClaimedPath } from './claimed-path';
import type { InheritedResource } from './inherited-resources';
import {
  checkPassedSocket,
  findPassedSocket,
  LISTEN,
  parseListenAddress,
  pathOfSocket,
  type RelayAddress,
} from './listen-address';
import type { RelayReport } from './relay-report';
import type { RelayNode, RelayOptions } from './relay-options';
import { DEFAULT_MAX_NODES } from './limits';
import { RelaySession, type RelayHost } from './relay-session';

/** The options of a relay, of which another host than a socket may serve it. */
export interface RelayServerOptions extends Omit<RelayOptions, 'listen'> {
  readonly listen: string | RelayHost;
}

/** The name that management servers receive. */
const USER_AGENT: UserAgent = { name: 'grpc-xds (relay)', version: PACKAGE_VERSION };

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'started'; readonly session: RelaySession; bound: Bound | undefined };

/** An address that is listened on. */
interface Bound {
  /** In the form of `server_uri`. */
  readonly address: string;
  readonly claim: ClaimedPath | undefined;
}

/** What a relay takes over at its start. */
export interface RelayStart {
  /** The path of `listen`, if it has been claimed. The relay releases it when it ends. */
  readonly claim?: ClaimedPath;
  /**
   * Resources that a client of the process has accepted, which are served while no server can be reached and until one has
   * answered. Default: none.
   */
  readonly inherited?: Iterable<InheritedResource>;
}

/** The server of a relay, and its options. See `Relay`. */
export class RelayServer {
  private readonly listen: RelayAddress | RelayHost;
  private readonly listenText: string;
  private readonly environment: PolicyEnvironment;
  private readonly access: ServerAccess;
  private readonly bootstrap: Bootstrap;
  private readonly node: RelayNode;
  private readonly maxNodes: number;
  private state: State = { kind: 'stopped' };

  /**
   * @param caller Whose options they are, in messages.
   * @throws Error if the bootstrap cannot be used.
   */
  constructor(options: RelayServerOptions, caller: string) {
    const { env = processVariables(), logger = silentLogger, clock = systemClock } = options;
    const { listen, node = 'own', maxNodes = DEFAULT_MAX_NODES } = options;
    const { maxMessageBytes, maxCachedBytes } = options;
    this.node = node;
    this.maxNodes = maxNodes;
    const address = isHost(listen) ? listen : findAddress(listen, env);
    if (address === undefined) throw new TypeError(`${caller}: listen must be ${LISTEN.legal}`);
    this.listen = address;
    this.listenText = typeof listen === 'string' ? listen : '';
    this.environment = {
      ...{ clock, random: systemRandom, logger: containLogger(logger) },
      flags: readFeatureFlags(env),
      hash: new XxHash64(),
      limits: resolveLimits({ maxMessageBytes, maxCachedBytes }),
    };
    this.access = createServerAccess(this.environment, USER_AGENT);
    const loaded = loadBootstrap({
      env: { ...env, GRPC_XDS_RELAY: '' },
      ...{ inline: options.bootstrap, inlineSource: caller },
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
  async start({ claim, inherited = [] }: RelayStart = {}): Promise<string> {
    if (this.state.kind !== 'stopped') throw new Error('the relay is already started');
    const { environment, access, bootstrap } = this;
    const { node, maxNodes } = this;
    const session = new RelaySession({
      ...{ environment, bootstrap, node, maxNodes, inherited, userAgent: USER_AGENT },
      transportFactory: access.transportFactory,
      describe: () => this.inspect(),
    });
    const state: State = { kind: 'started', session, bound: undefined };
    this.state = state;
    try {
      const bound = await this.bind(session, claim);
      if (this.state !== state) {
        bound.claim?.release();
        throw new Error('the relay was stopped while it was starting');
      }
      state.bound = bound;
      return bound.address;
    } catch (error) {
      if (this.state === state) this.state = { kind: 'stopped' };
      session.kill();
      throw error;
    }
  }

  /**
   * Reports the loads that clients have reported, which takes up to a second, and acknowledges them; then stops listening, ends the
   * streams of clients, those of resources with UNAVAILABLE, and closes the connections to the management servers.
   */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = { kind: 'stopped' };
    if (state.kind !== 'started') return;
    state.bound?.claim?.release();
    await state.session.stop();
  }

  /** Closes all connections at once, as a crash does. */
  kill(): void {
    const { state } = this;
    this.state = { kind: 'stopped' };
    if (state.kind !== 'started') return;
    // Its file stays.
    state.bound?.claim?.server.close();
    state.session.kill();
  }

  /** Returns the state of the relay and of its clients, a copy. */
  inspect(): RelayReport {
    const { state } = this;
    const nothing = { servers: [], types: [], nodes: [], clients: [], loadClients: [] };
    return {
      pid: process.pid,
      address: state.kind === 'started' ? state.bound?.address : undefined,
      nodeId: this.bootstrap.node.id,
      node: this.node,
      maxNodes: this.maxNodes,
      ...(state.kind === 'started' ? state.session.inspect() : nothing),
    };
  }

  private async bind(session: RelaySession, claimed: ClaimedPath | undefined): Promise<Bound> {
    const { listen } = this;
    if ('start' in listen) return { address: session.serve(listen), claim: undefined };
    if ('path' in listen) {
      const claim = claimed ?? (await ClaimedPath.claim(listen.path));
      // A relay of its own keeps its process alive.
      if (claimed === undefined) claim.server.ref();
      try {
        await session.start(claim);
      } catch (error) {
        claim.release();
        throw error;
      }
      return { address: `unix:${listen.path}`, claim };
    }
    if ('fd' in listen) {
      await session.start(listen);
      checkPassedSocket(this.listenText, session.address);
      const path = pathOfSocket(listen.fd);
      const address = session.address ?? (path === undefined ? `fd:${listen.fd}` : `unix:${path}`);
      return { address, claim: undefined };
    }
    return { address: joinHostPort(listen.host, await session.start(listen)), claim: undefined };
  }
}

function isHost(value: string | RelayHost): value is RelayHost {
  return typeof value === 'object';
}

function findAddress(text: string, env: Environment): RelayAddress | undefined {
  return findPassedSocket(text, env) ?? parseListenAddress(text);
}
