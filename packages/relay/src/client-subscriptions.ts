import type { ClientEvent } from 'grpc-xds/control-plane';

/** Receives which names are referred to by clients, each as often as there are clients. */
type Refer = (
  typeUrl: string,
  added: Iterable<string>,
  removed: Iterable<string>,
  queued: Set<string>,
) => void;

/** What a client subscribes to of one type. */
interface Subscription {
  readonly names: Set<string>;
  /** Those of them that are not requested yet. */
  readonly queued: Set<string>;
}

/** The names that each client of a relay subscribes to, as the events of its stream have them. */
export class ClientSubscriptions {
  /** By stream and type. */
  private readonly streams = new Map<number, Map<string, Subscription>>();

  constructor(private readonly refer: Refer) {}

  /** Handles an event of a stream. */
  onEvent(event: ClientEvent): void {
    const { streamId } = event.client;
    if (event.kind === 'disconnected') {
      for (const [typeUrl, { names, queued }] of this.streams.get(streamId) ?? []) {
        this.refer(typeUrl, [], names, queued);
      }
      this.streams.delete(streamId);
    } else if (event.kind === 'subscribed') {
      const { names, queued } = this.subscriptionOf(streamId, event.typeUrl);
      const removed = event.removed.filter((name) => names.delete(name));
      const added = event.names.filter((name) => names.size < names.add(name).size);
      this.refer(event.typeUrl, added, removed, queued);
    }
  }

  private subscriptionOf(streamId: number, typeUrl: string): Subscription {
    const types = this.streams.get(streamId) ?? new Map<string, Subscription>();
    this.streams.set(streamId, types);
    const subscription = types.get(typeUrl) ?? { names: new Set(), queued: new Set() };
    types.set(typeUrl, subscription);
    return subscription;
  }
}
