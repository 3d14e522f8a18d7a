import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { DiscoveryRequest } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { MAX_NAME_REPEATS } from '../limits';
import { joinBounded } from '../../util/violations';
import type { AdsResponse } from './ads-response';
import {
  errorDetail,
  type NextRequest,
  type RequestSource,
  type Subscriptions,
} from './subscriptions';

/** The rejection of the latest response, until it is sent. */
interface Nack {
  readonly rejection: string;
  /** Whether it is held back until `sendHeld`. */
  isHeld: boolean;
}

/** The names of a request, encoded once: every ACK repeats them, and there may be thousands. */
interface SentNames {
  readonly names: ReadonlySet<string>;
  readonly bytes: Uint8Array;
}

/**
 * The subscription state of one type on one stream. A server ignores a request whose nonce is outdated, and some ignore
 * everything in a request that rejects a response: istiod does (https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go,
 * `ShouldRespond`). So it may have missed names that were added or left out. See docs/decisions/ads-streams.md.
 */
class TypeState {
  /** The nonce of the latest response; empty before there was one. */
  nonce = '';
  nack: Nack | undefined;
  /** The names of the last request, which the server knows; `undefined` before the first request. */
  sent: SentNames | undefined;
  /** Whether the requested names may differ from those. */
  namesChanged = false;
  /** Whether a request is due even if they do not: an ACK, or names that the server may have missed. */
  mustSend = false;
  /** Names that were added after the first request, and that no response has contained since. */
  readonly unconfirmed = new Set<string>();
  /** How often they may still be repeated at once. */
  repeats = 0;
  /** Names to leave out of the next request, also if they are requested: the server must see them go before they return. */
  omitted = new Set<string>();
  /** Names that requests since the latest response have left out. The next response may have crossed these requests. */
  unseen = new Set<string>();
  /** How many ACKs may leave them out: there are servers that respond to every request. */
  omissions = 0;
}

/**
 * The state-of-the-world variant: every request of a type has the names of all its requested resources. One request has
 * everything that has changed since the last request of its type, except for a NACK, which is a request of its own. A NACK
 * repeats the names of the last request; changes of names go out in requests without `error_detail`, with the same nonce,
 * because some servers ignore the names in a NACK (docs/decisions/ads-streams.md).
 */
export class SotwSubscriptions implements Subscriptions {
  readonly isDelta = false;
  readonly verb = 'Stream';
  private readonly types = new Map<string, TypeState>();
  /** Sent with the first request of a stream only: the server remembers it (gRFC A27). */
  private unsentNode: Node | undefined;
  /** By type, the versions last accepted from this server. They outlive streams, nonces do not. */
  private readonly versions = new Map<string, string>();
  /** Types whose latest response was rejected after it was acknowledged. */
  private readonly rejected = new Set<string>();

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  begin(): void {
    this.types.clear();
    this.unsentNode = this.node;
    for (const typeUrl of this.source.typeUrls()) this.stateOf(typeUrl).namesChanged = true;
    // Resources of a type that is no longer requested are not cached, so its version must not be sent.
    for (const typeUrl of this.versions.keys()) {
      if (!this.types.has(typeUrl)) this.versions.delete(typeUrl);
    }
  }

  forgetVersions(): void {
    this.versions.clear();
  }

  addName(typeUrl: string, _name: string): void {
    this.stateOf(typeUrl).namesChanged = true;
  }

  removeName(typeUrl: string, name: string): void {
    const state = this.stateOf(typeUrl);
    state.namesChanged = true;
    if (state.sent?.names.has(name) !== true) return;
    state.omitted.add(name);
    state.omissions = MAX_NAME_REPEATS;
  }

  confirmName(typeUrl: string, name: string): void {
    const state = this.types.get(typeUrl);
    state?.unconfirmed.delete(name);
    state?.unseen.delete(name);
  }

  isRequested(typeUrl: string): boolean {
    return this.types.get(typeUrl)?.sent !== undefined;
  }

  /** The request that answers a response, and those after it, have its nonce: without it they would be outdated. */
  answer(
    { typeUrl, nonce, version }: AdsResponse,
    rejection: string | undefined,
    isHeld = false,
  ): void {
    const state = this.stateOf(typeUrl);
    const { unseen, omitted } = state;
    state.unseen = new Set();
    state.nonce = nonce;
    if (rejection === undefined) {
      this.versions.set(typeUrl, version);
      this.rejected.delete(typeUrl);
      state.nack = undefined;
      state.mustSend = true;
      if (unseen.size + omitted.size > 0 && state.omissions > 0) {
        state.omissions--;
        state.omitted = union(unseen, omitted);
        state.namesChanged = true;
      }
    } else {
      state.nack = { rejection, isHeld };
      // Names are repeated at once a few times only: there are servers that respond to every request, and a name that does
      // not exist would make a loop.
      const mayRepeat = state.unconfirmed.size > 0 && state.repeats > 0;
      if (mayRepeat) state.repeats--;
      if (mayRepeat || unseen.size > 0) state.mustSend = true;
    }
  }

  reject(typeUrl: string, rejection: string): void {
    const state = this.types.get(typeUrl);
    if (state === undefined || state.nonce === '') return;
    this.rejected.add(typeUrl);
    const { nack } = state;
    if (nack === undefined) state.nack = { rejection, isHeld: false };
    else state.nack = { ...nack, rejection: joinBounded([nack.rejection, rejection]) };
  }

  sendHeld(typeUrl: string): void {
    const nack = this.types.get(typeUrl)?.nack;
    if (nack !== undefined) nack.isHeld = false;
  }

  next(): NextRequest | undefined {
    for (const [typeUrl, state] of this.types) {
      const { nack, namesChanged, mustSend } = state;
      if (nack?.isHeld === false) {
        state.nack = undefined;
        if (state.unconfirmed.size > 0) state.mustSend = true;
        return this.encode(typeUrl, state, nack.rejection);
      }
      const next = namesChanged || mustSend ? this.compose(typeUrl, state) : undefined;
      if (next !== undefined) return next;
    }
    return undefined;
  }

  private compose(typeUrl: string, state: TypeState): NextRequest | undefined {
    const isFirst = state.sent === undefined;
    const newNames = state.namesChanged ? this.takeNames(typeUrl, state) : [];
    // A first request without names would be a subscription to everything of the type (wildcard).
    if (!state.mustSend || state.sent === undefined) return undefined;
    state.mustSend = false;
    return this.encode(typeUrl, state, undefined, newNames, isFirst);
  }

  /**
   * Takes the requested names as those to be sent, if they are others. The cached value of a name that was removed and added again
   * is gone. A server sends it again only if it sees the name removed and added, so one request omits it and a second one follows.
   * @returns the names that are new.
   */
  private takeNames(typeUrl: string, state: TypeState): readonly string[] {
    const { sent, omitted, unseen, unconfirmed } = state;
    const requested = [...this.source.resources(typeUrl).keys()];
    const names = omitted.size === 0 ? requested : requested.filter((name) => !omitted.has(name));
    state.namesChanged = names.length < requested.length;
    const newNames = names.filter((name) => sent?.names.has(name) !== true);
    if (unconfirmed.size > 0) for (const name of omitted) unconfirmed.delete(name);
    state.unseen = union(omitted, unseen);
    state.omitted = new Set();
    const hasFewer = names.length - newNames.length < (sent?.names.size ?? 0);
    if (newNames.length === 0 && !hasFewer) return newNames;
    state.mustSend = true;
    const bytes = DiscoveryRequest.encode(
      DiscoveryRequest.create({ resourceNames: names }),
    ).finish();
    state.sent = { names: new Set(names), bytes };
    // Every server reads the first request of a stream: no response can cross it.
    if (sent === undefined || newNames.length === 0) return newNames;
    for (const name of newNames) unconfirmed.add(name);
    state.repeats = MAX_NAME_REPEATS;
    return newNames;
  }

  /** Encodes a request of the names that are noted as sent: an ACK or a NACK repeats them. */
  private encode(
    typeUrl: string,
    { nonce, sent }: TypeState,
    rejection: string | undefined,
    newNames: readonly string[] = [],
    isFirst = false,
  ): NextRequest {
    // A server that has the same version may be silent, and not learn that it is rejected.
    const isOmitted = isFirst && this.rejected.has(typeUrl);
    const versionInfo = isOmitted ? '' : (this.versions.get(typeUrl) ?? '');
    const head = DiscoveryRequest.encode({
      versionInfo,
      resourceNames: [],
      typeUrl,
      responseNonce: nonce,
      node: this.unsentNode,
      errorDetail: rejection === undefined ? undefined : errorDetail(rejection),
    }).finish();
    this.unsentNode = undefined;
    // Two messages in a row are one with the fields of both.
    const bytes = sent === undefined ? head : Buffer.concat([head, sent.bytes]);
    return { typeUrl, bytes, newNames, isFirst, hasVersions: versionInfo !== '' };
  }

  private stateOf(typeUrl: string): TypeState {
    let state = this.types.get(typeUrl);
    if (state === undefined) {
      state = new TypeState();
      this.types.set(typeUrl, state);
    }
    return state;
  }
}

/** Returns the names of two sets, one of which is changed. */
function union(a: Set<string>, b: Set<string>): Set<string> {
  const [larger, smaller] = a.size < b.size ? [b, a] : [a, b];
  for (const name of smaller) larger.add(name);
  return larger;
}
