import { runContained } from '../../grpc-js/host-callbacks';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { ViewChanges } from './resource-view';

/** Milliseconds of sending changes after which the event loop is left to others. */
export const SEND_SLICE_MS = 20;
/** The pause that follows is the time of sending multiplied by this. */
export const SEND_PAUSE = 2;
/** The longest pause in milliseconds: the clients that wait have not caused it. */
export const MAX_SEND_PAUSE_MS = 100;

/** A stream that sends changes of its resources. */
export interface ChangedStream {
  onViewChanged(changes: ViewChanges): void;
}

/**
 * Sends changes of the resources to the streams of a server. If that takes long, such as for many clients with very many names, some
 * wait, and receive several changes as one. What a stream throws is logged, and the others receive theirs.
 */
export class ViewUpdates<Stream extends ChangedStream> {
  /** The one that has waited longest first. */
  private readonly outdated = new Set<Stream>();
  private changes = new ViewChanges();
  private isSending = false;
  private pause: Handle | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>) {}

  /** Sends the last change to streams. */
  add(streams: Iterable<Stream>): void {
    this.changes = new ViewChanges();
    for (const stream of streams) this.outdated.add(stream);
    if (!this.isSending && this.pause === undefined) this.send();
  }

  /** Forgets a stream, which has ended. */
  remove(stream: Stream): void {
    this.outdated.delete(stream);
  }

  private send(): void {
    const { clock, outdated } = this;
    const startMs = clock.monotonicMs();
    this.isSending = true;
    // A change meanwhile adds streams at the end.
    for (const stream of outdated) {
      outdated.delete(stream);
      runContained('a stream of a client', () => stream.onViewChanged(this.changes));
      const tookMs = clock.monotonicMs() - startMs;
      if (tookMs < SEND_SLICE_MS) continue;
      const pauseMs = Math.min(SEND_PAUSE * tookMs, MAX_SEND_PAUSE_MS);
      this.pause = clock.setTimer(() => {
        this.pause = undefined;
        this.send();
      }, pauseMs);
      break;
    }
    this.isSending = false;
  }
}
