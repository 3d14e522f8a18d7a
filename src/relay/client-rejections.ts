import type { ClientEvent } from '../control-plane/client-state';
import type { ServedResources } from '../control-plane/ads/resource-view';
import { cutText, quoteName } from '../util/text';
import { MAX_REJECTION_LENGTH, MAX_REJECTIONS } from './limits';

type Rejected = Extract<ClientEvent, { readonly kind: 'nacked' }>;

/**
 * The rejections of clients, of which each is handed on once for a version and reason, by the first client. A version follows
 * from the resources: one that is served again, after another one, is rejected again.
 */
export class ClientRejections {
  /** By version and reason. The oldest first. */
  private readonly known = new Map<string, Pick<Rejected, 'typeUrl' | 'version'>>();
  /** The version that was served last of each type that has been rejected. */
  private readonly served = new Map<string, string | undefined>();

  /** Returns the text to reject the version with at the server; `undefined` if that was done. */
  add({ client, typeUrl, version, message }: Rejected): string | undefined {
    const text = cutText(message, MAX_REJECTION_LENGTH);
    const key = JSON.stringify([typeUrl, version, text]);
    if (this.known.has(key)) return undefined;
    this.known.set(key, { typeUrl, version });
    if (!this.served.has(typeUrl)) this.served.set(typeUrl, version);
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MAX_REJECTIONS) break;
      this.known.delete(oldest);
    }
    const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    return `client of the relay, node ${quoteName(client.nodeId)}, rejected ${type}: ${text}`;
  }

  /** Handles that other resources than before may be served. */
  onServed(resources: ServedResources): void {
    const changed = new Set<string>();
    for (const [typeUrl, before] of this.served) {
      const version = resources.set(typeUrl)?.version;
      if (version === before) continue;
      changed.add(typeUrl);
      this.served.set(typeUrl, version);
    }
    for (const [key, { typeUrl, version }] of this.known) {
      if (changed.has(typeUrl) && version === this.served.get(typeUrl)) this.known.delete(key);
    }
  }
}
