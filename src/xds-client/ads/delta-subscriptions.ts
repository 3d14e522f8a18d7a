import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { DeltaDiscoveryRequest } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { MAX_INITIAL_VERSIONS_LENGTH } from '../limits';
import type { AdsResponse } from './ads-response';
import {
  errorDetail,
  type NextRequest,
  type RequestSource,
  type Subscriptions,
} from './subscriptions';

/** The answer to a response. */
interface Answer {
  readonly nonce: string;
  /** `undefined` to acknowledge it. */
  readonly rejection: string | undefined;
}

/** The subscription state of one type. */
class TypeState {
  /** The names that the server knows; `undefined` before the first request. */
  sent: Set<string> | undefined;
  /** Names to request, or to request again. */
  readonly toSubscribe = new Set<string>();
  readonly toUnsubscribe = new Set<string>();
  /** One for each response, oldest first: each of them is about other resources. */
  readonly answers: Answer[] = [];
  /** The newest rejection that is held back; those before it say the same or are outdated. */
  held: Answer | undefined;
  /** The nonce of the latest response; `undefined` before there was one. */
  nonce: string | undefined;
}

/**
 * The incremental variant: requests have the names added and removed since the last one, and responses the resources
 * that have changed. What the server knows to be cached here belongs to the stream: a new one begins with the versions.
 */
export class DeltaSubscriptions implements Subscriptions {
  readonly isDelta = true;
  readonly verb = 'Delta';
  private readonly types = new Map<string, TypeState>();
  /** The types that may have to send a request. The others are skipped. */
  private readonly due = new Set<string>();
  /** Sent with the first request of a stream only: the server remembers it (gRFC A27). */
  private unsentNode: Node | undefined;
  private sendsVersions = true;
  /** Types whose latest response was rejected after it was acknowledged. */
  private readonly rejected = new Set<string>();

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  begin(): void {
    this.types.clear();
    this.due.clear();
    this.unsentNode = this.node;
    for (const typeUrl of this.source.typeUrls()) {
      for (const name of this.source.resources(typeUrl).keys()) this.addName(typeUrl, name);
    }
  }

  /** See `Subscriptions`. A server that knows everything to be cached here would send nothing. */
  forgetVersions(): void {
    this.sendsVersions = false;
  }

  /**
   * The cached value of a name that was removed and added again is gone. Subscribing to it once more is enough to have
   * it sent again, even if the server does not learn of the removal.
   */
  addName(typeUrl: string, name: string): void {
    const state = this.stateOf(typeUrl);
    state.toUnsubscribe.delete(name);
    state.toSubscribe.add(name);
    this.due.add(typeUrl);
  }

  removeName(typeUrl: string, name: string): void {
    const state = this.stateOf(typeUrl);
    state.toSubscribe.delete(name);
    if (state.sent?.has(name) !== true) return;
    state.toUnsubscribe.add(name);
    this.due.add(typeUrl);
  }

  /** Names go out in requests without a nonce, which no response makes outdated. */
  confirmName(): void {}

  isRequested(typeUrl: string): boolean {
    return this.types.get(typeUrl)?.sent !== undefined;
  }

  answer({ typeUrl, nonce }: AdsResponse, rejection: string | undefined, isHeld = false): void {
    // From now on what is cached is this server's.
    this.sendsVersions = true;
    this.rejected.delete(typeUrl);
    const state = this.stateOf(typeUrl);
    state.nonce = nonce;
    if (isHeld) {
      state.held = { nonce, rejection };
      return;
    }
    if (rejection === undefined) this.sendHeld(typeUrl);
    state.answers.push({ nonce, rejection });
    this.due.add(typeUrl);
  }

  reject(typeUrl: string, rejection: string): void {
    const state = this.stateOf(typeUrl);
    if (state.nonce === undefined) return;
    this.rejected.add(typeUrl);
    state.answers.push({ nonce: state.nonce, rejection });
    this.due.add(typeUrl);
  }

  sendHeld(typeUrl: string): void {
    const state = this.stateOf(typeUrl);
    if (state.held === undefined) return;
    state.answers.push(state.held);
    state.held = undefined;
    this.due.add(typeUrl);
  }

  next(): NextRequest | undefined {
    for (const typeUrl of this.due) {
      const state = this.stateOf(typeUrl);
      const next = this.composeAnswer(typeUrl, state) ?? this.composeNames(typeUrl, state);
      if (next !== undefined) return next;
      this.due.delete(typeUrl);
    }
    return undefined;
  }

  /**
   * An answer never has names: istiod ignores those in a NACK, and those in an ACK whose nonce is outdated
   * (https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go, `shouldRespondDelta`).
   */
  private composeAnswer(typeUrl: string, { answers }: TypeState): NextRequest | undefined {
    const answer = answers.shift();
    if (answer === undefined) return undefined;
    const { nonce: responseNonce, rejection } = answer;
    const error = rejection === undefined ? undefined : errorDetail(rejection);
    const bytes = this.encode(typeUrl, { responseNonce, errorDetail: error });
    return { typeUrl, bytes, newNames: [], isFirst: false, hasVersions: false };
  }

  private composeNames(typeUrl: string, state: TypeState): NextRequest | undefined {
    const { toSubscribe, toUnsubscribe } = state;
    if (toSubscribe.size === 0 && toUnsubscribe.size === 0) return undefined;
    const isFirst = state.sent === undefined;
    const sent = (state.sent ??= new Set());
    const newNames = [...toSubscribe];
    const removedNames = [...toUnsubscribe];
    for (const name of removedNames) sent.delete(name);
    for (const name of newNames) sent.add(name);
    toSubscribe.clear();
    toUnsubscribe.clear();
    const versions = isFirst ? this.initialVersions(typeUrl) : new Map<string, string>();
    const bytes = this.encode(typeUrl, {
      resourceNamesSubscribe: newNames,
      resourceNamesUnsubscribe: removedNames,
      initialResourceVersions: versions,
    });
    return { typeUrl, bytes, newNames, isFirst, hasVersions: versions.size > 0 };
  }

  /** The versions that the first request of a type has. */
  private initialVersions(typeUrl: string): Map<string, string> {
    const versions = new Map<string, string>();
    if (!this.sendsVersions || this.rejected.has(typeUrl)) return versions;
    let length = 0;
    let leftOut = 0;
    for (const [name, { heldVersion }] of this.source.resources(typeUrl)) {
      if (heldVersion === undefined) continue;
      length += heldVersion.length;
      if (length <= MAX_INITIAL_VERSIONS_LENGTH) versions.set(name, heldVersion);
      else leftOut++;
    }
    if (leftOut > 0) this.source.onVersionsLeftOut?.(typeUrl, leftOut);
    return versions;
  }

  private encode(typeUrl: string, content: Partial<DeltaDiscoveryRequest>): Uint8Array {
    const node = this.unsentNode;
    this.unsentNode = undefined;
    return DeltaDiscoveryRequest.encode({
      node,
      typeUrl,
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: new Map<string, string>(),
      responseNonce: '',
      errorDetail: undefined,
      ...content,
    }).finish();
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
