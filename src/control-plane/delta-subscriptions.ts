import type { TypeState } from './client-state';
import {
  DeltaTypeSubscription,
  type DeltaAnswer,
  type DeltaNames,
} from './delta-type-subscription';
import { isIgnored, type ImitatedServer } from './imitation';
import { clusterKind, endpointKind, listenerKind, routeKind, sendingOrder } from './resource-kind';
import { changedNames, type SnapshotResource } from './resource-set';
import type { Verdict } from './response-ledger';
import type { Snapshot } from './snapshot';

/** The parts of an incremental request that decide its answer. */
export interface DeltaSubscriptionRequest extends DeltaNames {
  readonly typeUrl: string;
  /** Nonce of the response this request answers; empty if it answers none. */
  readonly responseNonce: string;
  /** Why the client refused that response; undefined when it did not. */
  readonly errorMessage?: string | undefined;
}

/** An incremental response to be sent. */
export interface PlannedDeltaResponse extends DeltaAnswer {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** What a request meant and what to send because of it. */
export interface DeltaRequestOutcome {
  /** What the client said about a response; undefined when it said nothing new. */
  readonly verdict: Verdict | undefined;
  /** The subscription after the request, if the request changed it. */
  readonly subscribed: TypeState | undefined;
  readonly response: PlannedDeltaResponse | undefined;
}

/** Resources to be kept alive. */
export interface PlannedHeartbeat {
  readonly typeUrl: string;
  readonly version: string;
  readonly nonce: string;
  readonly resources: readonly SnapshotResource[];
}

/**
 * All types on one incremental stream. Decides what to send and does no I/O; dies with its stream, as nonces
 * do. What it returns counts as sent.
 *
 * A client is told what is news to it, and of every name it asks for whether it exists. A request changes the
 * subscription whatever nonce it has: an acknowledgement that crosses a response still counts.
 */
export class DeltaSubscriptions {
  private readonly types = new Map<string, DeltaTypeSubscription>();
  private nonces = 0;

  /** @param imitated The server that requests are treated as by. */
  constructor(
    private snapshot: Snapshot,
    private readonly imitated?: ImitatedServer,
  ) {}

  /** Takes a request in. */
  onRequest(request: DeltaSubscriptionRequest): DeltaRequestOutcome {
    let type = this.types.get(request.typeUrl);
    if (isIgnored(this.imitated, request, type?.responses.lastNonce)) {
      const verdict = type?.responses.judge(request.responseNonce, request.errorMessage);
      return { verdict, subscribed: undefined, response: undefined };
    }
    if (type === undefined) {
      type = new DeltaTypeSubscription(request.typeUrl);
      this.types.set(request.typeUrl, type);
    }
    const verdict = type.responses.judge(request.responseNonce, request.errorMessage);
    const changed = type.subscribe(request, this.snapshot);
    const answer = type.answer(this.snapshot);
    return {
      verdict,
      subscribed: changed ? type.describe() : undefined,
      response: answer && this.plan(type, answer),
    };
  }

  /**
   * Moves the stream to another snapshot. Returns the responses in the order that never leaves the client with
   * a reference to something it was not told about: what is referred to comes before what refers to it, and
   * clusters and endpoints go away after listeners and routes have stopped naming them.
   */
  onSnapshot(next: Snapshot): readonly PlannedDeltaResponse[] {
    const previous = this.snapshot;
    this.snapshot = next;
    const pending = this.pendingAnswers(previous);
    const isRerouted = pending.some(
      ({ type: { kind } }) => kind === listenerKind || kind === routeKind,
    );
    const responses: PlannedDeltaResponse[] = [];
    const removals: PendingAnswer[] = [];
    for (const { type, answer } of pending) {
      const isTarget = type.kind === clusterKind || type.kind === endpointKind;
      if (!isRerouted || !isTarget || answer.removed.length === 0) {
        responses.push(this.plan(type, answer));
        continue;
      }
      removals.push({ type, answer: { ...answer, resources: [], errors: [] } });
      if (answer.resources.length + answer.errors.length === 0) continue;
      responses.push(this.plan(type, { ...answer, removed: [] }));
    }
    for (const { type, answer } of removals) responses.push(this.plan(type, answer));
    return responses;
  }

  /** What keeps the resources alive that the client has and that expire. */
  heartbeats(): readonly PlannedHeartbeat[] {
    const heartbeats: PlannedHeartbeat[] = [];
    for (const type of this.types.values()) {
      const resources = type.expiring(this.snapshot);
      if (resources.length === 0) continue;
      const version = type.responses.sentVersion ?? '';
      heartbeats.push({ ...this.stamp(type, version), version, resources });
    }
    return heartbeats;
  }

  /** A copy of the state of each type, for people to look at. */
  describe(): ReadonlyMap<string, TypeState> {
    return new Map([...this.types].map(([typeUrl, type]) => [typeUrl, type.describe()]));
  }

  /** What each type has to be told, in the order of sending. Types that did not change cost nothing. */
  private pendingAnswers(previous: Snapshot): readonly PendingAnswer[] {
    const pending: PendingAnswer[] = [];
    for (const type of sendingOrder(this.types)) {
      const { kind } = type;
      if (kind === undefined) continue;
      if (this.imitated === 'istiod') type.resend(this.snapshot);
      const names = changedNames(previous.set(kind), this.snapshot.set(kind));
      if (names.length === 0 && this.imitated !== 'istiod') continue;
      type.markDue(names);
      const answer = type.answer(this.snapshot);
      if (answer !== undefined) pending.push({ type, answer });
    }
    return pending;
  }

  private plan(type: DeltaTypeSubscription, answer: DeltaAnswer): PlannedDeltaResponse {
    return { ...answer, ...this.stamp(type, answer.version) };
  }

  private stamp(type: DeltaTypeSubscription, version: string) {
    const nonce = String(++this.nonces);
    type.responses.markSent(nonce, version);
    return { typeUrl: type.typeUrl, nonce };
  }
}

interface PendingAnswer {
  readonly type: DeltaTypeSubscription;
  readonly answer: DeltaAnswer;
}
