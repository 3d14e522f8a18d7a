import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type { Status } from '../../wire/generated/google/rpc/status';
import { EncodedElements, splitMessage } from '../../wire/protobuf/encoded-elements';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { asBuffer } from '../../util/as-buffer';
import { errorMessage } from '../../util/error-message';
import { MAX_TEXT_BYTES, ReadBudget, ReadLimitError } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import { ENVELOPE_LIMIT, MAX_VERSION_LENGTH, RESPONSE_FIELDS_LIMIT } from '../limits';
import type { AdsResponse } from './ads-response';

/** A resource that is requested from a server. */
export interface RequestedResource {
  /** The value accepted from this server; `undefined` while there is none. */
  readonly accepted: object | undefined;
  /** The version of that value, if every target that watches the resource uses it; else `undefined`. */
  readonly heldVersion: string | undefined;
}

/** The resources to request from a server. The requests of a stream are composed from it. */
export interface RequestSource {
  /** The types of which at least one resource is requested. */
  typeUrls(): string[];
  /** The requested resources of a type by name, in the order they were added. */
  resources(typeUrl: string): ReadonlyMap<string, RequestedResource>;
  /**
   * Called when versions of cached resources are left out of a request, because all of them would make it too large.
   * Default: nothing happens.
   */
  onVersionsLeftOut?(typeUrl: string, count: number): void;
}

/** A request that must be sent. */
export interface NextRequest {
  readonly typeUrl: string;
  readonly bytes: Uint8Array;
  /** Names that no earlier request of the stream has, or that were removed and are requested anew. */
  readonly newNames: readonly string[];
  /** Whether it is the first one of its type on the stream. */
  readonly isFirst: boolean;
  /** Whether it has versions that are cached here, so that the server may have nothing to send. */
  readonly hasVersions: boolean;
}

/**
 * The subscription state of one stream, by type: composes requests, parses responses, and remembers nonces and the
 * names already sent to the server. It lives as long as the stream.
 */
export interface Subscriptions {
  /** Marks every resource of a type to be requested. */
  addType(typeUrl: string): void;
  /** Marks a name to be requested that was not before, or whose value was dropped. */
  addName(typeUrl: string, name: string): void;
  /** Marks a name that is no longer requested. */
  removeName(typeUrl: string, name: string): void;
  /** Marks a name that a response contains, so that the server is known to have read the request for it. */
  confirmName(typeUrl: string, name: string): void;
  /** Parses a response without its resources. */
  parse(bytes: Uint8Array): Result<AdsResponse, string>;
  /**
   * Marks a response of a requested type to be answered.
   * @param rejection The text to reject it with; `undefined` to acknowledge it.
   * @param isHeld Whether the rejection is held back until `sendHeld`. Changes of names are not.
   */
  answer(response: AdsResponse, rejection: string | undefined, isHeld?: boolean): void;
  /** Marks the rejection that is held back for a type, if there is one, to be sent. */
  sendHeld(typeUrl: string): void;
  /** Returns the request to send next; `undefined` if none is due. */
  next(): NextRequest | undefined;
}

/** A variant of the protocol as used with one server: the part that outlives streams. */
export interface AdsProtocol {
  readonly isDelta: boolean;
  /** The prefix of the names of its methods. */
  readonly verb: 'Stream' | 'Delta';
  /** Creates the state of a new stream. */
  createSubscriptions(): Subscriptions;
  /** Omits versions from the next stream's requests, because the resources cached now are another server's. */
  forgetVersions(): void;
}

/** Sends the node with the first request of a stream only: the server remembers it (gRFC A27). */
export class NodeOnce {
  private node: Node | undefined;

  constructor(node: Node) {
    this.node = node;
  }

  /** Returns the node to send with a request; `undefined` if it was sent. */
  take(): Node | undefined {
    const { node } = this;
    this.node = undefined;
    return node;
  }
}

/** The numbers of fields in the responses of both variants. */
const RESOURCES = 2;
const TYPE_URL = 4;
const NONCE = 5;

/** A response whose resources are not decoded. */
export interface DecodedResponse<T> {
  readonly message: Omit<T, 'resources'>;
  readonly resources: EncodedElements;
  /** See `AdsResponse.problem`. */
  readonly problem: string | undefined;
}

/** Follows the name of the server: the response cannot be answered. */
const NONCE_PROBLEM = `sent a response whose nonce has more than ${MAX_VERSION_LENGTH} characters`;

/** What identifies a response: it is answered with both. */
interface ResponseId {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** The codec of the responses of a variant. */
interface ResponseCodec<T> {
  decode(bytes: Uint8Array, length: undefined, budget: ReadBudget): T & ResponseId;
  create(id: ResponseId): T;
}

/** Why a response is rejected as a whole whose version is too long to be kept. */
export function versionProblem(field: string, version: string): string | undefined {
  if (version.length <= MAX_VERSION_LENGTH) return undefined;
  return `${field}: more than ${MAX_VERSION_LENGTH} characters`;
}

/** Decodes a response. @returns the message, or why the stream must end, to follow the name of the server. */
export function decodeResponse<T>(
  codec: ResponseCodec<T>,
  bytes: Uint8Array,
): Result<DecodedResponse<T>, string> {
  const encoded = asBuffer(bytes);
  try {
    const { bounds, rest } = splitMessage(
      encoded,
      RESOURCES,
      new ReadBudget(RESPONSE_FIELDS_LIMIT),
    );
    const message = codec.decode(rest, undefined, new ReadBudget(ENVELOPE_LIMIT));
    if (message.nonce.length > MAX_VERSION_LENGTH) return err(NONCE_PROBLEM);
    return ok({ message, resources: new EncodedElements(encoded, bounds), problem: undefined });
  } catch (error) {
    const id = error instanceof ReadLimitError ? identify(encoded) : undefined;
    if (id === undefined) {
      return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
    }
    const resources = new EncodedElements(Buffer.of(), []);
    return ok({ message: codec.create(id), resources, problem: errorMessage(error) });
  }
}

/** Where a text is in a message. */
type Bounds = readonly [start: number, end: number];

/** Reads what identifies a response that is too large to be decoded, as far as it comes within the limit. */
function identify(encoded: Buffer): ResponseId | undefined {
  const scanner = new FieldScanner(encoded, new ReadBudget(RESPONSE_FIELDS_LIMIT));
  // Where the last one is: only that is decoded, of however many there are.
  const texts = new Map<number, Bounds>();
  try {
    while (scanner.next()) {
      const { number, start, end } = scanner;
      const isText = scanner.isDelimited(TYPE_URL) || scanner.isDelimited(NONCE);
      const maxBytes = number === NONCE ? MAX_VERSION_LENGTH : MAX_TEXT_BYTES;
      if (isText && end - start <= maxBytes) texts.set(number, [start, end]);
    }
  } catch {
    // What comes after it is not read.
  }
  const typeUrl = texts.get(TYPE_URL);
  const nonce = texts.get(NONCE);
  if (typeUrl === undefined || nonce === undefined) return undefined;
  return { typeUrl: textAt(encoded, typeUrl), nonce: textAt(encoded, nonce) };
}

function textAt(encoded: Buffer, [start, end]: Bounds): string {
  return encoded.toString('utf8', start, end);
}

/** Encodes a rejection (gRFC A46). */
export function errorDetail(rejection: string | undefined): Status | undefined {
  if (rejection === undefined) return undefined;
  return { code: StatusCode.INVALID_ARGUMENT, message: rejection, details: [] };
}
