import { contained } from '../../util/contained';
import { createHandle, type Handle } from '../../util/handle';
import type { Instrument } from './instrument';
import type {
  AttemptHeaders,
  CallProgress,
  CallTracer,
  ChannelStats,
  ReportGauge,
  Series,
  StatsPlugin,
} from './stats-plugin';

/** Called with an exception of a plugin. Must not throw. */
type OnError = (error: unknown) => void;

/**
 * Returns what a plugin observes of a channel, for callers that no exception of the plugin reaches: what it throws goes
 * to `onError`, and is not recorded. The call or the update that is observed goes on.
 */
export function containStats(
  plugin: StatsPlugin,
  target: string,
  onError: OnError,
): ChannelStats | undefined {
  const stats = contained(() => plugin.forChannel(target), onError)();
  if (stats === undefined) return undefined;
  const isEnabled = contained((instrument: Instrument) => stats.isEnabled(instrument), onError);
  const usesLabel = contained((label: string) => stats.usesLabel(label), onError);
  const startCall = contained((method: string) => stats.startCall(method), onError);
  const findSeries = contained<Parameters<ChannelStats['series']>, Series | undefined>(
    (...args) => stats.series(...args),
    onError,
  );
  return {
    target,
    isEnabled: (instrument) => isEnabled(instrument) === true,
    usesLabel: (label) => usesLabel(label) === true,
    series(instrument, labels) {
      const series = findSeries(instrument, labels);
      return series && { add: contained((value: number) => series.add(value), onError) };
    },
    observeGauges: (instruments, read) => containGauges(stats, { instruments, read }, onError),
    startCall(method) {
      const tracer = startCall(method);
      return tracer && new ContainedTracer(tracer, onError);
    },
  };
}

interface Gauges {
  readonly instruments: readonly Instrument[];
  readonly read: (report: ReportGauge) => void;
}

/** What fails while it is read is left out of this collection; the gauges of others are read nevertheless. */
function containGauges(
  stats: ChannelStats,
  { instruments, read }: Gauges,
  onError: OnError,
): Handle | undefined {
  const gauges = contained(
    () => stats.observeGauges(instruments, contained(read, onError)),
    onError,
  )();
  return gauges && createHandle(contained(() => gauges.release(), onError));
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
