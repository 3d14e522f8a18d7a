import { type Bootstrap, type InheritedResource, RelayRuntime } from 'grpc-xds/internal';
import { abortable } from '../../../src/util/abort';
import { systemClock, type Clock } from '../../../src/util/clock';
import { processVariables, type Environment } from '../../../src/util/feature-flags';
import { silentLogger } from '../../../src/util/logger';
import { joinHostPort, sanitizeText } from '../../../src/util/text';
import { PACKAGE_VERSION } from '../../../src/util/version';
import { ClaimedPath } from './claimed-path';
import {
  checkPassedSocket,
  findPassedPathProblem,
  findPassedSocket,
  isSameAddress,
  LISTEN,
  parseListenAddress,
  pathOfSocket,
  type RelayAddress,
} from './listen-address';
import { KeptPath } from './kept-path';
import type { RelayIdentity } from './relay-identity';
import type { RelayReport } from './relay-report';
import type { RelayNode, RelayOptions } from './relay-options';
import { DEFAULT_MAX_NODES } from './limits';
import { RelaySession } from './relay-session';
import { describeUpstream } from './upstream';
import { errorMessage } from '../../../src/util/errors';
import { XdsError } from 'grpc-xds';

/** The options of a relay of this package. */
export interface RelayServerOptions extends RelayOptions {
  /** The bootstrap, if it has been loaded. Default: that of the other options. */
  readonly loaded?: Bootstrap | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

type State =
  | { readonly kind: 'stopped' }
  | {
      readonly kind: 'started';
      readonly session: RelaySession;
      readonly startedAtMs: number;
      bound: Bound | undefined;
    };

/** An address that is listened on. */
interface Bound {
  /** In the form of `server_uri`. */
  readonly address: string;
  /** The path of a socket; `undefined` of other addresses. */
  readonly path?: BoundPath;
}

/** The path of a socket that a relay listens on. */
interface BoundPath {
  /** Removes the socket and stops listening. */
  release(): void;
  /** Stops listening, as a crash does: the file stays. */
  abandon(): void;
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
  /** Gives up this start. */
  readonly signal?: AbortSignal | undefined;
}

/** The server of a relay, and its options. See `Relay`. */
export class RelayServer {
  private readonly listen: RelayAddress;
  private readonly listenText: string;
  private readonly runtime: RelayRuntime;
  private readonly bootstrap: Bootstrap;
  private readonly node: RelayNode;
  private readonly maxNodes: number;
  private state: State = { kind: 'stopped' };
  private readonly stopping = new Set<RelaySession>();

  /**
   * @param caller Whose options they are, in messages.
   * @throws XdsError if the bootstrap cannot be used.
   */
  constructor(options: RelayServerOptions, caller: string) {
    const { env = processVariables(), logger = silentLogger, clock = systemClock } = options;
    const { listen, node = 'own', maxNodes = DEFAULT_MAX_NODES } = options;
    const { maxMessageBytes, maxCachedBytes } = options;
    this.node = node;
    this.maxNodes = maxNodes;
    const address = findAddress(listen, env);
    if (address === undefined)
      throw new XdsError('XDS_OPTION_INVALID', `${caller}: listen must be ${LISTEN.legal}`);
    this.listen = address;
    this.listenText = listen;
    const limits = { maxMessageBytes, maxCachedBytes };
    this.runtime = new RelayRuntime({ env, clock, logger, limits });
    this.bootstrap = options.loaded ?? this.runtime.loadBootstrap(options.bootstrap, caller);
    if (options.loaded === undefined) this.checkServers(address);
  }

  /** @throws XdsError if one of the management servers is the relay itself. */
  private checkServers(address: RelayAddress): void {
    const { servers, authorities, source } = this.bootstrap;
    const named = [...authorities.values()].flatMap((authority) => authority.servers);
    const own = [...servers, ...named].find(({ serverUri }) => isSameAddress(serverUri, address));
    if (own === undefined) return;
    throw new XdsError(
      'XDS_BOOTSTRAP_INVALID',
      `${this.listenText}: the bootstrap of the relay (${source}) names the relay itself as a management server, ${own.serverUri}: it needs those above it`,
    );
  }

  /**
   * Starts to listen. Streams to the management servers are opened for the first client. May be called again after `stop`.
   *
   * @returns the address, in the form of `server_uri` of the clients.
   * @throws XdsError if the address cannot be used, such as a socket that another process listens on or that belongs to another user;
   * or if already started.
   */
  async start({ signal, ...start }: RelayStart = {}): Promise<string> {
    if (this.state.kind !== 'stopped')
      throw new XdsError('XDS_STATE_INVALID', 'the relay is already started');
    return abortable(
      signal,
      () => this.startSession(start),
      () => void this.stop(),
    );
  }

  private async startSession({ claim, inherited = [] }: RelayStart): Promise<string> {
    const { runtime, bootstrap, node, maxNodes } = this;
    const session = new RelaySession({
      runtime,
      bootstrap,
      node,
      maxNodes,
      inherited,
      identify: () => this.identify(),
      describe: () => this.inspect(),
    });
    const startedAtMs = runtime.clock.now();
    const state: State = { kind: 'started', session, startedAtMs, bound: undefined };
    this.state = state;
    try {
      const bound = await this.bind(session, claim);
      if (this.state !== state) {
        bound.path?.release();
        throw new XdsError('XDS_STATE_INVALID', 'the relay was stopped while it was starting');
      }
      state.bound = bound;
      return bound.address;
    } catch (error) {
      if (this.state === state) this.state = { kind: 'stopped' };
      session.kill();
      throw error instanceof XdsError
        ? error
        : new XdsError('XDS_LISTEN_FAILED', errorMessage(error), { cause: error });
    }
  }

  /**
   * Waits for the last load reports of clients and reports their loads, which takes up to 1.2 seconds; then stops listening, ends the
   * streams of clients with UNAVAILABLE, and closes the connections to the management servers.
   */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = { kind: 'stopped' };
    if (state.kind !== 'started') return;
    state.bound?.path?.release();
    this.stopping.add(state.session);
    await state.session.stop();
    this.stopping.delete(state.session);
  }

  /** Closes all connections at once, as a crash does, also those that `stop` waits for. */
  kill(): void {
    const { state } = this;
    this.state = { kind: 'stopped' };
    for (const session of this.stopping) session.kill();
    if (state.kind !== 'started') return;
    state.bound?.path?.abandon();
    state.session.kill();
  }

  /** Returns the state of the relay and of its clients, a copy. */
  inspect(): RelayReport {
    const { state } = this;
    const nothing = { servers: [], types: [], nodes: [], clients: [], loadClients: [] };
    return {
      ...this.identify(),
      version: PACKAGE_VERSION,
      node: this.node,
      maxNodes: this.maxNodes,
      ...(state.kind === 'started' ? state.session.inspect() : nothing),
    };
  }

  /** How many discovery streams of clients there are. */
  get clientCount(): number {
    return this.state.kind === 'started' ? this.state.session.clientCount : 0;
  }

  private identify(): RelayIdentity {
    const { state, bootstrap } = this;
    return {
      pid: process.pid,
      address: state.kind === 'started' ? state.bound?.address : undefined,
      nodeId: bootstrap.node.id,
      upstream: describeUpstream(bootstrap),
      startedAtMs: state.kind === 'started' ? state.startedAtMs : undefined,
    };
  }

  private async bind(session: RelaySession, claimed: ClaimedPath | undefined): Promise<Bound> {
    const { listen } = this;
    if ('path' in listen) return this.bindPath(session, listen.path, claimed);
    if ('fd' in listen) return this.bindPassed(session, listen);
    return { address: joinHostPort(listen.host, await session.start(listen)) };
  }

  private async bindPath(
    session: RelaySession,
    path: string,
    claimed: ClaimedPath | undefined,
  ): Promise<Bound> {
    const claim = claimed ?? (await ClaimedPath.claim(path));
    try {
      await session.start(claim);
    } catch (error) {
      claim.release();
      throw error;
    }
    return { address: `unix:${path}`, path: claimed ?? this.keep(claim, session) };
  }

  /** Of a path that was claimed for the relay, its election notices a loss. */
  private keep(claim: ClaimedPath, session: RelaySession): KeptPath {
    const { clock, logger } = this.runtime;
    return new KeptPath(claim, { clock, logger, onReplaced: (socket) => session.move(socket) });
  }

  private async bindPassed(session: RelaySession, socket: { readonly fd: number }): Promise<Bound> {
    const path = pathOfSocket(socket.fd);
    const problem = path === undefined ? undefined : findPassedPathProblem(path);
    if (problem?.isFatal === true)
      throw new XdsError('XDS_LISTEN_FAILED', `${this.listenText}: ${problem.text}`);
    await session.start(socket);
    checkPassedSocket(this.listenText, session.address);
    const port = parseListenAddress(session.address ?? '');
    if (port !== undefined) this.checkServers(port);
    const { logger } = this.runtime;
    if (problem !== undefined) logger.error(() => sanitizeText(`relay ${problem.text}`));
    const address = session.address ?? (path === undefined ? `fd:${socket.fd}` : `unix:${path}`);
    return { address };
  }
}

function findAddress(text: string, env: Environment): RelayAddress | undefined {
  return findPassedSocket(text, env) ?? parseListenAddress(text);
}
