import type { Rejection, TypeState } from '../client-state';
import {
  MAX_NAME_CHARACTERS,
  MAX_NAMES,
  MAX_REJECTION_CHARACTERS,
  MAX_TYPES,
} from '../../util/limits';
import { cutText } from '../../util/text';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  resourceKinds,
  routeKind,
  type ResourceError,
  type SnapshotResource,
} from '../resource';
import {
  ViewChanges,
  type ServedResources,
  type SubscriptionChange,
  type ViewChange,
} from './resource-view';

/** Responses of one type whose acknowledgement is still recorded. */
export const MAX_UNACKNOWLEDGED = 1000;

/** Returns why names cannot all be subscribed to; `undefined` if they can. */
export function findNamesProblem(count: number, characters: number): string | undefined {
  if (count > MAX_NAMES) return `more than ${MAX_NAMES} names of one type on one stream`;
  if (characters > MAX_NAME_CHARACTERS)
    return `more than ${MAX_NAME_CHARACTERS} characters in the names of one type on one stream`;
  return undefined;
}

/** The fields that requests of both variants have. */
export interface SubscriptionRequest {
  readonly typeUrl: string;
  /** Nonce of the response this request acknowledges or rejects; empty if none. */
  readonly responseNonce: string;
  /** `error_detail.message`; undefined if the request does not reject the response. */
  readonly errorMessage?: string | undefined;
  /** The last version acknowledged; undefined in the incremental variant, in which the nonce alone acknowledges. */
  readonly versionInfo?: string | undefined;
}

/** The resources of one type to send, without a nonce. */
export interface TypeUpdate {
  /** Version of all resources of the type. */
  readonly version: string;
  readonly resources: readonly SnapshotResource[];
  /** Names that do not exist; empty in the state-of-the-world variant, in which absence expresses it. */
  readonly removed: readonly string[];
  readonly errors: readonly ResourceError[];
}

/** A response before it is encoded. */
export interface PlannedResponse extends TypeUpdate {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** The acknowledgement (ACK) or rejection (NACK) of a response. */
export type Acknowledgement =
  | { readonly kind: 'acked'; readonly version: string }
  | { readonly kind: 'nacked'; readonly version: string; readonly message: string };

export interface RequestOutcome {
  /** Undefined if the request neither acknowledges nor rejects a response for the first time. */
  readonly acknowledgement: Acknowledgement | undefined;
  /** What the request has changed of the subscription; undefined if nothing. */
  readonly subscribed: SubscriptionChange | undefined;
  readonly response: PlannedResponse | undefined;
}

/** An update in two parts, so that a resource is removed after the references to it. */
export interface DeferredRemoval {
  /** The update without the removals; undefined if it contains no changes. */
  readonly first: TypeUpdate | undefined;
  readonly last: TypeUpdate;
}

/** The part of a request that has names. */
export type NamesOf<Request> = Omit<
  Request,
  keyof SubscriptionRequest | 'unsubscribe' | 'initialVersions'
>;

/** The subscription to one type on one stream, in one variant of the protocol. */
export interface TypeSubscription<Request> {
  readonly typeUrl: string;
  readonly responses: SentResponses;
  /** Returns why a request has more names than a stream may have; `undefined` if it has not. */
  findExcess(request: NamesOf<Request>): string | undefined;
  /** Whether a request precedes the last response and is to be ignored. */
  isStale(nonce: string): boolean;
  onRequest(
    request: Request,
    resources: ServedResources,
  ): {
    readonly subscribed: SubscriptionChange | undefined;
    readonly update: TypeUpdate | undefined;
  };
  /** Returns the update after a change; undefined if there is none. */
  onChanged(change: ViewChange): TypeUpdate | undefined;
  /** Splits an update that removes resources; undefined if it removes none. */
  deferRemovals(update: TypeUpdate, previous: ServedResources): DeferredRemoval | undefined;
  /** Records that an update was sent. */
  markSent(update: TypeUpdate, nonce: string): void;
  /** Returns the resources last sent that have a time to live. */
  expiring(resources: ServedResources): readonly SnapshotResource[];
  describe(): TypeState;
}

/** The name that subscribes to all resources of a type. */
export const wildcardName = '*';

/**
 * The subscription state of one ADS stream. Plans responses and does no I/O: a returned response counts as sent. Nonces
 * are valid for the stream only.
 */
export class Subscriptions<Request extends SubscriptionRequest> {
  private readonly types = new Map<string, TypeSubscription<Request>>();
  /** The same, in the order in which they are sent. */
  private ordered: readonly TypeSubscription<Request>[] = [];
  private nonces = 0;

  constructor(
    private resources: ServedResources,
    private readonly createType: (typeUrl: string) => TypeSubscription<Request>,
  ) {}

  /** Returns why a request is more than a stream may have; `undefined` if it is not. */
  findExcess(request: NamesOf<Request> & Pick<SubscriptionRequest, 'typeUrl'>): string | undefined {
    const known = this.types.get(request.typeUrl);
    if (known === undefined && this.types.size >= MAX_TYPES) {
      return `type_url: more than ${MAX_TYPES} types on one stream`;
    }
    return (known ?? this.createType(request.typeUrl)).findExcess(request);
  }

  /** Applies a request. A rejected response is not repeated. */
  onRequest(request: Request): RequestOutcome {
    const { typeUrl, responseNonce, errorMessage, versionInfo } = request;
    const known = this.types.get(typeUrl);
    const acknowledgement = known?.responses.acknowledge(responseNonce, errorMessage, versionInfo);
    if (known?.isStale(responseNonce) === true)
      return { acknowledgement, subscribed: undefined, response: undefined };
    const type = known ?? this.addType(typeUrl);
    const { subscribed, update } = type.onRequest(request, this.resources);
    return { acknowledgement, subscribed, response: update && this.plan(type, update) };
  }

  /**
   * Replaces the resources. Returns the responses in make-before-break order: clusters, endpoints, listeners, routes, and
   * clusters and endpoints are removed after the listeners and routes that referred to them have changed.
   */
  onChanged(next: ServedResources, changes = new ViewChanges()): readonly PlannedResponse[] {
    const previous = this.resources;
    this.resources = next;
    const updates = this.pendingUpdates(changes.between(previous, next));
    // Most changes are of what other clients need.
    if (updates.length === 0) return NO_RESPONSES;
    const isRerouted = updates.some(
      ({ type: { typeUrl } }) => typeUrl === listenerKind.typeUrl || typeUrl === routeKind.typeUrl,
    );
    const responses: PlannedResponse[] = [];
    const last: PendingUpdate<Request>[] = [];
    for (const { type, update } of updates) {
      const isTarget = [clusterKind.typeUrl, endpointKind.typeUrl].includes(type.typeUrl);
      const deferred = isRerouted && isTarget ? type.deferRemovals(update, previous) : undefined;
      if (deferred !== undefined) last.push({ type, update: deferred.last });
      const first = deferred === undefined ? update : deferred.first;
      if (first !== undefined) responses.push(this.plan(type, first));
    }
    return [...responses, ...last.map(({ type, update }) => this.plan(type, update))];
  }

  /** Returns the responses that renew the time to live of the resources last sent. */
  heartbeats(): readonly PlannedResponse[] {
    const heartbeats: PlannedResponse[] = [];
    for (const type of this.types.values()) {
      const resources = type.expiring(this.resources);
      if (resources.length === 0) continue;
      const nonce = String(++this.nonces);
      const version = type.responses.sentVersion ?? '';
      type.responses.markSent(nonce, version);
      const update = { version, resources, removed: [], errors: [] };
      heartbeats.push({ ...update, typeUrl: type.typeUrl, nonce });
    }
    return heartbeats;
  }

  /** Returns a copy of the state of each type, in the order of first subscription. */
  describe(): ReadonlyMap<string, TypeState> {
    return new Map([...this.types].map(([typeUrl, type]) => [typeUrl, type.describe()]));
  }

  private addType(typeUrl: string): TypeSubscription<Request> {
    const type = this.createType(typeUrl);
    this.types.set(typeUrl, type);
    this.ordered = inSendingOrder(this.types);
    return type;
  }

  private pendingUpdates(change: ViewChange): readonly PendingUpdate<Request>[] {
    const updates: PendingUpdate<Request>[] = [];
    for (const type of this.ordered) {
      if (change.next.set(type.typeUrl) === undefined) continue;
      const update = type.onChanged(change);
      if (update !== undefined) updates.push({ type, update });
    }
    return updates;
  }

  private plan(type: TypeSubscription<Request>, update: TypeUpdate): PlannedResponse {
    const nonce = String(++this.nonces);
    type.markSent(update, nonce);
    return { ...update, typeUrl: type.typeUrl, nonce };
  }
}

const NO_RESPONSES: readonly PlannedResponse[] = [];

interface PendingUpdate<Request> {
  readonly type: TypeSubscription<Request>;
  readonly update: TypeUpdate;
}

/** Returns types without a sending order first, then the others in the order of `resourceKinds`. */
function inSendingOrder<Type>(types: ReadonlyMap<string, Type>): readonly Type[] {
  const ordered = new Set<Type>();
  for (const { typeUrl } of resourceKinds) {
    const type = types.get(typeUrl);
    if (type !== undefined) ordered.add(type);
  }
  return [...[...types.values()].filter((type) => !ordered.has(type)), ...ordered];
}

/** The responses of one type on one stream, and their acknowledgements. */
export class SentResponses {
  /** Versions of the responses not acknowledged yet, by nonce, oldest first: the last ones. */
  private readonly unacknowledged = new Map<string, string>();
  private last: { readonly nonce: string; readonly version: string } | undefined;
  private ackedVersion: string | undefined;
  private rejection: Rejection | undefined;

  /** Nonce of the last response; undefined before the first. */
  get lastNonce(): string | undefined {
    return this.last?.nonce;
  }

  /** Version of the last response; undefined before the first. */
  get sentVersion(): string | undefined {
    return this.last?.version;
  }

  /** Records that a response was sent. */
  markSent(nonce: string, version: string): void {
    this.last = { nonce, version };
    this.unacknowledged.set(nonce, version);
    if (this.unacknowledged.size <= MAX_UNACKNOWLEDGED) return;
    for (const oldest of this.unacknowledged.keys()) {
      this.unacknowledged.delete(oldest);
      return;
    }
  }

  /**
   * Records the acknowledgement of a response. Returns undefined for a repeated one.
   *
   * @param accepted `version_info` of the request. If it is not the version of the response, the request only changes
   *   names. Undefined if the nonce alone acknowledges.
   */
  acknowledge(
    nonce: string,
    error: string | undefined,
    accepted: string | undefined,
  ): Acknowledgement | undefined {
    const errorMessage = error === undefined ? undefined : cutText(error, MAX_REJECTION_CHARACTERS);
    const version = this.unacknowledged.get(nonce) ?? this.lateRejection(nonce, errorMessage);
    if (version === undefined) return undefined;
    if (errorMessage === undefined && accepted !== undefined && accepted !== version) {
      return undefined;
    }
    for (const older of this.unacknowledged.keys()) {
      this.unacknowledged.delete(older);
      if (older === nonce) break;
    }
    if (errorMessage !== undefined) {
      this.rejection = { version, message: errorMessage };
      return { kind: 'nacked', version, message: errorMessage };
    }
    this.ackedVersion = version;
    this.rejection = undefined;
    return { kind: 'acked', version };
  }

  /** Returns the version of the last response if it is rejected after it was acknowledged, as a relay does for its clients. */
  private lateRejection(nonce: string, errorMessage: string | undefined): string | undefined {
    const isNew = errorMessage !== undefined && errorMessage !== this.rejection?.message;
    return isNew && this.last?.nonce === nonce ? this.last.version : undefined;
  }

  /** Returns a copy of the state. */
  describe(): Pick<TypeState, 'sentVersion' | 'ackedVersion' | 'rejection'> {
    const { sentVersion, ackedVersion, rejection } = this;
    return { sentVersion, ackedVersion, rejection };
  }
}
