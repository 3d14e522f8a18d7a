import type { TypeState } from './client-state';
import { isIgnored, type ImitatedServer } from './imitation';
import { clusterKind, listenerKind, routeKind, sendingOrder } from './resource-kind';
import type { SnapshotResource } from './resource-set';
import type { Verdict } from './response-ledger';
import type { Snapshot } from './snapshot';
import { TypeSubscription, type Answer } from './type-subscription';

/** The parts of a state-of-the-world request that decide its answer. */
export interface SubscriptionRequest {
  readonly typeUrl: string;
  readonly resourceNames: readonly string[];
  /** Nonce of the response this request answers; empty in the first request of a type. */
  readonly responseNonce: string;
  /** Why the client refused that response; undefined when it did not. */
  readonly errorMessage?: string | undefined;
  /** The last version the client has accepted; undefined if the nonce alone tells. */
  readonly versionInfo?: string | undefined;
}

/** A response to be sent. */
export interface PlannedResponse extends Answer {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** What a request meant and what to send because of it. */
export interface RequestOutcome {
  /** What the client said about a response; undefined when it said nothing new. */
  readonly verdict: Verdict | undefined;
  /** The subscription after the request, if the request changed it. */
  readonly subscribed: TypeState | undefined;
  readonly response: PlannedResponse | undefined;
}

/**
 * All types on one state-of-the-world stream. Decides what to send and does no I/O; dies with its
 * stream, as nonces do. What it returns counts as sent.
 *
 * Listeners and clusters are answered with everything the client named, the other types with what
 * is new to it. A refused response is not repeated: the client hears of a resource again when it
 * changes or is asked for anew.
 */
export class Subscriptions {
  private readonly types = new Map<string, TypeSubscription>();
  private nonces = 0;

  /** @param imitated The server that requests are treated as by. */
  constructor(
    private snapshot: Snapshot,
    private readonly imitated?: ImitatedServer,
  ) {}

  /** Takes a request in. */
  onRequest(request: SubscriptionRequest): RequestOutcome {
    const { typeUrl, responseNonce, errorMessage, versionInfo } = request;
    // To istiod, a request without a nonce is the first one, whatever came before.
    if (this.imitated === 'istiod' && responseNonce === '') this.types.delete(typeUrl);
    const known = this.types.get(typeUrl);
    const verdict = known?.responses.judge(responseNonce, errorMessage, versionInfo);
    const lastNonce = known?.responses.lastNonce;
    const isLost = isIgnored(this.imitated, request, lastNonce);
    if (isLost || known?.isStale(responseNonce) === true) {
      return { verdict, subscribed: undefined, response: undefined };
    }
    const subscription = known ?? this.addType(typeUrl);
    const changed = subscription.subscribe(request.resourceNames);
    const answer = changed || known === undefined ? subscription.answer(this.snapshot) : undefined;
    return {
      verdict,
      subscribed: changed ? subscription.describe() : undefined,
      response: answer && this.plan(subscription, answer),
    };
  }

  /**
   * Moves the stream to another snapshot. Returns the responses in the order that never leaves the
   * client with a reference to something it was not told about: clusters, endpoints, listeners,
   * routes. Clusters that go away stay until listeners and routes have stopped naming them.
   */
  onSnapshot(next: Snapshot): readonly PlannedResponse[] {
    const previous = this.snapshot;
    this.snapshot = next;
    const pending = this.pendingAnswers(previous);
    const rerouted = pending.some(
      ({ type: { kind } }) => kind === listenerKind || kind === routeKind,
    );
    const responses: PlannedResponse[] = [];
    let removal: PendingAnswer | undefined;
    for (const { type, answer } of pending) {
      const removed = rerouted && type.kind === clusterKind ? type.removedBy(answer, previous) : [];
      if (removed.length === 0) {
        responses.push(this.plan(type, answer));
        continue;
      }
      removal = { type, answer };
      if (type.hasNews(answer)) responses.push(this.plan(type, keep(removed, answer, previous)));
    }
    if (removal !== undefined) responses.push(this.plan(removal.type, removal.answer));
    return responses;
  }

  /** What keeps the resources alive that the client has and that expire. Not complete for any type. */
  heartbeats(): readonly PlannedResponse[] {
    const heartbeats: PlannedResponse[] = [];
    for (const type of this.types.values()) {
      const resources = type.expiring(this.snapshot);
      if (resources.length === 0) continue;
      const version = type.responses.sentVersion ?? '';
      const nonce = String(++this.nonces);
      type.responses.markSent(nonce, version);
      heartbeats.push({ typeUrl: type.typeUrl, nonce, version, resources, errors: [] });
    }
    return heartbeats;
  }

  /** A copy of the state of each type, for people to look at. */
  describe(): ReadonlyMap<string, TypeState> {
    return new Map([...this.types].map(([typeUrl, type]) => [typeUrl, type.describe()]));
  }

  private addType(typeUrl: string): TypeSubscription {
    const type = new TypeSubscription(typeUrl);
    this.types.set(typeUrl, type);
    return type;
  }

  /** What each type has to be told, in the order of sending. Types that did not change cost nothing. */
  private pendingAnswers(previous: Snapshot): readonly PendingAnswer[] {
    const pending: PendingAnswer[] = [];
    for (const type of sendingOrder(this.types)) {
      const { kind } = type;
      if (kind === undefined) continue;
      if (this.imitated === 'istiod') {
        pending.push({ type, answer: type.answerAll(this.snapshot) });
        continue;
      }
      if (this.snapshot.set(kind).version === previous.set(kind).version) continue;
      const answer = type.answer(this.snapshot);
      if (answer !== undefined) pending.push({ type, answer });
    }
    return pending;
  }

  private plan(type: TypeSubscription, answer: Answer): PlannedResponse {
    const nonce = String(++this.nonces);
    type.markSent(answer, nonce);
    return { ...answer, typeUrl: type.typeUrl, nonce };
  }
}

interface PendingAnswer {
  readonly type: TypeSubscription;
  readonly answer: Answer;
}

/** The answer for the time in which both the old and the new clusters are needed. */
function keep(removed: readonly SnapshotResource[], answer: Answer, previous: Snapshot): Answer {
  return {
    version: `${previous.set(clusterKind).version}..${answer.version}`,
    resources: [...answer.resources, ...removed],
    errors: answer.errors,
  };
}
