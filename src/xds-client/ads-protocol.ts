import type { ResourceError } from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import type { Status } from '../generated/google/rpc/status';
import type { Result } from '../util/result';
import { StatusCode } from '../util/status-code';

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
}

/** A request, to be treated as sent. */
export interface NextRequest {
  readonly typeUrl: string;
  readonly bytes: Uint8Array;
  /** What it asks for that no request on this stream had asked for, or had asked for before it was given up. */
  readonly newNames: readonly string[];
  /** Whether it is the first one of its type on this stream. */
  readonly isFirst: boolean;
  /** Whether it tells the server that we have something already, so that it may have nothing to say. */
  readonly claims: boolean;
}

/** One resource as a response has it, taken out of whatever it is wrapped in. */
export interface ResponseItem {
  /** The name written beside the resource; `undefined` if there is none, and then the resource's own counts. */
  readonly name: string | undefined;
  /** Other names under which it may have been asked for. */
  readonly aliases: readonly string[];
  readonly version: string;
  /** `undefined` in a heartbeat, which only says that the resource is still good. */
  readonly resource: Any | undefined;
  /** Milliseconds after which the resource must be forgotten unless it is renewed; `undefined`: never. */
  readonly ttlMs: number | undefined;
  /** Why it cannot be taken out of its wrapper. */
  readonly problem: string | undefined;
}

/** A response, whichever variant of the protocol it came by. Its resources have not been looked into. */
export interface AdsResponse {
  readonly typeUrl: string;
  /** Whether the type was requested on the stream. */
  readonly isRequested: boolean;
  readonly nonce: string;
  /** Of the response as a whole; the incremental variant has it for people only. */
  readonly version: string;
  readonly items: readonly ResponseItem[];
  /** Names of which the server says that there is no such resource. */
  readonly removed: readonly string[];
  readonly errors: readonly ResourceError[];
  /** The `control_plane.identifier` of an incremental response. */
  readonly controlPlane?: string | undefined;
  /** Whether it has, of a type whose responses are complete, everything that was asked for and exists. */
  readonly isComplete: boolean;
}

/**
 * One stream's side of the protocol, and it dies with the stream: composes requests, reads responses, and
 * remembers nonces, what was asked for, and whether the server knows who is asking.
 */
export interface AdsConversation {
  /** Notes that everything wanted of a type must be asked for. */
  addType(typeUrl: string): void;
  /** Notes that a name is wanted that was not before, or whose value has been lost. */
  addName(typeUrl: string, name: string): void;
  /** Notes that a name is no longer wanted. */
  dropName(typeUrl: string, name: string): void;
  /** Notes that a response contains a resource, which proves that the server knows it to be requested. */
  confirmName(typeUrl: string, name: string): void;
  /** Decodes a response without looking into its resources. */
  read(bytes: Uint8Array): Result<AdsResponse, string>;
  /**
   * Notes what to answer to a response that was read, of a type that was requested.
   * @param rejection The text to reject it with; `undefined` to acknowledge it.
   * @param isHeld Whether the rejection waits until `release` is called for the type. Changes of names do not.
   */
  answer(response: AdsResponse, rejection: string | undefined, isHeld?: boolean): void;
  /** Lets out the answer that is held back for a type, if one is. */
  release(typeUrl: string): void;
  /** The request to send next; `undefined` when there is nothing to say. */
  next(): NextRequest | undefined;
}

/** A variant of the protocol as spoken with one server: the part that outlives streams. */
export interface AdsProtocol {
  readonly isDelta: boolean;
  /** What the names of its methods begin with. */
  readonly verb: 'Stream' | 'Delta';
  /** Begins a stream. */
  begin(): AdsConversation;
  /** Makes the next stream ask as if nothing had ever been received: what is cached is another server's. */
  forgetVersions(): void;
}

/** How a rejection looks on the wire (gRFC A46). */
export function errorDetail(rejection: string | undefined): Status | undefined {
  if (rejection === undefined) return undefined;
  return { code: StatusCode.INVALID_ARGUMENT, message: rejection, details: [] };
}
