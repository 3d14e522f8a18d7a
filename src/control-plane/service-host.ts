import { Server, type ServerOptions } from '@grpc/grpc-js';
import type { Clock } from '../util/clock';
import { GrpcListener, type ListenAddress, type ListeningSocket } from './grpc-listener';
import { MAX_IDLE_MS, MAX_REQUEST_BYTES } from './limits';
import type { StreamMethod } from './server-stream';

/** A service of the host. */
export interface HostedService<Method = Pick<StreamMethod, 'addTo'>> {
  readonly methods: readonly Method[];
  /** Ends all streams with UNAVAILABLE. */
  endStreams(details: string): void;
}

/** The options of `ServiceHost`. */
export interface ServiceHostOptions {
  /** What is hosted, in messages, such as `control plane`. */
  readonly name: string;
  readonly services: readonly HostedService[];
  readonly clock: Clock;
}

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'started'; readonly server: Server; readonly listener: GrpcListener };

const stopped: State = { kind: 'stopped' };

/** How long `stop` waits for clients to close their connections, in milliseconds. */
const stopGraceMs = 1000;

const serverOptions: ServerOptions = {
  'grpc.max_receive_message_length': MAX_REQUEST_BYTES,
  'grpc.max_connection_idle_ms': MAX_IDLE_MS,
  // GrpcListener injects connections: the server would have a listening socket without an address, at which grpcdebug
  // panics (https://github.com/grpc-ecosystem/grpcdebug/blob/v1.0.5/cmd/channelz.go, prettyAddress).
  'grpc.enable_channelz': 0,
};

/** Serves gRPC services at an address, from a start to a stop, any number of times. */
export class ServiceHost {
  private state: State = stopped;

  constructor(private readonly options: ServiceHostOptions) {}

  get isStarted(): boolean {
    return this.state.kind === 'started';
  }

  /** Where it listens, in the form of `server_uri`; `undefined` if it does not. */
  get address(): string | undefined {
    return this.state.kind === 'started' ? this.state.listener.address : undefined;
  }

  /**
   * Starts to listen.
   *
   * @returns the port; 0 for a path.
   * @throws if the address cannot be used, or if already started.
   */
  async start(address: ListenAddress): Promise<number> {
    const { name, services } = this.options;
    if (this.state.kind !== 'stopped') throw new Error(`the ${name} is already started`);
    const starting: State = { kind: 'starting' };
    this.state = starting;
    const server = new Server(serverOptions);
    for (const { methods } of services) for (const method of methods) method.addTo(server);
    try {
      const listener = await GrpcListener.listen(server, address);
      if (this.state !== starting) {
        listener.destroy();
        throw new Error(`the ${name} was stopped while it was starting`);
      }
      this.state = { kind: 'started', server, listener };
      return listener.port;
    } catch (error) {
      if (this.state === starting) this.state = stopped;
      server.forceShutdown();
      throw error;
    }
  }

  /** Listens on another socket in place of the one before, which its owner closes; connections and streams go on. */
  move(to: ListeningSocket): void {
    if (this.state.kind === 'started') this.state.listener.move(to);
  }

  /** Ends all streams with UNAVAILABLE, closes the connections and stops listening. */
  async stop(): Promise<void> {
    const { state } = this;
    const { name, services, clock } = this.options;
    this.state = stopped;
    if (state.kind !== 'started') return;
    const { server, listener } = state;
    listener.close();
    for (const service of services) service.endStreams(`the ${name} is shutting down`);
    const timer = clock.setTimer(() => listener.destroy(), stopGraceMs);
    await new Promise<void>((resolve) => {
      server.tryShutdown(() => resolve());
    });
    timer.release();
  }

  /** Closes all connections and stops listening at once, as a crash does. */
  kill(): void {
    const { state } = this;
    this.state = stopped;
    if (state.kind !== 'started') return;
    state.listener.destroy();
    state.server.forceShutdown();
  }
}
