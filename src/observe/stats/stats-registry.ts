import { errorStack } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import { silentLogger, type Logger } from '../../util/logger';
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
import { contained } from '../../util/contained';

/** The plugins of a process. They observe the channels that are created after them. */
export class StatsRegistry {
  private readonly plugins = new Set<StatsPlugin>();

  /** Adds a plugin, until the handle is released. */
  add(plugin: StatsPlugin): Handle {
    this.plugins.add(plugin);
    return createHandle(() => this.plugins.delete(plugin));
  }

  /**
   * Returns what observes a channel; `undefined` if no plugin does. No exception of a plugin reaches its users.
   *
   * @param uri The target, in any form.
   * @param logger Receives the exceptions of plugins. Default: none.
   */
  forChannel(uri: string, logger: Logger = silentLogger): ChannelStats | undefined {
    if (this.plugins.size === 0) return undefined;
    const target = canonicalTarget(uri);
    const onError = (error: unknown) =>
      logger.error(() => `metrics and traces of ${target} have gaps: ${errorStack(error)}`);
    const all: ChannelStats[] = [];
    for (const plugin of this.plugins) {
      const stats = containStats(plugin, target, onError);
      if (stats !== undefined) all.push(stats);
    }
    const [only] = all;
    return all.length > 1 ? new CombinedStats(target, all) : only;
  }
}

/** The registry of this process. */
export const processStats = new StatsRegistry();

const SCHEME = /^([a-z][a-z0-9+.-]*):(?!\/\/)(.*)$/is;

/**
 * Returns a target with scheme and authority (gRFC A66): `xds:///a` for `xds:a`, `dns:///a:80` for `dns:a:80`. One that
 * has them is returned unchanged.
 */
export function canonicalTarget(uri: string): string {
  const [, scheme, path] = SCHEME.exec(uri) ?? [];
  if (scheme === undefined || path === undefined) return uri;
  return `${scheme}://${path.startsWith('/') ? '' : '/'}${path}`;
}

/** Several plugins for one channel. */
class CombinedStats implements ChannelStats {
  constructor(
    readonly target: string,
    private readonly all: readonly ChannelStats[],
  ) {}

  isEnabled(instrument: Instrument): boolean {
    return this.all.some((stats) => stats.isEnabled(instrument));
  }

  series(instrument: Instrument, labels: LabelValues): Series | undefined {
    const all = defined(this.all.map((stats) => stats.series(instrument, labels)));
    if (all.length < 2) return all[0];
    return {
      add(value) {
        for (const series of all) series.add(value);
      },
    };
  }

  usesLabel(label: string): boolean {
    return this.all.some((stats) => stats.usesLabel(label));
  }

  observeGauges(
    instruments: readonly Instrument[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined {
    const handles = defined(this.all.map((stats) => stats.observeGauges(instruments, read)));
    if (handles.length === 0) return undefined;
    return createHandle(() => {
      for (const handle of handles) handle.release();
    });
  }

  startCall(method: string): CallTracer | undefined {
    const tracers = defined(this.all.map((stats) => stats.startCall(method)));
    return tracers.length > 1 ? new CombinedTracer(tracers) : tracers[0];
  }
}

class CombinedTracer implements CallTracer {
  constructor(private readonly tracers: readonly CallTracer[]) {}

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

function defined<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined);
}

/** Called with an exception of a plugin. Must not throw. */
type OnError = (error: unknown) => void;

/**
 * Returns what a plugin observes of a channel, for callers that no exception of the plugin reaches: what it throws goes
 * to `onError`, and is not recorded. The call or the update that is observed goes on.
 */
function containStats(
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
