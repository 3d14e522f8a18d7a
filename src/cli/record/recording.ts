// eslint-disable-next-line no-restricted-imports -- opens a file to write it
import { closeSync, openSync, writeSync } from 'node:fs';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { errorMessage } from '../../util/errors';
import { MAX_INPUT_BYTES, readRegularText } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';

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

/** Writes frames to a file, a line each. */
export class RecordingWriter {
  private readonly file: number;
  /** Resolves with what is wrong when a frame cannot be written, as where the disk is full. */
  readonly failed: Promise<string>;
  private fail: (problem: string) => void = () => {};

  /** @throws the system's error if the file cannot be written. */
  constructor(private readonly path: string) {
    this.failed = new Promise((resolve) => (this.fail = resolve));
    this.file = openSync(path, 'w');
    writeSync(this.file, `${JSON.stringify({ recording: FORMAT })}\n`);
  }

  /** @returns whether the frame was written. */
  write({ bytes, ...frame }: Frame): boolean {
    try {
      writeSync(this.file, `${JSON.stringify({ ...frame, bytes: bytes.toString('base64') })}\n`);
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

/** Reads a recording. @returns the frames, or what is wrong with the file. */
export function readRecording(path: string): Result<readonly Frame[], string> {
  const text = readRegularText(path, { maxBytes: MAX_INPUT_BYTES });
  if (!text.ok) return err(`${path}: ${text.error}`);
  try {
    const [head = '', ...lines] = text.value.split('\n');
    const header: unknown = JSON.parse(head);
    const isRecording = typeof header === 'object' && header !== null && 'recording' in header;
    if (!isRecording) return err(`${path}: not a recording of grpc-xds record`);
    if (header.recording !== FORMAT) return err(`${path}: a recording of another version`);
    const frames: Frame[] = [];
    for (const [index, line] of lines.entries()) {
      if (line === '') continue;
      const frame = parseFrame(JSON.parse(line));
      if (frame === undefined) return err(`${path}:${index + 2}: not a frame`);
      frames.push(frame);
    }
    return ok(frames);
  } catch (error) {
    return err(`${path}: ${errorMessage(error)}`);
  }
}

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
