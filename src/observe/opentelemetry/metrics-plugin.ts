import { Label, type InstrumentName } from '../stats/instruments';
import { allInstruments, type Instrument } from '../stats/instrument-table';
import type {
  CallTracer,
  ChannelStats,
  LabelValues,
  ReportGauge,
  RequestHeaders,
  Series,
  ServerCallTotals,
  ServerCallTracer,
  StatsPlugin,
  CallProgress,
} from '../stats/stats-plugin';
import { createHandle, type Handle } from '../../util/handle';
import { MAX_SERIES, type MetricsBackend } from './flat-backend';
import { MAX_STATUS_CODE, StatusCode, statusName } from '../../util/status-code';
import { XdsError } from '../../util/xds-error';

/** Pairs of method and custom label that one channel keeps apart. */
export const MAX_CALL_KINDS = 2000;

export interface MetricsPluginOptions {
  readonly backend: MetricsBackend;
  readonly choice: InstrumentChoice;
  /** Whether a method is listed by name. */
  readonly isMethodListed: (method: string) => boolean;
  /** Whether a channel is observed. @param target Canonical, such as `xds:///a`. */
  readonly isChannelObserved: (target: string) => boolean;
  /** Returns the custom label of the call that is being started; absent if the label is not enabled (gRFC A108). */
  readonly customLabel: (() => string) | undefined;
}

/** Records metrics (gRFCs A66, A79) until it is released. */
export class MetricsPlugin implements StatsPlugin, Handle {
  private readonly methods: MethodLabels;
  private readonly gauges = new Set<Handle>();
  /** By label. */
  private readonly serverMethods = new Map<string, ServerMethodMetrics>();
  private isReleased = false;

  constructor(private readonly options: MetricsPluginOptions) {
    this.methods = new MethodLabels(options.isMethodListed);
  }

  forChannel(target: string): ChannelStats | undefined {
    if (!this.options.isChannelObserved(target)) return undefined;
    return new ChannelMetrics(target, this.options, this);
  }

  startServerCall(
    method: string,
    headers: RequestHeaders | undefined,
  ): ServerCallTracer | undefined {
    if (this.isReleased || !this.options.choice.hasServerCalls) return undefined;
    const label = headers === undefined ? OTHER_METHOD : this.methodLabel(method);
    const known = this.serverMethods.get(label) ?? new ServerMethodMetrics(this.options, label);
    this.serverMethods.set(label, known);
    known.onStarted();
    return known;
  }

  /** Whether anything is recorded still. */
  get isActive(): boolean {
    return !this.isReleased;
  }

  /** Returns the label of a method. @param path Such as `/package.Service/Method`. */
  methodLabel(path: string): string {
    return this.methods.of(path);
  }

  /** Releases a gauge with the plugin, or before. */
  keepGauge(gauge: Handle): Handle {
    this.gauges.add(gauge);
    return createHandle(() => {
      this.gauges.delete(gauge);
      gauge.release();
    });
  }

  release(): void {
    this.isReleased = true;
    for (const gauge of this.gauges) gauge.release();
    this.gauges.clear();
  }
}

class ChannelMetrics implements ChannelStats {
  /** By path, and by custom label if that is enabled. */
  private readonly calls = new Map<string, MethodMetrics>();
  private readonly observesCalls: boolean;

  constructor(
    readonly target: string,
    private readonly options: MetricsPluginOptions,
    private readonly plugin: MetricsPlugin,
  ) {
    this.observesCalls = options.choice.hasCalls;
  }

  isEnabled(name: InstrumentName): boolean {
    return this.plugin.isActive && this.options.choice.find(name) !== undefined;
  }

  series(name: InstrumentName, labels: LabelValues): Series | undefined {
    const { backend, choice } = this.options;
    const instrument = choice.find(name);
    if (instrument === undefined || !this.plugin.isActive) return undefined;
    return backend.series(instrument, choice.labelsOf(instrument, this.target, labels));
  }

  usesLabel(label: string): boolean {
    return this.options.choice.usesLabel(label);
  }

  observeGauges(
    names: readonly InstrumentName[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined {
    const { backend, choice } = this.options;
    const enabled = names.map((name) => choice.find(name)).filter((each) => each !== undefined);
    if (enabled.length === 0 || !this.plugin.isActive) return undefined;
    const gauge = backend.observeGauges(enabled, (report) =>
      read((name, value, labels) => {
        const instrument = choice.find(name);
        if (instrument === undefined) return;
        report(instrument, value, choice.labelsOf(instrument, this.target, labels));
      }),
    );
    return this.plugin.keepGauge(gauge);
  }

  startCall(method: string): CallTracer | undefined {
    if (!this.observesCalls || !this.plugin.isActive) return undefined;
    const { customLabel } = this.options;
    const custom = customLabel?.();
    const key = custom === undefined ? method : `${method} ${custom}`;
    return this.calls.get(key) ?? this.addCallKind(key, method, custom);
  }

  private addCallKind(key: string, method: string, custom: string | undefined): MethodMetrics {
    const label = this.plugin.methodLabel(method);
    const isFull = this.calls.size >= MAX_CALL_KINDS;
    // Methods that are not listed by name share their series.
    if (label === OTHER_METHOD || isFull) {
      const shared = isFull ? OTHER_METHOD : `${OTHER_METHOD} ${custom ?? ''}`;
      const known = this.calls.get(shared);
      if (known !== undefined) return known;
      return this.create(shared, isFull ? { method: OTHER_METHOD } : { method: label, custom });
    }
    return this.create(key, { method: label, custom });
  }

  private create(
    key: string,
    { method, custom }: { readonly method: string; readonly custom?: string | undefined },
  ): MethodMetrics {
    const labels = { [Label.METHOD]: method, [Label.CUSTOM]: custom ?? '' };
    const created = new MethodMetrics(this, labels);
    this.calls.set(key, created);
    return created;
  }
}

/** The series of the attempts that ended with one status, in one locality of one cluster. */
interface AttemptSeries {
  readonly duration: Series | undefined;
  readonly sent: Series | undefined;
  readonly received: Series | undefined;
}

/** The series of the calls that ended with one status. */
type Ending = Pick<AttemptSeries, 'duration'>;

/**
 * Records the calls of one method of a target (gRFCs A66, A96). It keeps nothing of a call, and so serves all of them; the
 * series are found once for each status.
 */
class MethodMetrics implements CallTracer {
  private readonly started: Series | undefined;
  /** By status, of all places if no label distinguishes them. */
  private readonly attempts: AttemptSeries[] = [];
  /** The same by cluster and locality, if a label distinguishes them. */
  private readonly attemptsByPlace = new Map<string, Map<string, AttemptSeries[]>>();
  private places = 0;
  /** By status. */
  private readonly durations: Ending[] = [];
  private readonly retries: Series | undefined;
  private readonly transparentRetries: Series | undefined;
  private readonly retryDelay: Series | undefined;
  private readonly isKeyedByPlace: boolean;

  /** @param labels The method, and the custom label. */
  constructor(
    private readonly source: ChannelMetrics,
    private readonly labels: LabelValues,
  ) {
    this.started = source.series('grpc.client.attempt.started', labels);
    this.retries = source.series('grpc.client.call.retries', labels);
    this.transparentRetries = source.series('grpc.client.call.transparent_retries', labels);
    this.retryDelay = source.series('grpc.client.call.retry_delay', labels);
    this.isKeyedByPlace =
      source.usesLabel(Label.LOCALITY) || source.usesLabel(Label.BACKEND_SERVICE);
  }

  onAttemptStarted(): void {
    this.started?.add(1);
  }

  onAttemptEnded(call: CallProgress, code: number): void {
    const { duration, sent, received } = this.attemptSeries(call, knownCode(code));
    duration?.add(call.attemptDurationMs / 1000);
    sent?.add(call.sentBytes);
    received?.add(call.receivedBytes);
  }

  onCallEnded(call: CallProgress, code: number): void {
    const status = knownCode(code);
    const ending = (this.durations[status] ??= this.createEnding(status));
    ending.duration?.add(call.durationMs / 1000);
    if (call.retries > 0) this.retries?.add(call.retries);
    if (call.transparentRetries > 0) this.transparentRetries?.add(call.transparentRetries);
    if (call.retryDelayMs > 0) this.retryDelay?.add(call.retryDelayMs / 1000);
  }

  private attemptSeries(call: CallProgress, code: number): AttemptSeries {
    const byStatus = this.isKeyedByPlace ? this.attemptsAt(call) : this.attempts;
    return (byStatus[code] ??= this.createAttemptSeries(call, code));
  }

  /** Returns the series of a place by status; beyond `MAX_SERIES` places, they are found anew each time. */
  private attemptsAt({ locality, backendService }: CallProgress): AttemptSeries[] {
    const known = this.attemptsByPlace.get(backendService)?.get(locality);
    if (known !== undefined) return known;
    const created: AttemptSeries[] = [];
    if (this.places >= MAX_SERIES) return created;
    this.places++;
    const ofCluster =
      this.attemptsByPlace.get(backendService) ?? new Map<string, AttemptSeries[]>();
    this.attemptsByPlace.set(backendService, ofCluster.set(locality, created));
    return created;
  }

  private createAttemptSeries(call: CallProgress, code: number): AttemptSeries {
    const labels = {
      ...this.labels,
      [Label.STATUS]: statusName(code),
      [Label.LOCALITY]: call.locality,
      [Label.BACKEND_SERVICE]: call.backendService,
    };
    return {
      duration: this.source.series('grpc.client.attempt.duration', labels),
      sent: this.source.series('grpc.client.attempt.sent_total_compressed_message_size', labels),
      received: this.source.series(
        'grpc.client.attempt.rcvd_total_compressed_message_size',
        labels,
      ),
    };
  }

  private createEnding(code: number): Ending {
    const labels = { ...this.labels, [Label.STATUS]: statusName(code) };
    return { duration: this.source.series('grpc.client.call.duration', labels) };
  }
}

/** Records the calls of one method of servers (gRFC A66). It keeps nothing of a call. */
class ServerMethodMetrics implements ServerCallTracer {
  private readonly started: Series | undefined;
  /** By status. */
  private readonly endings: AttemptSeries[] = [];

  constructor(
    private readonly options: MetricsPluginOptions,
    private readonly method: string,
  ) {
    this.started = this.series('grpc.server.call.started', {});
  }

  onStarted(): void {
    this.started?.add(1);
  }

  onEnded({ durationMs, sentBytes, receivedBytes }: ServerCallTotals, code: number): void {
    const status = knownCode(code);
    const { duration, sent, received } = (this.endings[status] ??= this.createEnding(status));
    duration?.add(durationMs / 1000);
    sent?.add(sentBytes);
    received?.add(receivedBytes);
  }

  private createEnding(code: number): AttemptSeries {
    const labels = { [Label.STATUS]: statusName(code) };
    return {
      duration: this.series('grpc.server.call.duration', labels),
      sent: this.series('grpc.server.call.sent_total_compressed_message_size', labels),
      received: this.series('grpc.server.call.rcvd_total_compressed_message_size', labels),
    };
  }

  private series(name: InstrumentName, labels: LabelValues): Series | undefined {
    const { backend, choice } = this.options;
    const instrument = choice.find(name);
    const all = { ...labels, [Label.METHOD]: this.method };
    return instrument && backend.series(instrument, choice.labelsOf(instrument, '', all));
  }
}

/** A server can send any number as its status. */
function knownCode(code: number): number {
  const isKnown = Number.isInteger(code) && code >= 0 && code <= MAX_STATUS_CODE;
  return isKnown ? code : StatusCode.UNKNOWN;
}

/** The choice of instruments and labels in `ObserveOptions`. */
export interface InstrumentOptions {
  /** Names of instruments to enable in addition to the default ones, such as `grpc.lb.wrr.rr_fallback`. */
  readonly enableMetrics?: readonly string[];
  /** Names of instruments to disable. Takes precedence over `enableMetrics`. */
  readonly disableMetrics?: readonly string[];
  /** Disables the instruments that are on by default. `enableMetrics` still applies. Default: `false`. */
  readonly disableAllMetrics?: boolean;
  /** Optional labels to record, such as `grpc.lb.locality`. Default: none. */
  readonly optionalLabels?: readonly string[];
}

/** The names of the instruments of calls and of their attempts. */
const OF_CALLS = /^grpc\.client\.(?:attempt|call)\./;
const OF_SERVER_CALLS = /^grpc\.server\.call\./;

/** The instruments and labels that an application enables (gRFC A79). */
export class InstrumentChoice {
  private readonly instruments: ReadonlyMap<string, Instrument>;
  private readonly optionalLabels: ReadonlySet<string>;

  /** @throws XdsError if there is no instrument, or no optional label, of a name. */
  constructor(options: InstrumentOptions) {
    const { enableMetrics = [], disableMetrics = [], disableAllMetrics = false } = options;
    const { optionalLabels = [] } = options;
    const names = allInstruments.map(({ name }) => name);
    requireKnown([...enableMetrics, ...disableMetrics], names, 'metric');
    const labels = allInstruments.flatMap((instrument) => instrument.optionalLabels);
    requireKnown(optionalLabels, labels, 'optional label');
    const enabled = allInstruments.filter(({ name, isOnByDefault }) => {
      if (disableMetrics.includes(name)) return false;
      return enableMetrics.includes(name) || (isOnByDefault && !disableAllMetrics);
    });
    this.instruments = new Map(enabled.map((each) => [each.name, each]));
    this.optionalLabels = new Set(optionalLabels);
  }

  /** Whether any instrument of calls is enabled. */
  get hasCalls(): boolean {
    return [...this.instruments.keys()].some((name) => OF_CALLS.test(name));
  }

  /** The same for servers. */
  get hasServerCalls(): boolean {
    return [...this.instruments.keys()].some((name) => OF_SERVER_CALLS.test(name));
  }

  /** Returns an instrument; `undefined` if it is not enabled. */
  find(name: InstrumentName): Instrument | undefined {
    return this.instruments.get(name);
  }

  usesLabel(label: string): boolean {
    return this.optionalLabels.has(label);
  }

  /** Returns the labels of a series: all that the instrument requires, and those of the optional ones that are enabled. */
  labelsOf(instrument: Instrument, target: string, values: LabelValues): LabelValues {
    const labels: Record<string, string> = {};
    for (const label of instrument.labels) {
      labels[label] = label === Label.TARGET ? target : (values[label] ?? '');
    }
    for (const label of instrument.optionalLabels) {
      if (this.usesLabel(label)) labels[label] = values[label] ?? '';
    }
    return labels;
  }
}

function requireKnown(names: readonly string[], known: readonly string[], kind: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new XdsError(
    'XDS_OPTION_INVALID',
    `observe(): there is no ${kind} "${unknown}"; there are ${[...new Set(known)].join(', ')}`,
  );
}

/** The label of methods that are not listed by name (gRFC A66). */
const OTHER_METHOD = 'other';

/** Distinct methods of one `observe()` that are listed by name. */
export const MAX_METHODS = 500;

/** The values of the label `grpc.method`, which must not grow without bound. */
export class MethodLabels {
  private readonly known = new Set<string>();

  /** @param isListed Whether a method, such as `package.Service/Method`, is listed by name. */
  constructor(private readonly isListed: (method: string) => boolean) {}

  /** Returns the label of a method. @param path Such as `/package.Service/Method`. */
  of(path: string): string {
    const method = path.startsWith('/') ? path.slice(1) : path;
    if (this.known.has(method)) return method;
    if (this.known.size >= MAX_METHODS || !this.isListed(method)) return OTHER_METHOD;
    this.known.add(method);
    return method;
  }
}
