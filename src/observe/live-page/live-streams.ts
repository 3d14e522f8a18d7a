import type { ServerResponse } from 'node:http';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import {
  SentView,
  type PageSource,
  type PageState,
  type ViewRequest,
  type About,
  type ViewDelta,
} from './view';

/** The shortest time between two messages to a reader. */
const MIN_INTERVAL_MS = 250;
/** The time between two captures is this many times that of a capture: 5 % of the CPU at most … */
const REST_FACTOR = 19;
/** … but not longer than this, so that a change is shown within a second … */
const MAX_REST_MS = 900;
/** … unless captures would take more than a fifth of the CPU. */
const MIN_REST_FACTOR = 4;

/** A state, and when another one may be captured. */
interface Captured {
  readonly state: PageState;
  readonly nextAtMs: number;
}

/** The streams of all readers of a page. The state is captured only while there is one, and once for all of them. */
export class LiveStreams {
  private readonly streams = new Set<LiveStream>();
  private captured: Captured | undefined;
  private timer: Handle | undefined;
  private lastCostMs = 0;

  constructor(
    private readonly source: PageSource,
    private readonly clock: Clock,
  ) {}

  /** Adds a reader, and sends it a snapshot. The handle ends its stream. */
  add(response: ServerResponse, requests: readonly ViewRequest[]): Handle {
    const stream = new LiveStream(response, requests, this.clock);
    this.streams.add(stream);
    this.pushTo([stream]);
    return createHandle(() => {
      this.streams.delete(stream);
      stream.release();
    });
  }

  /** Ends all streams. */
  release(): void {
    this.timer?.release();
    for (const stream of this.streams) stream.release();
    this.streams.clear();
    this.captured = undefined;
  }

  private pushTo(streams: Iterable<LiveStream>): void {
    const startMs = this.clock.monotonicMs();
    const recent = this.captured;
    const state = recent?.state ?? this.source.capture();
    // The views are computed here, so their time counts.
    for (const stream of streams) this.pushState(stream, state);
    const endMs = this.clock.monotonicMs();
    const costMs = endMs - startMs;
    // The shorter of two, because one may have been interrupted, and the very first one is slow.
    const restMs = restAfter(Math.min(costMs, this.lastCostMs));
    this.lastCostMs = costMs;
    const nextAtMs = recent ? recent.nextAtMs + restMs : endMs + Math.max(MIN_INTERVAL_MS, restMs);
    this.captured = { state, nextAtMs };
    this.timer?.release();
    this.timer = this.clock.setTimer(() => this.tick(), nextAtMs - endMs);
  }

  /** Sends a state. A view that cannot be shown ends the stream; the page connects again. */
  private pushState(stream: LiveStream, state: PageState): void {
    try {
      stream.push(state, this.source.about);
    } catch {
      this.streams.delete(stream);
      stream.release();
    }
  }

  private tick(): void {
    this.captured = undefined;
    if (this.streams.size === 0) return;
    try {
      this.pushTo([...this.streams]);
    } catch {
      // The state cannot be captured.
      this.release();
    }
  }
}

function restAfter(costMs: number): number {
  return Math.min(costMs * REST_FACTOR, Math.max(MAX_REST_MS, costMs * MIN_REST_FACTOR));
}

/** After this time without a message, a comment keeps the connection from looking dead. */
const HEARTBEAT_MS = 15_000;
/** A reader that leaves more than this unread is cut off. It connects again, and gets a new snapshot. */
const MAX_UNREAD_BYTES = 2 ** 20;

/**
 * Sends one reader the views that it has requested, as server-sent events: first a `snapshot`, then a `delta` whenever
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
