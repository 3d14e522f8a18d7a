import { contained } from '../../util/contained';
import { errorStack } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { InstrumentName } from '../stats/instruments';
import type {
  AttemptHeaders,
  CallProgress,
  CallTracer,
  ChannelStats,
  LabelValues,
  ReportGauge,
  Series,
  StatsPlugin,
} from '../stats/stats-plugin';
import { processStats } from '../stats/stats-registry';
import { watchChannel } from './channel-calls';
import { watchServer } from './server-calls';

/** The plugins of this process. They observe the channels that are created after them. */
const plugins = new Set<StatsPlugin>();

/** Adds a plugin, until the handle is released. */
export function addPlugin(plugin: StatsPlugin): Handle {
  plugins.add(plugin);
  processStats.find = findStats;
  processStats.watchServer = observeServerCalls;
  processStats.watchChannel = watchChannel;
  return createHandle(() => plugins.delete(plugin));
}

function findStats(uri: string, logger: Logger): ChannelStats | undefined {
  const target = canonicalTarget(uri);
  const onError = (error: unknown) =>
    logger.error(() => `metrics and traces of ${target} have gaps: ${errorStack(error)}`);
  const find = contained((plugin: StatsPlugin) => plugin.forChannel(target), onError);
  const all = defined([...plugins].map(find));
  return all.length === 0 ? undefined : new PluginStats(target, all, onError);
}

/** Lets the plugins that there are, and later ones, observe the calls of a server: see `watchServer`. */
export function observeServerCalls(server: object): boolean {
  return watchServer(server, plugins);
}

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

/** Called with an exception of a plugin. Must not throw. */
type OnError = (error: unknown) => void;

/**
 * What the plugins observe of a channel, for callers that none of their exceptions reaches: what one throws goes to
 * `onError`, and is not recorded. The others, and the call or the update that is observed, go on.
 */
class PluginStats implements ChannelStats {
  constructor(
    readonly target: string,
    private readonly all: readonly ChannelStats[],
    private readonly onError: OnError,
  ) {}

  isEnabled(instrument: InstrumentName): boolean {
    return this.ask((stats) => stats.isEnabled(instrument)).includes(true);
  }

  usesLabel(label: string): boolean {
    return this.ask((stats) => stats.usesLabel(label)).includes(true);
  }

  series(instrument: InstrumentName, labels: LabelValues): Series | undefined {
    const adders = this.ask((stats) => stats.series(instrument, labels)).map((series) =>
      contained((value: number) => series.add(value), this.onError),
    );
    if (adders.length === 0) return undefined;
    return {
      add(value) {
        for (const add of adders) add(value);
      },
    };
  }

  /** What fails while it is read is left out of this collection; the gauges of others are read nevertheless. */
  observeGauges(
    instruments: readonly InstrumentName[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined {
    const { onError } = this;
    const handles = this.ask((stats) => stats.observeGauges(instruments, contained(read, onError)));
    if (handles.length === 0) return undefined;
    const release = contained((handle: Handle) => handle.release(), onError);
    return createHandle(() => handles.forEach(release));
  }

  startCall(method: string): CallTracer | undefined {
    const tracers = this.ask((stats) => stats.startCall(method));
    return tracers.length === 0 ? undefined : new PluginTracer(tracers, this.onError);
  }

  /** Returns the answers of the plugins that have one. */
  private ask<T>(question: (stats: ChannelStats) => T | undefined): readonly T[] {
    return defined(this.all.map(contained(question, this.onError)));
  }
}

function defined<T>(values: readonly (T | undefined)[]): readonly T[] {
  return values.filter((value) => value !== undefined);
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

/** The tracers of one call, for callers that none of their exceptions reaches. */
class PluginTracer implements CallTracer {
  constructor(
    private readonly tracers: readonly CallTracer[],
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

  run<T>(start: () => T): T {
    return this.tracers.reduce(
      (inner, tracer) => () => (tracer.run === undefined ? inner() : tracer.run(inner)),
      start,
    )();
  }

  private notify<A, B>(event: Event<A, B>, call: CallProgress, first: A, second: B): void {
    for (const tracer of this.tracers) {
      try {
        event(tracer, call, first, second);
      } catch (error) {
        this.onError(error);
      }
    }
  }
}
