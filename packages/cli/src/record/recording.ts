import { closeSync, writeSync } from 'node:fs';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { Node } from '../../../../src/wire/generated/envoy/config/core/v3/base';
import { errorMessage } from '../../../../src/util/errors';
import { quoteText } from '../../../../src/util/text';
import { err, ok, type Result } from '../../../../src/util/result';
import { parseJson } from '../report-json';

/** A message of a recorded stream, without its headers. */
export interface Frame {
  /** Milliseconds since the recording began. */
  readonly t: number;
  /** The number of the stream, from 1. */
  readonly stream: number;
  readonly direction: 'request' | 'response';
  /** Of the gRPC method, such as `/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources`. */
  readonly method: string;
  /** The type URL of the message. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** The version of the format. */
const FORMAT = 1;

/** Returns whether a method speaks the incremental variant. */
export function isDelta(method: string): boolean {
  return /\/Delta\w+$/.test(method);
}

/** The type of a message that is not one of the protocol. */
export const UNREADABLE = '(unreadable)';

/** Returns the type URL of a message; `UNREADABLE` if it has none because it cannot be decoded. */
export function typeOf(frame: Omit<Frame, 't' | 'stream' | 'type'>): string {
  try {
    return decodeType(frame);
  } catch {
    return UNREADABLE;
  }
}

function decodeType({ direction, method, bytes }: Omit<Frame, 't' | 'stream' | 'type'>): string {
  if (direction === 'request') {
    return isDelta(method)
      ? DeltaDiscoveryRequest.decode(bytes).typeUrl
      : DiscoveryRequest.decode(bytes).typeUrl;
  }
  return isDelta(method)
    ? DeltaDiscoveryResponse.decode(bytes).typeUrl
    : DiscoveryResponse.decode(bytes).typeUrl;
}

/** Returns a request without the metadata of its node, which may be secret. */
export function withoutMetadata(method: string, bytes: Buffer): Buffer {
  if (isDelta(method)) {
    const request = DeltaDiscoveryRequest.decode(bytes);
    const node = request.node && bareNode(request.node);
    return Buffer.from(DeltaDiscoveryRequest.encode({ ...request, node }).finish());
  }
  const request = DiscoveryRequest.decode(bytes);
  const node = request.node && bareNode(request.node);
  return Buffer.from(DiscoveryRequest.encode({ ...request, node }).finish());
}

function bareNode(node: Node): Node {
  return { ...node, metadata: undefined };
}

/** The end of a recording that is continued. */
export interface RecordingEnd {
  readonly t: number;
  /** The number of its last stream. */
  readonly stream: number;
}

/** Returns the end of a recording. */
export function endOf(frames: readonly Frame[]): RecordingEnd {
  return frames.reduce(
    (end, { t, stream }) => ({ t: Math.max(end.t, t), stream: Math.max(end.stream, stream) }),
    { t: 0, stream: 0 },
  );
}

/** Writes frames to a file, a line each. */
export class RecordingWriter {
  /** Resolves with what is wrong when a frame cannot be written, as where the disk is full. */
  readonly failed: Promise<string>;
  private fail: (problem: string) => void = () => {};

  /**
   * @param file The descriptor of the file, which is closed with the writer.
   * @param before The end of the recording that is in the file already; a new file gets a head.
   */
  constructor(
    private readonly path: string,
    private readonly file: number,
    private readonly before: RecordingEnd | undefined,
  ) {
    this.failed = new Promise((resolve) => (this.fail = resolve));
    if (before === undefined) this.writeLine({ recording: FORMAT });
  }

  /** @returns whether the frame was written. */
  write({ bytes, t, stream, ...frame }: Frame): boolean {
    const { t: t0, stream: stream0 } = this.before ?? { t: 0, stream: 0 };
    const numbers = { t: t0 + t, stream: stream0 + stream };
    return this.writeLine({ ...numbers, ...frame, bytes: bytes.toString('base64') });
  }

  private writeLine(json: object): boolean {
    try {
      writeSync(this.file, `${JSON.stringify(json)}\n`);
      return true;
    } catch (error) {
      this.fail(`${this.path}: the recording cannot be written: ${errorMessage(error)}`);
      return false;
    }
  }

  close(): void {
    closeSync(this.file);
  }
}

/** Reads the text of a recording. @returns the frames, or what is wrong with the file. */
export function parseRecording(path: string, text: string): Result<readonly Frame[], string> {
  const [head = '', ...lines] = text.split('\n');
  const header = parseJson(head);
  const isRecording = typeof header === 'object' && header !== null && 'recording' in header;
  if (!isRecording) {
    const first = quoteText(head, MAX_QUOTED);
    return err(
      `${path}: not a recording: the first line is ${first}; give a file that grpc-xds record has written`,
    );
  }
  if (header.recording !== FORMAT) {
    const version = quoteText(String(header.recording), MAX_QUOTED);
    return err(
      `${path}: a recording of version ${version}, not ${FORMAT}; replay it with the grpc-xds that wrote it`,
    );
  }
  const frames: Frame[] = [];
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    const frame = parseFrame(parseJson(line));
    if (frame === undefined) {
      return err(
        `${path}:${index + 2}: not a frame of a recording; remove this line if the recording was cut off`,
      );
    }
    frames.push(frame);
  }
  return ok(frames);
}

/** Characters of a file that is something else. */
const MAX_QUOTED = 40;

function parseFrame(json: unknown): Frame | undefined {
  if (!isRawFrame(json)) return undefined;
  const frame = { ...json, bytes: Buffer.from(json.bytes, 'base64') };
  return frame.type !== UNREADABLE && typeOf(frame) === UNREADABLE ? undefined : frame;
}

type RawFrame = Omit<Frame, 'bytes'> & { readonly bytes: string };

function isRawFrame(json: unknown): json is RawFrame {
  if (typeof json !== 'object' || json === null) return false;
  const fields = new Map<string, unknown>(Object.entries(json));
  const texts = ['method', 'type', 'bytes'].every((name) => typeof fields.get(name) === 'string');
  const numbers = ['t', 'stream'].every((name) => typeof fields.get(name) === 'number');
  const direction = fields.get('direction');
  return texts && numbers && (direction === 'request' || direction === 'response');
}
