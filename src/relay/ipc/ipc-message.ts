import { asBuffer } from '../../util/bytes';
import { cutText, MAX_TEXT_LENGTH } from '../../util/text';
import { MAX_CHUNK_BYTES } from './limits';

/** The relay in the primary of node:cluster, as the `server_uri` of its clients. */
export const CLUSTER_URI = 'ipc:cluster';

/** The version of these messages. Processes with different ones do not use each other. */
export const PROTOCOL_VERSION = 1;

/** The only property of a message. Messages of the application have others. */
const PROPERTY = 'grpcXds';

/** From a worker: it looks for a relay in the primary. */
interface Hello {
  readonly kind: 'hello';
  readonly version: number;
}

/** The answer of the relay. */
export interface Welcome {
  readonly kind: 'welcome';
  readonly version: number;
  /** Names the relay, from its start to its stop. */
  readonly session: string;
  /** The management servers of the relay: see `describeUpstream`. An older relay does not say. */
  readonly upstream?: string | undefined;
}

/** From the primary to all workers: a relay has started. */
interface Ready {
  readonly kind: 'ready';
}

/** From the primary to all workers: the relay ends, and its streams with it. */
interface Bye {
  readonly kind: 'bye';
  readonly session: string;
}

/** From a worker: opens a stream. */
interface Open {
  readonly kind: 'open';
  readonly stream: number;
  readonly session: string;
  /** Full method path, such as `/package.Service/Method`. */
  readonly method: string;
}

/** A part of a message of the xDS protocol. */
interface Data {
  readonly kind: 'data';
  readonly stream: number;
  readonly bytes: Uint8Array;
  /** Whether the message ends with it. */
  readonly isLast: boolean;
}

/** The receiver has taken data: so much more may be sent. */
interface Credit {
  readonly kind: 'credit';
  readonly stream: number;
  /** As data is counted: see `costOf`. */
  readonly bytes: number;
}

/** From a worker: it sends no more messages on the stream. */
interface HalfClose {
  readonly kind: 'half-close';
  readonly stream: number;
}

/** The stream has ended. */
interface End {
  readonly kind: 'end';
  readonly stream: number;
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** Messages of a stream. */
export type StreamMessage = Data | Credit | HalfClose | End;

export type IpcMessage = Hello | Welcome | Ready | Bye | Open | StreamMessage;

/** A message and the link that it belongs to: a worker may have several copies of this package, each with a link. */
export interface LinkedMessage {
  /** Chosen by the worker; empty in a message of the primary to all. */
  readonly link: string;
  readonly message: IpcMessage;
}

/** Characters of a method, and of the names of links and sessions. */
const MAX_NAME_LENGTH = 256;
/** Characters of a chunk in base64. */
const MAX_ENCODED_LENGTH = Math.ceil(MAX_CHUNK_BYTES / 3) * 4;

/** A message as it is sent. */
export type IpcEnvelope = Readonly<Record<typeof PROPERTY, object>>;

/**
 * Returns what is sent. Its bytes are those of the message if the other side receives them as they are, which depends on
 * the option `serialization` of node:cluster, and base64 otherwise.
 */
export function encodeMessage({ link, message }: LinkedMessage, passesBytes: boolean): IpcEnvelope {
  if (message.kind === 'hello' || message.kind === 'welcome') {
    return { [PROPERTY]: { link, ...message, probe: PROBE } };
  }
  if (message.kind !== 'data' || passesBytes) return { [PROPERTY]: { link, ...message } };
  const bytes = asBuffer(message.bytes).toString('base64');
  return { [PROPERTY]: { link, ...message, bytes } };
}

/** Bytes with which each side finds out whether the other receives bytes as they are. */
const PROBE = Uint8Array.of(1);

/** A received message, and whether bytes arrived as they are; that is known of greetings only. */
export interface ReceivedMessage extends LinkedMessage {
  readonly passesBytes: boolean;
}

/**
 * Decodes what was received by IPC.
 *
 * @returns `undefined` for a message of the application, and `malformed` for one that cannot be one of this package either.
 */
export function decodeMessage(received: unknown): ReceivedMessage | 'malformed' | undefined {
  if (!isObject(received) || !Object.hasOwn(received, PROPERTY)) return undefined;
  const { [PROPERTY]: fields } = received;
  if (!isObject(fields)) return 'malformed';
  const { link, probe } = fields;
  const message = readMessage(fields);
  if (!isName(link) || message === undefined) return 'malformed';
  return { link, message, passesBytes: probe instanceof Uint8Array };
}

type Fields = Readonly<Record<string, unknown>>;

function readMessage(fields: Fields): IpcMessage | undefined {
  const { kind, version, session, upstream, stream, method } = fields;
  switch (kind) {
    case 'hello':
      return isCount(version) ? { kind, version } : undefined;
    case 'welcome':
      if (!isCount(version) || !isName(session)) return undefined;
      return typeof upstream === 'string'
        ? { kind, version, session, upstream }
        : { kind, version, session };
    case 'ready':
      return { kind };
    case 'bye':
      return isName(session) ? { kind, session } : undefined;
    case 'open':
      if (!isCount(stream) || !isName(session) || !isName(method)) return undefined;
      return { kind, stream, session, method };
    default:
      return isCount(stream) ? readStreamMessage(stream, fields) : undefined;
  }
}

function readStreamMessage(stream: number, fields: Fields): StreamMessage | undefined {
  const { kind, isLast, code, details } = fields;
  switch (kind) {
    case 'data': {
      const bytes = readBytes(fields['bytes']);
      if (bytes === undefined || typeof isLast !== 'boolean') return undefined;
      return { kind, stream, bytes, isLast };
    }
    case 'credit': {
      const { bytes } = fields;
      return isCount(bytes) ? { kind, stream, bytes } : undefined;
    }
    case 'half-close':
      return { kind, stream };
    case 'end':
      if (!isCount(code) || typeof details !== 'string') return undefined;
      return { kind, stream, code, details: cutText(details, MAX_TEXT_LENGTH) };
    default:
      return undefined;
  }
}

function readBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value.length <= MAX_CHUNK_BYTES ? value : undefined;
  if (typeof value !== 'string' || value.length > MAX_ENCODED_LENGTH) return undefined;
  return Buffer.from(value, 'base64');
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME_LENGTH;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
