import type { ClientEvent } from '../control-plane/client-state';
import { cutText, quoteName } from '../util/text';
import { MAX_REJECTION_LENGTH, MAX_REJECTIONS } from './limits';

type Rejected = Extract<ClientEvent, { readonly kind: 'nacked' }>;

/** The rejections of clients, of which each is handed on once for a version and reason, by the first client. */
export class ClientRejections {
  /** The oldest first. */
  private readonly known = new Set<string>();

  /** Returns the text to reject the version with at the server; `undefined` if that was done. */
  add({ client, typeUrl, version, message }: Rejected): string | undefined {
    const text = cutText(message, MAX_REJECTION_LENGTH);
    const key = JSON.stringify([typeUrl, version, text]);
    if (this.known.has(key)) return undefined;
    this.known.add(key);
    for (const oldest of this.known) {
      if (this.known.size <= MAX_REJECTIONS) break;
      this.known.delete(oldest);
    }
    const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    return `client of the relay, node ${quoteName(client.nodeId)}, rejected ${type}: ${text}`;
  }
}
