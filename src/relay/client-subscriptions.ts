import { wildcardName } from '../control-plane/ads/subscriptions';
import type { ClientEvent } from '../control-plane/client-state';

/** Receives which names are referred to by clients, each as often as there are clients. */
type Refer = (typeUrl: string, added: Iterable<string>, removed: Iterable<string>) => void;

/** The names that each client of a relay subscribes to, among them `*`, as the events of its stream have them. */
export class ClientSubscriptions {
  /** By stream and type. */
  private readonly streams = new Map<number, Map<string, Set<string>>>();

  constructor(private readonly refer: Refer) {}

  /** Handles an event of a stream. */
  onEvent(event: ClientEvent): void {
    const { streamId } = event.client;
    if (event.kind === 'disconnected') {
      for (const [typeUrl, names] of this.streams.get(streamId) ?? []) {
        this.refer(typeUrl, [], names);
      }
      this.streams.delete(streamId);
    } else if (event.kind === 'subscribed') {
      const known = this.namesOf(streamId, event.typeUrl);
      const names = event.wildcard ? [...event.names, wildcardName] : event.names;
      const ended = event.wildcard ? event.removed : [...event.removed, wildcardName];
      const added = [...new Set(names)].filter((name) => !known.has(name));
      const removed = ended.filter((name) => known.delete(name));
      for (const name of added) known.add(name);
      this.refer(event.typeUrl, added, removed);
    }
  }

  private namesOf(streamId: number, typeUrl: string): Set<string> {
    const types = this.streams.get(streamId) ?? new Map<string, Set<string>>();
    this.streams.set(streamId, types);
    const names = types.get(typeUrl) ?? new Set<string>();
    types.set(typeUrl, names);
    return names;
  }
}
