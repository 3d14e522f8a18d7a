import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../../src/util/clock';
import { createHandle, type Handle } from '../../../../src/util/handle';
import {
  SentView,
  type PageSource,
  type PageState,
  type View,
  type ViewRequest,
  type About,
  type ViewDelta,
} from './view';

/** The shortest time between two messages to a reader. */
const MIN_INTERVAL_MS = 250;
/** The time between two captures is this many times that of a capture: 5 % of the CPU at most … */
const REST_FACTOR = 19;
/** … but not longer than this, so that a change is shown within two seconds … */
const MAX_REST_MS = 1900;
/** … unless captures would take more than a fifth of the CPU. */
const MIN_REST_FACTOR = 4;

/** A state, and when another one may be captured. */
interface Captured {
  readonly state: PageState;
  /** The views that were read of it; `undefined` if one cannot be shown. */
  readonly views: Map<ViewRequest, View | undefined>;
  /** `undefined` until its views are read. */
  nextAtMs?: number;
}

/**
 * The streams of all readers of a page. The state is captured only while there is one, and once for all of them; so is each of its
 * views.
 */
export class LiveStreams {
  private readonly streams = new Set<LiveStream>();
  private captured: Captured | undefined;
  /** The next capture. */
  private timer: Handle | undefined;
  private lastCostMs = 0;

  constructor(
    private readonly source: PageSource,
    private readonly clock: Clock,
  ) {}

  /** Adds a reader, and sends it a snapshot. The handle ends its stream. */
  add(response: ServerResponse, requests: readonly ViewRequest[]): Handle {
    const own = requests.map((request) => this.findEqual(request) ?? request);
    const stream = new LiveStream(response, own, this.clock);
    this.streams.add(stream);
    this.pushTo([stream]);
    return createHandle(() => this.end(stream));
  }

  /** Ends all streams. */
  release(): void {
    this.timer?.release();
    for (const stream of this.streams) this.end(stream);
    this.captured = undefined;
  }

  private end(stream: LiveStream): void {
    this.streams.delete(stream);
    stream.release();
  }

  /** Readers of the same view have the same request, for which it is read once. */
  private findEqual(request: ViewRequest): ViewRequest | undefined {
    for (const { requests } of this.streams) {
      const equal = requests.find((each) => isDeepStrictEqual(each, request));
      if (equal !== undefined) return equal;
    }
    return undefined;
  }

  private pushTo(streams: Iterable<LiveStream>): void {
    this.timer?.release();
    const startMs = this.clock.monotonicMs();
    try {
      this.captured ??= { state: this.source.capture(), views: new Map() };
      for (const stream of streams) this.push(stream, this.captured);
      this.rest(this.captured, startMs);
    } catch {
      // The state cannot be captured.
      this.release();
    }
  }

  /** Sends views. One that cannot be shown ends the stream; the page connects again. */
  private push(stream: LiveStream, { state, views }: Captured): void {
    for (const request of stream.requests) {
      if (!views.has(request)) views.set(request, readView(state, request));
    }
    if (stream.requests.some((request) => views.get(request) === undefined)) this.end(stream);
    else stream.push(views, this.source.about);
  }

  private rest(captured: Captured, startMs: number): void {
    const endMs = this.clock.monotonicMs();
    const costMs = endMs - startMs;
    // The shorter of two, because one may have been interrupted, and the very first one is slow.
    const restMs = restAfter(Math.min(costMs, this.lastCostMs));
    this.lastCostMs = costMs;
    const { nextAtMs = endMs + Math.max(MIN_INTERVAL_MS - restMs, 0) } = captured;
    captured.nextAtMs = nextAtMs + restMs;
    this.timer = this.clock.setTimer(() => this.tick(), captured.nextAtMs - endMs);
  }

  private tick(): void {
    this.captured = undefined;
    if (this.streams.size > 0) this.pushTo(this.streams);
  }
}

function readView(state: PageState, request: ViewRequest): View | undefined {
  try {
    return state.view(request);
  } catch {
    return undefined;
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
  private readonly sent: ReadonlyMap<ViewRequest, SentView>;
  private revision = 0;
  private heartbeat: Handle | undefined;

  constructor(
    private readonly response: ServerResponse,
    readonly requests: readonly ViewRequest[],
    private readonly clock: Clock,
  ) {
    this.sent = new Map(requests.map((request) => [request, new SentView()]));
  }

  /** Sends what has changed. */
  push(latest: ReadonlyMap<ViewRequest, View | undefined>, about: About): void {
    const deltas = new Map<string, ViewDelta>();
    for (const [request, sent] of this.sent) {
      const view = latest.get(request);
      const delta = view && sent.update(view);
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
