import type { Closable } from '../../util/handle';
import type { ClientStream, ClientNode, TypeState } from '../client-state';
import { changedNames, emptyResourceSet, type ServedSet } from '../resource';

/**
 * The resources that the discovery services serve, by node: the snapshots of a `ControlPlane`, or resources that come from
 * somewhere else. The events of their streams show what clients subscribe to and reject.
 */
export interface ResourceView {
  /** The shortest time to live of any resource, in milliseconds; undefined if no resource expires. */
  readonly shortestTtlMs: number | undefined;
  /** Returns the resources for a node: the same object until one of them changes. */
  resourcesFor(node: ClientNode): ServedResources;
  /** Calls a function after each change, until the watch is closed. */
  watch(onChanged: () => void): Closable;
  /** Handles that a stream has sent its node. Returns why it cannot be served, which ends it. Default: each can. */
  open?(node: ClientNode, client: ClientStream): Refusal | undefined;
  /** Returns why a subscription cannot be served, which ends its stream. Default: each can. */
  findRefusal?(typeUrl: string, change: SubscriptionChange, node: ClientNode): Refusal | undefined;
  /**
   * Returns why none of the names that a client subscribes to has a resource now, which ends its stream with UNAVAILABLE if
   * nothing was sent on it yet. Default: there is no such reason.
   */
  findOutage?(
    types: Iterable<Pick<TypeState, 'typeUrl' | 'subscribed' | 'wildcard'>>,
    node: ClientNode,
  ): string | undefined;
}

/** The status of a stream whose subscription cannot be served. */
export interface Refusal {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** The names that a request subscribes to. They take no more time than the request, however many there were before. */
export interface SubscriptionChange {
  /** The names in a state-of-the-world request, or added by an incremental one; without `*`. */
  readonly names: readonly string[];
  /** Names that are no longer subscribed to. */
  readonly removed: readonly string[];
  /** Whether the subscription is to all resources. */
  readonly wildcard: boolean;
}

/**
 * The resources for a node at one moment. They are immutable, and unchanged ones are the same objects as before. A resource is
 * sent as its bytes, whether this server knows its type or not.
 */
export interface ServedResources {
  /** Returns the resources and errors of a type; undefined if there have never been any. */
  set(typeUrl: string): ServedSet | undefined;
  /**
   * Whether a name that is in no set may yet have a resource, such as one that was requested from another server. Nothing
   * is sent of it until then. The version of a set changes when a name of it is no longer pending. `*` is pending while
   * the other names of the type are not known.
   */
  isPending(typeUrl: string, name: string): boolean;
}

/** The change from one moment to the next. What has changed of each type is found when a client needs it, and once. */
export class ViewChange {
  private readonly names = new Map<string, readonly string[]>();

  constructor(
    readonly previous: ServedResources,
    readonly next: ServedResources,
  ) {}

  /**
   * Returns the names and aliases of a type for which clients receive something else, or nothing any more. There may be others
   * among them, for which they receive the same.
   */
  changedNames(typeUrl: string): readonly string[] {
    let names = this.names.get(typeUrl);
    if (names === undefined) {
      const [previous, next] = [this.previous.set(typeUrl), this.next.set(typeUrl)];
      names = changedNames(previous ?? emptyResourceSet, next ?? emptyResourceSet);
      this.names.set(typeUrl, names);
    }
    return names;
  }

  /** Returns names of a subscription, those among them that have changed: at most as many as it has. */
  changedNamesOf(
    typeUrl: string,
    { names, wildcard }: { readonly names: ReadonlySet<string>; readonly wildcard: boolean },
  ): Iterable<string> {
    const changed = this.changedNames(typeUrl);
    if (wildcard) return changed;
    return changed.length <= names.size ? changed.filter((name) => names.has(name)) : names;
  }
}

/** The changes that the streams of a server apply at one time. Streams with the same resources share one. */
export class ViewChanges {
  private readonly byPrevious = new Map<ServedResources, ViewChange>();

  /** Returns the change from some resources to others. */
  between(previous: ServedResources, next: ServedResources): ViewChange {
    const known = this.byPrevious.get(previous);
    if (known?.next === next) return known;
    const change = new ViewChange(previous, next);
    this.byPrevious.set(previous, change);
    return change;
  }
}
