import { createGrpcLogger, currentTracers } from '../../grpc-js/grpc-logger';
import { watchServerCalls, type ServerCallWatch } from '../../grpc-js/server-watch';
import { systemClock } from '../../util/clock';
import { errorStack } from '../../util/errors';
import { FRAME_HEADER } from '../stats/call-stats';
import type { ServerCallTotals, ServerCallTracer, StatsPlugin } from '../stats/stats-plugin';

const logger = createGrpcLogger({ isTracerOn: currentTracers(), clock: systemClock });

const watched = new WeakSet();

/**
 * Lets plugins observe the calls of a server, each once.
 * @returns whether this version of grpc-js shows its calls; if not, the log says so.
 */
export function watchServer(server: object, plugins: ReadonlySet<StatsPlugin>): boolean {
  if (watched.has(server)) return true;
  const isShown = watchServerCalls(server, (method, headers) => {
    const tracers: ServerCallTracer[] = [];
    guard(plugins, (plugin) => {
      const tracer = plugin.startServerCall(method, headers);
      if (tracer !== undefined) tracers.push(tracer);
    });
    return tracers.length === 0 ? undefined : new ObservedServerCall(tracers);
  });
  if (isShown) watched.add(server);
  else logger.error(() => 'no metrics and traces of servers: use @grpc/grpc-js 1.14');
  return isShown;
}

/** Calls a function with each item. An exception is logged, and does not keep the others from being called. */
function guard<T>(items: Iterable<T>, call: (item: T) => void): void {
  for (const item of items) {
    try {
      call(item);
    } catch (error) {
      logger.error(() => `metrics and traces of servers have gaps: ${errorStack(error)}`);
    }
  }
}

/** One call of a server, for the tracers that observe it. */
class ObservedServerCall implements ServerCallWatch, ServerCallTotals {
  sentBytes = 0;
  receivedBytes = 0;
  durationMs = 0;
  private readonly startedAtMs = systemClock.monotonicMs();

  constructor(private readonly tracers: readonly ServerCallTracer[]) {}

  onMessageSent(frame: Buffer): void {
    const size = frame.length - FRAME_HEADER;
    this.sentBytes += size;
    guard(this.tracers, (tracer) => tracer.onMessageSent?.(size, frame[0] === 1));
  }

  onMessageReceived(frame: Buffer): void {
    const size = frame.length - FRAME_HEADER;
    this.receivedBytes += size;
    guard(this.tracers, (tracer) => tracer.onMessageReceived?.(size, frame[0] === 1));
  }

  onEnded({ code, details }: { readonly code: number; readonly details: string }): void {
    this.durationMs = systemClock.monotonicMs() - this.startedAtMs;
    guard(this.tracers, (tracer) => tracer.onEnded(this, code, details));
  }

  run(task: () => void): void {
    let outermost = task;
    for (const tracer of this.tracers) {
      const inner = outermost;
      if (tracer.run !== undefined) outermost = () => tracer.run?.(inner);
    }
    outermost();
  }
}
