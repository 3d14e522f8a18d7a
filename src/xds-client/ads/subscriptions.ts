import type { Status } from '../../wire/generated/google/rpc/status';
import { StatusCode } from '../../util/status-code';
import type { AdsResponse } from './ads-response';

/** A resource that is requested from a server. */
export interface RequestedResource {
  /** The value accepted from this server; `undefined` while there is none. */
  readonly accepted: object | undefined;
  /** The version of that value, if every target that watches the resource uses it and nothing was wrong since; else `undefined`. */
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
 * What is requested from a server, in one variant of the protocol. The versions outlive a stream; nonces, and what was sent, do
 * not.
 */
export interface Subscriptions {
  readonly isDelta: boolean;
  /** The prefix of the names of its methods. */
  readonly verb: 'Stream' | 'Delta';
  /** Begins a stream, on which everything is requested anew. Of the one before, nothing may be sent or answered any longer. */
  begin(): void;
  /** Omits versions from the next stream's requests, because the resources cached now are another server's. */
  forgetVersions(): void;
  /** Marks a name to be requested that was not before, or whose value was dropped. */
  addName(typeUrl: string, name: string): void;
  /** Marks a name that is no longer requested. */
  removeName(typeUrl: string, name: string): void;
  /** Marks a name that a response contains, so that the server is known to have read the request for it. */
  confirmName(typeUrl: string, name: string): void;
  /** Whether a type was requested on the stream. */
  isRequested(typeUrl: string): boolean;
  /**
   * Marks a response of a requested type to be answered.
   * @param rejection The text to reject it with; `undefined` to acknowledge it.
   * @param isHeld Whether the rejection is held back until `sendHeld`. Changes of names are not.
   */
  answer(response: AdsResponse, rejection: string | undefined, isHeld?: boolean): void;
  /**
   * Marks the latest response of a type to be rejected after it was acknowledged, so that the next stream requests the type as if
   * it were not cached. Nothing happens before there was a response.
   */
  reject(typeUrl: string, rejection: string): void;
  /** Marks the rejection that is held back for a type, if there is one, to be sent. */
  sendHeld(typeUrl: string): void;
  /** Returns the request to send next; `undefined` if none is due. */
  next(): NextRequest | undefined;
}

/** Encodes a rejection (gRFC A46). */
export function errorDetail(rejection: string): Status {
  return { code: StatusCode.INVALID_ARGUMENT, message: rejection, details: [] };
}
