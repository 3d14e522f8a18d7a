import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { createName, type Random } from '../../util/random';
import { StatusCode } from '../../util/status-code';
import type { XdsStream, XdsStreamHandler, XdsTransport } from '../../xds-client/transport';
import { describeOtherUpstream } from '../upstream';
import {
  decodeMessage,
  encodeMessage,
  PROTOCOL_VERSION,
  type IpcMessage,
  type Welcome,
} from './ipc-message';
import type { IpcPort } from './ipc-port';
import { IpcStream } from './ipc-stream';
import { afterRunning } from '../../util/running-time';

/** Constructor options of a transport. */
export interface IpcTransportOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits?: Pick<Limits, 'maxMessageBytes'>;
  /** The management servers of this process: see `describeUpstream`. A relay with other ones is not used. Default: any is. */
  readonly upstream?: string | undefined;
  /** Called when there is a relay that can be used. */
  readonly onWelcome?: () => void;
}

type State =
  /** There is no relay, as far as is known. */
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'welcome'; readonly session: string; readonly passesBytes: boolean }
  | { readonly kind: 'closed'; readonly reason: string };

/** How long a stream waits for a relay, in milliseconds. */
const WELCOME_TIMEOUT_MS = 1000;

const NO_RELAY =
  "the primary of node:cluster has no relay: call register({ share: 'cluster' }) in it, too, or share a socket by " +
  "register({ share: '/path' }), see docs/guides/several-processes.md";
const ENDED = 'the relay in the primary of node:cluster has ended';
const DISCONNECTED = 'the IPC channel to the primary of node:cluster is closed';

/** The streams of a client to the relay at the other end of a channel. */
export class IpcTransport implements XdsTransport {
  private readonly link: string;
  private readonly listening: Handle;
  private readonly streams = new Map<number, IpcStream>();
  /** What is notified when there is a relay. */
  private readonly welcomed = new Set<() => void>();
  private streamCount = 0;
  private isMalformedLogged = false;
  private state: State;

  /** @param connection Released with the transport. */
  constructor(
    private readonly port: IpcPort,
    private readonly options: IpcTransportOptions,
    private readonly connection?: Handle,
  ) {
    this.link = createName(options.random);
    this.listening = port.listen(
      (received) => this.onMessage(received),
      () => this.disconnect(DISCONNECTED),
    );
    this.state = { kind: 'waiting', reason: NO_RELAY };
    if (port.isConnected) this.greet();
    else this.disconnect(DISCONNECTED);
  }

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { clock, limits = DEFAULT_LIMITS } = this.options;
    const { state } = this;
    const id = ++this.streamCount;
    const stream: IpcStream = new IpcStream({
      ...{ clock, id, method, handler, maxMessageBytes: limits.maxMessageBytes },
      post: (message) => this.post(message),
      onEnd: () => {
        timer?.release();
        this.streams.delete(id);
      },
    });
    const timer =
      state.kind === 'waiting'
        ? afterRunning(clock, () => this.onTimeout(stream), WELCOME_TIMEOUT_MS)
        : undefined;
    this.streams.set(id, stream);
    if (state.kind === 'welcome') stream.open(state.session);
    if (state.kind === 'closed') clock.soon(() => this.failStreams(state.reason));
    return stream;
  }

  /** Why there is no relay, as far as is known; `undefined` if there is one. */
  get problem(): string | undefined {
    return this.state.kind === 'welcome' ? undefined : this.state.reason;
  }

  close(): void {
    for (const stream of this.streams.values()) stream.close();
    this.disconnect('the transport is closed');
    this.connection?.release();
  }

  private greet(): void {
    this.post({ kind: 'hello', version: PROTOCOL_VERSION });
  }

  private post(message: IpcMessage): void {
    const { state, link } = this;
    const passesBytes = state.kind === 'welcome' && state.passesBytes;
    this.port.post(encodeMessage({ link, message }, passesBytes));
  }

  private onMessage(received: unknown): void {
    const decoded = decodeMessage(received);
    if (decoded === 'malformed') this.onMalformed();
    if (decoded === undefined || decoded === 'malformed') return;
    const { link, message, passesBytes } = decoded;
    const isForAll = message.kind === 'ready' || message.kind === 'bye';
    if (!isForAll && link !== this.link) return;
    switch (message.kind) {
      case 'ready':
        if (this.state.kind === 'waiting') this.greet();
        return;
      case 'welcome':
        this.onWelcome(message, passesBytes);
        return;
      case 'bye':
        this.onBye(message.session);
        return;
      case 'hello':
      case 'open':
        // Only clients send them.
        return;
      default:
        this.streams.get(message.stream)?.onMessage(message);
    }
  }

  private onWelcome(welcome: Welcome, passesBytes: boolean): void {
    const { state } = this;
    if (state.kind !== 'waiting') return;
    const problem = findProblem(welcome, this.options.upstream);
    if (problem !== undefined) {
      this.state = { kind: 'waiting', reason: problem };
      return;
    }
    const { session } = welcome;
    this.state = { kind: 'welcome', session, passesBytes };
    for (const stream of this.streams.values()) stream.open(session);
    for (const onReady of [...this.welcomed]) onReady();
    this.options.onWelcome?.();
  }

  private onBye(session: string): void {
    const { state } = this;
    if (state.kind !== 'welcome' || state.session !== session) return;
    this.state = { kind: 'waiting', reason: ENDED };
    // The primary may register again: the streams that replace these wait for it a little.
    this.failStreams(ENDED, true);
  }

  private onTimeout(stream: IpcStream): void {
    const { state, welcomed } = this;
    if (state.kind !== 'waiting') return;
    const retryWhen = (onReady: () => void) => {
      welcomed.add(onReady);
      return createHandle(() => welcomed.delete(onReady));
    };
    stream.end({ code: StatusCode.UNAVAILABLE, details: state.reason, retryWhen });
  }

  private disconnect(reason: string): void {
    if (this.state.kind === 'closed') return;
    this.state = { kind: 'closed', reason };
    this.listening.release();
    this.failStreams(reason);
  }

  private failStreams(details: string, isSucceeded = false): void {
    const status = { code: StatusCode.UNAVAILABLE, details, isSucceeded };
    for (const stream of [...this.streams.values()]) stream.end(status);
  }

  private onMalformed(): void {
    if (this.isMalformedLogged) return;
    this.isMalformedLogged = true;
    const { peer } = this.port;
    this.options.logger.error(
      () => `xds: a message from ${peer} with the property grpcXds cannot be read: ignored`,
    );
  }
}

/** Returns why a relay cannot be used; `undefined` if it can. */
function findProblem({ version, upstream }: Welcome, own: string | undefined): string | undefined {
  if (version !== PROTOCOL_VERSION) {
    return (
      `the relay in the primary of node:cluster has the protocol version ${version}, this process ` +
      `${PROTOCOL_VERSION}: use the same version of grpc-xds in both`
    );
  }
  if (upstream === undefined || own === undefined || upstream === own) return undefined;
  const others = describeOtherUpstream(upstream, own);
  return `the relay in the primary of node:cluster ${others}: use the same bootstrap in both`;
}
