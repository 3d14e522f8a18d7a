import type { TextMapPropagator, TracerProvider } from '@opentelemetry/api';
import type { CallTracer, ChannelStats, StatsPlugin } from '../stats/stats-plugin';
import type { Handle } from '../../util/handle';
import { PACKAGE_VERSION } from '../../util/version';
import { CallSpans, type SpanFactory } from './call-spans';
import { loadApi } from './load-api';
import { SCOPE } from './meter-backend';

export interface TracingPluginOptions {
  readonly tracerProvider: TracerProvider;
  /** Default: the global propagator. */
  readonly textMapPropagator?: TextMapPropagator | undefined;
  /** Whether a channel is observed. @param target Canonical, such as `xds:///a`. */
  readonly isChannelObserved: (target: string) => boolean;
}

/** Creates the spans of calls (gRFC A72) until it is released. */
export class TracingPlugin implements StatsPlugin, Handle {
  private readonly spans: SpanFactory;
  private isReleased = false;

  /** @throws Error if `@opentelemetry/api` is not installed. */
  constructor(private readonly options: TracingPluginOptions) {
    const { tracerProvider, textMapPropagator } = options;
    const { propagation } = loadApi();
    this.spans = {
      tracer: tracerProvider.getTracer(SCOPE, PACKAGE_VERSION),
      propagator: textMapPropagator ?? propagation,
    };
  }

  forChannel(target: string): ChannelStats | undefined {
    if (!this.options.isChannelObserved(target)) return undefined;
    return {
      target,
      isEnabled: () => false,
      series: () => undefined,
      usesLabel: () => false,
      observeGauges: () => undefined,
      startCall: (method) => this.startCall(method),
    };
  }

  release(): void {
    this.isReleased = true;
  }

  private startCall(method: string): CallTracer | undefined {
    return this.isReleased ? undefined : new CallSpans(this.spans, method);
  }
}
