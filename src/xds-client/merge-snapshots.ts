import type { ClientSnapshot, ResourceSnapshot } from './client-snapshot';

/** A client as far as its resources go. */
interface Client {
  snapshot(): Pick<ClientSnapshot, 'resources'>;
}

/**
 * The resources of several clients, each once. Where one client uses another server than the others (gRFC A71), the
 * value accepted last counts.
 */
export function mergeSnapshots(clients: Iterable<Client>): Pick<ClientSnapshot, 'resources'> {
  const merged = new Map<string, ResourceSnapshot>();
  for (const client of clients) {
    for (const resource of client.snapshot().resources) {
      const key = `${resource.typeUrl} ${resource.name}`;
      const known = merged.get(key);
      if (known === undefined || acceptedAtMs(known) < acceptedAtMs(resource)) {
        merged.set(key, resource);
      }
    }
  }
  return { resources: [...merged.values()] };
}

function acceptedAtMs({ accepted }: ResourceSnapshot): number {
  return accepted?.updatedAtMs ?? -Infinity;
}
