import { ByteCollector } from '../../util/bytes';
import { costOf, MAX_CHUNK_BYTES, WINDOW_BYTES } from './limits';

interface Outgoing {
  readonly bytes: Uint8Array;
  readonly onSent: () => void;
  sent: number;
}

/** Writes the parts of messages. */
export interface PartWriter {
  write(chunk: Uint8Array, isLast: boolean): void;
  /** Called after the last message. */
  end(): void;
}

/** Sends the messages of one direction of a stream, in parts, as far as the other side takes them. */
export class MessageSender {
  private window = WINDOW_BYTES;
  private outgoing: Outgoing | undefined;
  private isEnding = false;

  /** @param isHeld Whether nothing is written before `release`. */
  constructor(
    private readonly writer: PartWriter,
    private isHeld: boolean,
  ) {}

  /** Writes what was held. */
  release(): void {
    this.isHeld = false;
    this.flush();
  }

  /**
   * Sends a message, after the one before it was sent.
   *
   * @param onSent Called when its last part was sent, possibly before this returns.
   */
  send(bytes: Uint8Array, onSent: () => void): void {
    this.outgoing = { bytes, onSent, sent: 0 };
    this.flush();
  }

  /** Handles that the other side has taken parts. @param cost What they count for. */
  onCredit(cost: number): void {
    this.window = Math.min(WINDOW_BYTES, this.window + cost);
    this.flush();
  }

  /** Ends the direction after the message that is being sent. */
  end(): void {
    this.isEnding = true;
    this.flush();
  }

  private flush(): void {
    if (this.isHeld) return;
    while (this.outgoing !== undefined) {
      if (!this.writePart(this.outgoing)) return;
    }
    if (!this.isEnding) return;
    this.isEnding = false;
    this.writer.end();
  }

  /** @returns false if the part has to wait. */
  private writePart(outgoing: Outgoing): boolean {
    const { bytes, sent, onSent } = outgoing;
    const chunk = bytes.subarray(sent, sent + MAX_CHUNK_BYTES);
    const cost = costOf(chunk);
    if (cost > this.window) return false;
    this.window -= cost;
    outgoing.sent += chunk.length;
    const isLast = outgoing.sent === bytes.length;
    if (isLast) this.outgoing = undefined;
    this.writer.write(chunk, isLast);
    if (isLast) onSent();
    return true;
  }
}

/** Receives the events of a `MessageReceiver`. */
export interface MessageListener {
  onMessage(bytes: Uint8Array): void;
  /** The other side sends no more messages, and all have been read. */
  onEnd(): void;
  /** So much may be sent again. */
  onCredit(cost: number): void;
  /** A message is too long, or more was sent than may be. Nothing follows. */
  onExcess(reason: string): void;
}

/** From how much on that was taken the other side is sent credit: it is never left with less than the largest part. */
const CREDIT_BYTES = WINDOW_BYTES / 2;

/** A part that waits to be read. */
interface Chunk {
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** Receives the messages of one direction of a stream: one for each call of `read`, however many parts have arrived. */
export class MessageReceiver {
  private readonly chunks: Chunk[] = [];
  /** The beginning of the message that is being read, if it has several parts. */
  private partial: ByteCollector | undefined;
  /** How many messages have been requested that have not been received. */
  private reads = 0;
  /** What was received counts for, without what the other side has credit for again. */
  private used = 0;
  /** The part of it that was taken. */
  private taken = 0;
  private state: 'open' | 'ending' | 'closed' = 'open';

  constructor(
    private readonly maxMessageBytes: number,
    private readonly listener: MessageListener,
  ) {}

  /** Requests one more message, which may be received before this returns. */
  read(): void {
    this.reads++;
    this.drain();
  }

  onData(bytes: Uint8Array, isLast: boolean): void {
    if (this.state !== 'open') return;
    this.used += costOf(bytes);
    if (this.used > WINDOW_BYTES) {
      this.fail(`more than ${WINDOW_BYTES} bytes were sent ahead`);
      return;
    }
    this.chunks.push({ bytes, isLast });
    this.drain();
  }

  /** Handles that the other side sends no more messages. */
  onHalfClose(): void {
    if (this.state !== 'open') return;
    this.state = 'ending';
    this.drain();
  }

  /** Drops everything: no event follows. */
  close(): void {
    this.state = 'closed';
    this.chunks.length = 0;
    this.partial = undefined;
  }

  private drain(): void {
    while (this.reads > 0) {
      const chunk = this.chunks.shift();
      if (chunk === undefined) break;
      const message = this.take(chunk);
      if (message === undefined) continue;
      this.reads--;
      this.listener.onMessage(message);
    }
    if (this.state === 'ending' && this.chunks.length === 0) {
      this.close();
      this.listener.onEnd();
    }
  }

  /** @returns the message that is complete with a part. */
  private take({ bytes, isLast }: Chunk): Uint8Array | undefined {
    this.taken += costOf(bytes);
    if (this.taken >= CREDIT_BYTES) {
      this.used -= this.taken;
      this.listener.onCredit(this.taken);
      this.taken = 0;
    }
    if (isLast && this.partial === undefined && bytes.length <= this.maxMessageBytes) return bytes;
    this.partial ??= new ByteCollector(this.maxMessageBytes);
    if (!this.partial.add(bytes)) {
      this.fail(`a message has more than ${this.maxMessageBytes} bytes`);
      return undefined;
    }
    if (!isLast) return undefined;
    const { bytes: message } = this.partial;
    this.partial = undefined;
    return message;
  }

  private fail(reason: string): void {
    this.close();
    this.listener.onExcess(reason);
  }
}
