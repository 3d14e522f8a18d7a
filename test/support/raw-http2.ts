import { once } from 'node:events';
import { connect, type NetConnectOpts, type Socket } from 'node:net';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** RFC 9113, section 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  goaway: 7,
  windowUpdate: 8,
} as const;
const ACK = 1;
const END_HEADERS = 4;

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A client of HTTP/2 frame by frame, which acknowledges nothing by itself. */
export class RawHttp2Client {
  readonly frames: Frame[] = [];
  private received = Buffer.alloc(0);
  private nextStream = 1;

  private constructor(readonly socket: Socket) {
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.read(chunk));
  }

  /** Connects, and sends the preface with empty settings. */
  static async connect(to: NetConnectOpts): Promise<RawHttp2Client> {
    const socket = connect(to);
    await once(socket, 'connect');
    const client = new RawHttp2Client(socket);
    socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));
    return client;
  }

  framesOf(type: number): readonly Frame[] {
    return this.frames.filter((each) => each.type === type);
  }

  /** The settings that the server has sent, by their identifiers, one map for each frame. */
  settings(): ReadonlyMap<number, number>[] {
    return this.framesOf(FRAME.settings)
      .filter(({ flags }) => flags !== ACK)
      .map(({ payload }) => {
        const entries = new Map<number, number>();
        for (let at = 0; at < payload.length; at += 6) {
          entries.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
        }
        return entries;
      });
  }

  acknowledge(): void {
    this.socket.write(frame(FRAME.settings, ACK, 0));
  }

  /** Begins calls that do not end. @param block Their headers, as HPACK has them. @returns their streams. */
  call(block: Buffer, count = 1): readonly number[] {
    const streams: number[] = [];
    const frames: Buffer[] = [];
    for (let i = 0; i < count; i++) {
      streams.push(this.nextStream);
      frames.push(frame(FRAME.headers, END_HEADERS, this.nextStream, block));
      this.nextStream += 2;
    }
    this.socket.write(Buffer.concat(frames));
    return streams;
  }

  /** Sends DATA frames of a stream. */
  data(stream: number, payload: Buffer, count = 1): void {
    const frames = Array<Buffer>(count).fill(frame(FRAME.data, 0, stream, payload));
    this.socket.write(Buffer.concat(frames));
  }

  /** Sends what is written meanwhile in one piece. */
  atOnce(write: () => void): void {
    this.socket.cork();
    write();
    this.socket.uncork();
  }

  /** Sends any frame. */
  send(type: number, stream: number, payload: Buffer): void {
    this.socket.write(frame(type, 0, stream, payload));
  }

  /** The codes of the streams that the server has reset. */
  resets(): readonly number[] {
    return this.framesOf(FRAME.reset).map(({ payload }) => payload.readUInt32BE(0));
  }

  private read(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    while (this.received.length >= 9) {
      const length = this.received.readUIntBE(0, 3);
      if (this.received.length < 9 + length) return;
      this.frames.push({
        type: this.received[3] ?? 0,
        flags: this.received[4] ?? 0,
        stream: this.received.readUInt32BE(5),
        payload: this.received.subarray(9, 9 + length),
      });
      this.received = this.received.subarray(9 + length);
    }
  }
}

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length =
    bytes.length < 127
      ? [bytes.length]
      : [127, ((bytes.length - 127) & 127) | 128, (bytes.length - 127) >> 7];
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** A header as a literal. @param isIndexed Whether it enters the dynamic table. */
export function literal(name: string, value: string, isIndexed = false): Buffer {
  return Buffer.concat([Buffer.from([isIndexed ? 0x40 : 0]), text(name), text(value)]);
}

/** The headers of a call of gRPC, without the dynamic table. */
export function callHeaders(path: string, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([
    literal(':method', 'POST'),
    literal(':scheme', 'http'),
    literal(':path', path),
    literal(':authority', 'x'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
    ...more,
  ]);
}
