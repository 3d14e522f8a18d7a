import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { DiscoveryRequest } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { MAX_NAME_REPEATS } from '../limits';
import { joinBounded } from '../../util/violations';
import { parseSotwResponse, type AdsResponse, type ParsedResponse } from './ads-response';
import {
  errorDetail,
  NodeOnce,
  type AdsProtocol,
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

const NO_NAMES: ReadonlyMap<string, number> = new Map();

/** The subscription state of one type. */
interface TypeState {
  /** The nonce of the latest response; empty before there was one. */
  nonce: string;
  nack: Nack | undefined;
  /** The names of the last request, which the server knows; `undefined` before the first request. */
  sent: SentNames | undefined;
  /** Whether the requested names may differ from those. */
  namesChanged: boolean;
  /** Whether a request is due even if they do not: an ACK, or names that the server may have missed. */
  mustSend: boolean;
  /** Names removed since the last request. */
  readonly removed: Set<string>;
  /**
   * Names that requests before the latest response have left out, and how often: the response may have crossed them, which makes
   * them outdated.
   */
  unseen: ReadonlyMap<string, number>;
  readonly unconfirmed: UnconfirmedNames;
}

/** The state-of-the-world variant: every request of a type has the names of all its requested resources. */
export class SotwProtocol implements AdsProtocol {
  readonly isDelta = false;
  readonly verb = 'Stream';
  /** By type, the versions last accepted from this server. They outlive streams, nonces do not. */
  private readonly versions = new Map<string, string>();
  /** Types whose latest response was rejected after it was acknowledged. */
  private readonly rejected = new Set<string>();

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  createSubscriptions(): Subscriptions {
    const requested = new Set(this.source.typeUrls());
    // Resources of a type that is no longer requested are not cached, so its version must not be sent.
    for (const typeUrl of this.versions.keys()) {
      if (!requested.has(typeUrl)) this.versions.delete(typeUrl);
    }
    const node = new NodeOnce(this.node);
    return new SotwSubscriptions(this.source, node, this.versions, this.rejected);
  }

  forgetVersions(): void {
    this.versions.clear();
  }
}

/**
 * One request has everything that has changed since the last request of its type, except for a NACK, which is a request
 * of its own. A NACK repeats the names of the last request; changes of names go out in requests without `error_detail`,
 * with the same nonce, because some servers ignore the names in a NACK (docs/decisions/0010-names-around-a-nack.md).
 */
class SotwSubscriptions implements Subscriptions {
  private readonly types = new Map<string, TypeState>();

  constructor(
    private readonly source: RequestSource,
    private readonly node: NodeOnce,
    private readonly versions: Map<string, string>,
    private readonly rejected: Set<string>,
  ) {}

  addType(typeUrl: string): void {
    this.stateOf(typeUrl).namesChanged = true;
  }

  addName(typeUrl: string, _name: string): void {
    this.addType(typeUrl);
  }

  removeName(typeUrl: string, name: string): void {
    const state = this.stateOf(typeUrl);
    state.namesChanged = true;
    if (state.sent?.names.has(name) === true) state.removed.add(name);
  }

  confirmName(typeUrl: string, name: string): void {
    this.types.get(typeUrl)?.unconfirmed.confirm(name);
  }

  parse(bytes: Uint8Array): ParsedResponse {
    return parseSotwResponse(bytes, (typeUrl) => this.types.get(typeUrl)?.sent !== undefined);
  }

  /** The request that answers a response, and those after it, have its nonce: without it they would be outdated. */
  answer(
    { typeUrl, nonce, version }: AdsResponse,
    rejection: string | undefined,
    isHeld = false,
  ): void {
    const state = this.stateOf(typeUrl);
    state.nonce = nonce;
    if (rejection === undefined) {
      this.versions.set(typeUrl, version);
      this.rejected.delete(typeUrl);
      state.nack = undefined;
      state.mustSend = true;
      state.unseen = state.unconfirmed.onAck();
      if (state.unseen.size > 0) state.namesChanged = true;
    } else {
      state.nack = { rejection, isHeld };
      state.mustSend = state.unconfirmed.onNack() || state.mustSend;
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
      const next = this.composeNack(typeUrl, state) ?? this.compose(typeUrl, state);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  private composeNack(typeUrl: string, state: TypeState): NextRequest | undefined {
    const { nack, unconfirmed } = state;
    if (nack === undefined || nack.isHeld) return undefined;
    state.nack = undefined;
    if (!unconfirmed.isEmpty) state.mustSend = true;
    return this.request(typeUrl, state, { rejection: nack.rejection });
  }

  private compose(typeUrl: string, state: TypeState): NextRequest | undefined {
    const { sent, namesChanged, mustSend } = state;
    if (!namesChanged && !mustSend) return undefined;
    const names = namesChanged ? this.takeNames(typeUrl, state) : undefined;
    const newNames = names?.filter((name) => sent?.names.has(name) !== true) ?? [];
    const hasFewer = names !== undefined && names.length < (sent?.names.size ?? 0);
    const isNews = newNames.length > 0 || hasFewer;
    if (!isNews && !state.mustSend) return undefined;
    // A first request without names would be a subscription to everything of the type (wildcard).
    if (newNames.length === 0 && sent === undefined) return undefined;
    state.mustSend = false;
    if (isNews) sendNames(state, new SentNames(names ?? []), newNames);
    omitUnseen(state);
    return this.request(typeUrl, state, { newNames, isFirst: sent === undefined });
  }

  /** Composes a request of the names that are noted as sent: an ACK or a NACK repeats them. */
  private request(
    typeUrl: string,
    { nonce, sent }: TypeState,
    content: { rejection?: string; newNames?: readonly string[]; isFirst?: boolean },
  ): NextRequest {
    const { rejection, newNames = [], isFirst = false } = content;
    // A server that has the same version may be silent, and not learn that it is rejected.
    const isOmitted = isFirst && this.rejected.has(typeUrl);
    const versionInfo = isOmitted ? '' : (this.versions.get(typeUrl) ?? '');
    const head = DiscoveryRequest.encode({
      versionInfo,
      resourceNames: [],
      typeUrl,
      responseNonce: nonce,
      node: this.node.take(),
      errorDetail: errorDetail(rejection),
    }).finish();
    // Two messages in a row are one with the fields of both.
    const bytes = sent === undefined ? head : Buffer.concat([head, sent.bytes]);
    return { typeUrl, bytes, newNames, isFirst, hasVersions: versionInfo !== '' };
  }

  /**
   * The cached value of a name that was removed and added again is gone. A server sends it again only if it sees the
   * name removed and added, so one request omits it and a second one follows. The same holds if it may have missed the removal.
   */
  private takeNames(typeUrl: string, state: TypeState): string[] {
    const { removed, unseen } = state;
    const names = [...this.source.resources(typeUrl).keys()];
    const isOmitted = (name: string) => removed.has(name) || unseen.has(name);
    const kept =
      removed.size + unseen.size === 0 ? names : names.filter((name) => !isOmitted(name));
    removed.clear();
    state.namesChanged = kept.length < names.length;
    return kept;
  }

  private stateOf(typeUrl: string): TypeState {
    let state = this.types.get(typeUrl);
    if (state === undefined) {
      state = {
        nonce: '',
        nack: undefined,
        sent: undefined,
        namesChanged: false,
        mustSend: false,
        removed: new Set(),
        unseen: NO_NAMES,
        unconfirmed: new UnconfirmedNames(),
      };
      this.types.set(typeUrl, state);
    }
    return state;
  }
}

/** The names of a request, encoded once: every ACK repeats them, and there may be thousands. */
class SentNames {
  readonly bytes: Uint8Array;
  readonly names: ReadonlySet<string>;

  constructor(resourceNames: string[]) {
    this.names = new Set(resourceNames);
    this.bytes = DiscoveryRequest.encode(DiscoveryRequest.create({ resourceNames })).finish();
  }
}

/** Notes the names of a request. Every server reads the first request of a stream: no response can cross it. */
function sendNames(state: TypeState, next: SentNames, newNames: readonly string[]): void {
  const { sent, unconfirmed, unseen } = state;
  state.sent = next;
  if (sent === undefined) return;
  for (const name of newNames) unconfirmed.add(name);
  if (next.names.size - newNames.length === sent.names.size) return;
  for (const name of sent.names) {
    if (!next.names.has(name) && !unseen.has(name)) unconfirmed.remove(name);
  }
}

/** Notes which names a request leaves out once more: another response may cross it, too. */
function omitUnseen(state: TypeState): void {
  const { unseen, sent, unconfirmed } = state;
  for (const [name, count] of unseen) {
    if (sent?.names.has(name) !== true) unconfirmed.remove(name, count);
  }
  state.unseen = NO_NAMES;
}

/**
 * The changes of one type's resource names that the server may have missed, on a state-of-the-world stream. A server
 * ignores a request whose nonce is outdated, and some ignore everything in a request that rejects a response: istiod
 * does (https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go, `ShouldRespond`). An added name is confirmed by
 * the first response that contains the resource; a removed one never is. See docs/decisions/0010-names-around-a-nack.md.
 */
class UnconfirmedNames {
  /** Added, and not contained in any response since: how often each may still be repeated at once. */
  private readonly added = new Map<string, number>();
  /** How many of them may be. */
  private repeatable = 0;
  /** Removed by requests since the latest response, with how often each was. */
  private removed = new Map<string, number>();

  /** Whether every added name is confirmed. */
  get isEmpty(): boolean {
    return this.added.size === 0;
  }

  /** Notes a name that a request has added. */
  add(name: string): void {
    this.endAdded(name);
    this.added.set(name, MAX_NAME_REPEATS);
    this.repeatable++;
  }

  /**
   * Notes a name that a request has left out. There are servers that respond to every request, so that it is repeated a few times
   * only.
   * @param before How often it was left out before, since a response contained it. Default: never.
   */
  remove(name: string, before = 0): void {
    this.endAdded(name);
    if (before < MAX_NAME_REPEATS) this.removed.set(name, before + 1);
  }

  /** Notes that a response contains a resource. */
  confirm(name: string): void {
    this.removed.delete(name);
    this.endAdded(name);
  }

  private endAdded(name: string): void {
    const left = this.added.get(name);
    if (left === undefined) return;
    this.added.delete(name);
    if (left > 0) this.repeatable--;
  }

  /**
   * Notes that a response is acknowledged: the ACK names everything, but may be outdated, too.
   * @returns the names whose removal the response may have crossed. If they are requested again, the server must see them
   * removed before.
   */
  onAck(): ReadonlyMap<string, number> {
    const { removed } = this;
    if (removed.size > 0) this.removed = new Map();
    return removed;
  }

  /**
   * Notes that a response is rejected. The response may have crossed the requests before it.
   * @returns whether these must be repeated at once. Each name is repeated so a few times only: there are servers
   * that respond to every request, and a name that does not exist would make a loop.
   */
  onNack(): boolean {
    const mustRepeat = this.repeatable > 0 || this.removed.size > 0;
    if (this.repeatable > 0) this.countRepeats();
    this.removed.clear();
    return mustRepeat;
  }

  private countRepeats(): void {
    for (const [name, left] of this.added) {
      if (left > 0) this.added.set(name, left - 1);
      if (left === 1) this.repeatable--;
    }
  }
}
