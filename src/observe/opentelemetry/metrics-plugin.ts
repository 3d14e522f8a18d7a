import { CallInstruments } from '../stats/call-instruments';
import { Label, type Instrument } from '../stats/instrument';
import type {
  CallTracer,
  ChannelStats,
  LabelValues,
  ReportGauge,
  Series,
  StatsPlugin,
} from '../stats/stats-plugin';
import { createHandle, type Handle } from '../../util/handle';
import { MethodMetrics } from './call-metrics';
import type { InstrumentChoice } from './instrument-choice';
import { MethodLabels, OTHER_METHOD } from './method-labels';
import type { MetricsBackend } from './metrics-backend';

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
  private isReleased = false;

  constructor(private readonly options: MetricsPluginOptions) {
    this.methods = new MethodLabels(options.isMethodListed);
  }

  forChannel(target: string): ChannelStats | undefined {
    if (!this.options.isChannelObserved(target)) return undefined;
    return new ChannelMetrics(target, this.options, this);
  }

  /** Whether anything is recorded still. */
  get isActive(): boolean {
    return !this.isReleased;
  }

  /** See `MethodLabels.of`. */
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
    this.observesCalls = options.choice.enabled(Object.values(CallInstruments)).length > 0;
  }

  isEnabled(instrument: Instrument): boolean {
    return this.plugin.isActive && this.options.choice.has(instrument);
  }

  series(instrument: Instrument, labels: LabelValues): Series | undefined {
    const { backend, choice } = this.options;
    if (!this.isEnabled(instrument)) return undefined;
    return backend.series(instrument, choice.labelsOf(instrument, this.target, labels));
  }

  usesLabel(label: string): boolean {
    return this.options.choice.usesLabel(label);
  }

  observeGauges(
    instruments: readonly Instrument[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined {
    const { backend, choice } = this.options;
    const enabled = choice.enabled(instruments);
    if (enabled.length === 0 || !this.plugin.isActive) return undefined;
    const gauge = backend.observeGauges(enabled, (report) =>
      read((instrument, value, labels) =>
        report(instrument, value, choice.labelsOf(instrument, this.target, labels)),
      ),
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
