import type { StreamMethod } from '../../control-plane/server-stream';
import { decodeMessage, encodeMessage, PROTOCOL_VERSION, type IpcMessage } from './ipc-message';
import type { IpcPort } from './ipc-port';
import type { Handle } from '../../util/handle';
import { StatusCode } from '../../util/status-code';
import { quoteText } from '../../util/text';
import { IpcCall, type ReceivedCall } from './ipc-call';
import { MAX_STREAMS_OF_PROCESS } from './limits';

/** Constructor options of a connection. */
export interface IpcConnectionOptions {
  readonly port: IpcPort;
  readonly methods: ReadonlyMap<string, StreamMethod>;
  /** Names the relay from its start to its stop. */
  readonly session: string;
  /** The management servers of the relay: see `describeUpstream`. */
  readonly upstream: string;
  /** Called when a message with the property of this package cannot be read. */
  readonly onMalformed: (peer: string) => void;
  /** Called when the process at the other end has ended, or closed the channel. */
  readonly onClosed: () => void;
}

/** The streams of one process to the relay. */
export class IpcConnection {
  private readonly calls = new Map<string, ReceivedCall>();
  private readonly listening: Handle;
  /** Whether the process receives bytes as they are. */
  private passesBytes = false;

  constructor(private readonly options: IpcConnectionOptions) {
    this.listening = options.port.listen(
      (received) => this.onMessage(received),
      () => {
        this.release();
        options.onClosed();
      },
    );
    this.post('', { kind: 'ready' });
  }

  /** Ends the streams that are open, and the connection. */
  close(): void {
    this.release();
    this.post('', { kind: 'bye', session: this.options.session });
  }

  private release(): void {
    this.listening.release();
    for (const call of [...this.calls.values()]) call.cancel();
  }

  private post(link: string, message: IpcMessage): void {
    this.options.port.post(encodeMessage({ link, message }, this.passesBytes));
  }

  private onMessage(received: unknown): void {
    const { port, session, upstream, onMalformed } = this.options;
    const decoded = decodeMessage(received);
    if (decoded === 'malformed') onMalformed(port.peer);
    if (decoded === undefined || decoded === 'malformed') return;
    const { link, message, passesBytes } = decoded;
    switch (message.kind) {
      case 'hello':
        this.passesBytes = passesBytes;
        this.post(link, { kind: 'welcome', version: PROTOCOL_VERSION, session, upstream });
        return;
      case 'open':
        if (message.session === session) this.open(link, message.stream, message.method);
        return;
      case 'welcome':
      case 'ready':
      case 'bye':
        // Only relays send them.
        return;
      default:
        this.calls.get(keyOf(link, message.stream))?.onMessage(message);
    }
  }

  private open(link: string, stream: number, path: string): void {
    const { port, methods } = this.options;
    const key = keyOf(link, stream);
    if (this.calls.has(key)) return;
    const fail = (code: number, details: string) =>
      this.post(link, { kind: 'end', stream, code, details });
    const method = methods.get(path);
    if (method === undefined) {
      fail(StatusCode.UNIMPLEMENTED, `the relay does not implement ${quoteText(path)}`);
      return;
    }
    if (this.calls.size >= MAX_STREAMS_OF_PROCESS) {
      const details = `the process has ${MAX_STREAMS_OF_PROCESS} streams already`;
      fail(StatusCode.RESOURCE_EXHAUSTED, details);
      return;
    }
    method.accept({
      decode: (codec) => {
        const call = new IpcCall({
          ...{ codec, stream, peer: port.peer },
          post: (message) => this.post(link, message),
          onEnd: () => this.calls.delete(key),
        });
        this.calls.set(key, call);
        return call;
      },
    });
  }
}

function keyOf(link: string, stream: number): string {
  return `${link} ${stream}`;
}
