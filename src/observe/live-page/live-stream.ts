import type { ServerResponse } from 'node:http';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { About, PageState } from './page-source';
import { SentView, type ViewDelta, type ViewRequest } from './view';

/** After this time without a message, a comment keeps the connection from looking dead. */
const HEARTBEAT_MS = 15_000;
/** A reader that leaves more than this unread is cut off. It connects again, and gets a new snapshot. */
const MAX_UNREAD_BYTES = 2 ** 20;

/**
 * Sends one reader the views that it has asked for, as server-sent events: first a `snapshot`, then a `delta` whenever
 * something has changed, each with the revision that follows the one before it.
 */
export class LiveStream {
  private readonly views: readonly { readonly request: ViewRequest; readonly sent: SentView }[];
  private revision = 0;
  private heartbeat: Handle | undefined;

  constructor(
    private readonly response: ServerResponse,
    requests: readonly ViewRequest[],
    private readonly clock: Clock,
  ) {
    this.views = requests.map((request) => ({ request, sent: new SentView() }));
  }

  /** Sends what has changed. */
  push(state: PageState, about: About): void {
    const deltas = new Map<string, ViewDelta>();
    for (const { request, sent } of this.views) {
      const delta = sent.update(state.view(request));
      if (delta !== undefined) deltas.set(request.name, delta);
    }
    if (deltas.size === 0 && this.revision > 0) return;
    const revision = ++this.revision;
    const views = Object.fromEntries(deltas);
    const kind = revision === 1 ? 'snapshot' : 'delta';
    const message = { revision, ...(revision === 1 && { about }), views };
    this.write(`event: ${kind}\nid: ${revision}\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** Ends the stream. */
  release(): void {
    this.heartbeat?.release();
    this.response.destroy();
  }

  private write(text: string): void {
    this.heartbeat?.release();
    // Before the message, because one message may be larger than that.
    if (this.response.writableLength > MAX_UNREAD_BYTES) this.response.destroy();
    if (this.response.destroyed) return;
    this.response.write(text);
    this.heartbeat = this.clock.setTimer(() => this.write(': heartbeat\n\n'), HEARTBEAT_MS);
  }
}
