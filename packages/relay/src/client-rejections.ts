import type { ServedResources, ClientEvent } from 'grpc-xds/control-plane';
import { cutText, quoteName } from '../../../src/util/text';
import { joinBounded } from '../../../src/util/violations';
import { MAX_REJECTION_LENGTH, MAX_REJECTIONS } from './limits';

type Rejected = Extract<ClientEvent, { readonly kind: 'nacked' }>;

/** A client that rejects what it was sent last of a type. */
interface Standing {
  readonly streamId: number;
  readonly typeUrl: string;
  readonly text: string;
}

/**
 * The rejections of clients. Each is handed on once for a version and reason, by the first client; a version follows from the
 * resources, and one that is served again, after another one, is rejected again. Until the client is sent something
 * else of the type, it stands for the same resources when the server sends them again, because the client does not receive those.
 */
export class ClientRejections {
  /** By version and reason. The oldest first. */
  private readonly known = new Map<string, Pick<Rejected, 'typeUrl' | 'version'>>();
  /** The version that was served last of each type that has been rejected. */
  private readonly served = new Map<string, string | undefined>();
  /** By stream and type, the oldest first. */
  private readonly standing = new Map<string, Standing>();

  /** Handles an event of a stream. @returns the text to reject a version with at the server; `undefined` for nothing. */
  onEvent(event: ClientEvent): string | undefined {
    const { streamId } = event.client;
    if (event.kind === 'nacked') return this.add(event);
    if (event.kind === 'disconnected') {
      for (const [key, each] of this.standing) {
        if (each.streamId === streamId) this.standing.delete(key);
      }
    } else if (event.kind === 'sent' || event.kind === 'acked') {
      this.standing.delete(keyOf(streamId, event.typeUrl));
    }
    return undefined;
  }

  /** Returns why clients reject what they have been sent of a type; `undefined` if none does. */
  textOf(typeUrl: string): string | undefined {
    if (this.standing.size === 0) return undefined;
    const ofType = [...this.standing.values()].filter((each) => each.typeUrl === typeUrl);
    const texts = new Set(ofType.map(({ text }) => text));
    return texts.size === 0 ? undefined : joinBounded([...texts]);
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

  private add({ client, typeUrl, version, message }: Rejected): string | undefined {
    const reason = cutText(message, MAX_REJECTION_LENGTH);
    const type = typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
    const text = `client of the relay, node ${quoteName(client.nodeId)}, rejected ${type}: ${reason}`;
    const { streamId } = client;
    this.standing.set(keyOf(streamId, typeUrl), { streamId, typeUrl, text });
    dropOldest(this.standing);
    const key = JSON.stringify([typeUrl, version, reason]);
    if (this.known.has(key)) return undefined;
    this.known.set(key, { typeUrl, version });
    if (!this.served.has(typeUrl)) this.served.set(typeUrl, version);
    dropOldest(this.known);
    return text;
  }
}

function keyOf(streamId: number, typeUrl: string): string {
  return `${streamId} ${typeUrl}`;
}

function dropOldest(rejections: Map<string, unknown>): void {
  for (const oldest of rejections.keys()) {
    if (rejections.size <= MAX_REJECTIONS) break;
    rejections.delete(oldest);
  }
}
