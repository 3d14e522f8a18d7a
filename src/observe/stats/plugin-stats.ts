import { contained } from '../../util/contained';
import { createHandle, type Handle } from '../../util/handle';
import type { Instrument } from './instruments';
import type {
  AttemptHeaders,
  CallProgress,
  CallTracer,
  ChannelStats,
  LabelValues,
  ReportGauge,
  Series,
  StatsPlugin,
} from './stats-plugin';

/** Called with an exception of a plugin. Must not throw. */
type OnError = (error: unknown) => void;

/**
 * Returns what plugins observe of a channel, for callers that none of their exceptions reaches: what a plugin throws goes to
 * `onError`, and is not recorded. The call or the update that is observed goes on.
 *
 * @returns `undefined` if no plugin observes the channel.
 */
export function observeChannel(
  plugins: Iterable<StatsPlugin>,
  target: string,
  onError: OnError,
): ChannelStats | undefined {
  const all: ChannelStats[] = [];
  for (const plugin of plugins) {
    const stats = contained(() => plugin.forChannel(target), onError)();
    if (stats !== undefined) all.push(stats);
  }
  return all.length === 0 ? undefined : new PluginStats(target, all, onError);
}

class PluginStats implements ChannelStats {
  private readonly starts: readonly ((method: string) => CallTracer | undefined)[];

  constructor(
    readonly target: string,
    private readonly all: readonly ChannelStats[],
    private readonly onError: OnError,
  ) {
    this.starts = all.map((stats) => contained((method) => stats.startCall(method), onError));
  }

  isEnabled(instrument: Instrument): boolean {
    return this.ask((stats) => stats.isEnabled(instrument)).includes(true);
  }

  usesLabel(label: string): boolean {
    return this.ask((stats) => stats.usesLabel(label)).includes(true);
  }

  series(instrument: Instrument, labels: LabelValues): Series | undefined {
    const all = this.ask((stats) => stats.series(instrument, labels)).map((series) => ({
      add: contained((value: number) => series.add(value), this.onError),
    }));
    if (all.length < 2) return all[0];
    return {
      add(value) {
        for (const series of all) series.add(value);
      },
    };
  }

  /** What fails while it is read is left out of this collection; the gauges of others are read nevertheless. */
  observeGauges(
    instruments: readonly Instrument[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined {
    const { onError } = this;
    const reading = contained(read, onError);
    const handles = this.ask((stats) => stats.observeGauges(instruments, reading));
    if (handles.length === 0) return undefined;
    return createHandle(() => {
      for (const handle of handles) contained(() => handle.release(), onError)();
    });
  }

  startCall(method: string): CallTracer | undefined {
    let tracer: CallTracer | undefined;
    for (const start of this.starts) {
      const started = start(method);
      if (started === undefined) continue;
      const next = new ContainedTracer(started, this.onError);
      tracer = tracer === undefined ? next : new BothTracers(tracer, next);
    }
    return tracer;
  }

  /** Returns what each plugin answers. */
  private ask<T>(question: (stats: ChannelStats) => T | undefined): readonly T[] {
    return this.all
      .map((stats) => contained(question, this.onError)(stats))
      .filter((answer) => answer !== undefined);
  }
}

class BothTracers implements CallTracer {
  private readonly tracers: readonly CallTracer[];

  constructor(...tracers: readonly CallTracer[]) {
    this.tracers = tracers;
  }

  onAttemptStarted(call: CallProgress): void {
    for (const tracer of this.tracers) tracer.onAttemptStarted(call);
  }

  onPicked(call: CallProgress, headers: AttemptHeaders): void {
    for (const tracer of this.tracers) tracer.onPicked?.(call, headers);
  }

  onSent(call: CallProgress): void {
    for (const tracer of this.tracers) tracer.onSent?.(call);
  }

  onMessageSent(call: CallProgress, size: number, isCompressed: boolean): void {
    for (const tracer of this.tracers) tracer.onMessageSent?.(call, size, isCompressed);
  }

  onMessageReceived(call: CallProgress, size: number, isCompressed: boolean): void {
    for (const tracer of this.tracers) tracer.onMessageReceived?.(call, size, isCompressed);
  }

  onAttemptEnded(call: CallProgress, code: number, details: string): void {
    for (const tracer of this.tracers) tracer.onAttemptEnded(call, code, details);
  }

  onCallEnded(call: CallProgress, code: number, details: string): void {
    for (const tracer of this.tracers) tracer.onCallEnded(call, code, details);
  }
}

/** Calls a method of a tracer. Those are functions of the module, so that an event of a call needs no closure. */
type Event<A, B> = (tracer: CallTracer, call: CallProgress, first: A, second: B) => unknown;

const attemptStarted: Event<void, void> = (tracer, call) => tracer.onAttemptStarted(call);
const picked: Event<AttemptHeaders, void> = (tracer, call, headers) =>
  tracer.onPicked?.(call, headers);
const sent: Event<void, void> = (tracer, call) => tracer.onSent?.(call);
const messageSent: Event<number, boolean> = (tracer, call, size, isCompressed) =>
  tracer.onMessageSent?.(call, size, isCompressed);
const messageReceived: Event<number, boolean> = (tracer, call, size, isCompressed) =>
  tracer.onMessageReceived?.(call, size, isCompressed);
const attemptEnded: Event<number, string> = (tracer, call, code, details) =>
  tracer.onAttemptEnded(call, code, details);
const callEnded: Event<number, string> = (tracer, call, code, details) =>
  tracer.onCallEnded(call, code, details);

/** The tracer of one call, for callers that none of its exceptions reaches. */
class ContainedTracer implements CallTracer {
  constructor(
    private readonly tracer: CallTracer,
    private readonly onError: OnError,
  ) {}

  onAttemptStarted(call: CallProgress): void {
    this.notify(attemptStarted, call, undefined, undefined);
  }

  onPicked(call: CallProgress, headers: AttemptHeaders): void {
    this.notify(picked, call, headers, undefined);
  }

  onSent(call: CallProgress): void {
    this.notify(sent, call, undefined, undefined);
  }

  onMessageSent(call: CallProgress, size: number, isCompressed: boolean): void {
    this.notify(messageSent, call, size, isCompressed);
  }

  onMessageReceived(call: CallProgress, size: number, isCompressed: boolean): void {
    this.notify(messageReceived, call, size, isCompressed);
  }

  onAttemptEnded(call: CallProgress, code: number, details: string): void {
    this.notify(attemptEnded, call, code, details);
  }

  onCallEnded(call: CallProgress, code: number, details: string): void {
    this.notify(callEnded, call, code, details);
  }

  private notify<A, B>(event: Event<A, B>, call: CallProgress, first: A, second: B): void {
    try {
      event(this.tracer, call, first, second);
    } catch (error) {
      this.onError(error);
    }
  }
}
