import type { MeterProvider, TextMapPropagator, TracerProvider, Context } from '@opentelemetry/api';
import { watchChannel } from './channel-calls';
import { addPlugin, observeServerCalls } from './plugins';
import { Label } from '../stats/instruments';
import { createHandle, type Closable } from '../../util/handle';
import { InstrumentChoice, MetricsPlugin, type InstrumentOptions } from './metrics-plugin';
import { MeterBackend } from './meter-backend';
import { FlatMetricProducer, type GrpcMetricProducer } from './metric-producer';
import type { MetricsBackend } from './flat-backend';
import { TracingPlugin, loadApi } from './tracing';
import { Channel, type ChannelCredentials, type ChannelOptions, type Server } from '../../grpc-js';
import { problemsOfChannelOptions } from '../../grpc-js/child-channel-options';
import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  FUNCTION,
  optional,
  STRING,
  STRINGS,
  TEXT,
  withMethods,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import { noteUse } from '../../util/package-copy';
import { XdsError } from '../../util/xds-error';

/** The options of `observe`. */
export interface ObserveOptions extends InstrumentOptions {
  /** Records metrics with its instruments. There is no default: the global provider is never used (gRFC A66). */
  readonly meterProvider?: MeterProvider;
  /** Records metrics at lower cost; see {@link createMetricProducer}. */
  readonly metricProducer?: GrpcMetricProducer;
  /** Creates spans of calls and of their attempts (gRFC A72). There is no default. */
  readonly tracerProvider?: TracerProvider;
  /** Adds the context of an attempt to its headers. Default: the global propagator. */
  readonly textMapPropagator?: TextMapPropagator;
  /**
   * Returns whether a method, such as `package.Service/Method`, is a value of the label `grpc.method`; others are `other`.
   * At most 500 methods are listed by name. Default: all are.
   */
  readonly methodAttributeFilter?: (method: string) => boolean;
  /** Returns whether the channels of a target, such as `xds:///echo.example.com`, are observed. Default: all are. */
  readonly channelFilter?: (target: string) => boolean;
}

const OPTIONS: MembersOf<ObserveOptions> = {
  meterProvider: optional(withMethods('a MeterProvider', 'getMeter')),
  metricProducer: optional(withMethods('made by createMetricProducer()', 'collect')),
  tracerProvider: optional(withMethods('a TracerProvider', 'getTracer')),
  textMapPropagator: optional(withMethods('a TextMapPropagator', 'inject', 'extract', 'fields')),
  methodAttributeFilter: optional(FUNCTION),
  channelFilter: optional(FUNCTION),
  enableMetrics: optional(STRINGS),
  disableMetrics: optional(STRINGS),
  disableAllMetrics: optional(BOOLEAN),
  optionalLabels: optional(STRINGS),
};

/**
 * Observes the `xds:` channels and XdsServers created from now on (gRFCs A66, A72, A79), until it is closed: records the metrics of
 * their calls, of load balancing and of the xDS client, and creates spans of their calls. May be called several times; each call has
 * its own providers and choice. For other channels see {@link createObservedChannel}, for other servers {@link observeServer}.
 *
 * @throws XdsError if no provider is given, or there is no metric or optional label of a given name.
 * @throws XdsError if `@opentelemetry/api` is needed and not installed: for traces, and for the label of `withCallLabel`.
 *
 * @example
 * ```ts
 * import { register } from 'grpc-xds';
 * import { createMetricProducer, observe } from 'grpc-xds/opentelemetry';
 *
 * register();
 * // For a reader of an OpenTelemetry SDK: `metricProducers: [metricProducer]`.
 * const metricProducer = createMetricProducer();
 * observe({ metricProducer });
 * ```
 */
export function observe(options: ObserveOptions): Closable {
  checkOptions('observe()', options, OPTIONS);
  const plugins = [...metricsPlugins(options), ...tracingPlugins(options)];
  if (plugins.length === 0) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      'observe() needs a meterProvider, a metricProducer or a tracerProvider',
    );
  }
  noteUse();
  const handles = [...plugins.map(addPlugin), ...plugins];
  const handle = createHandle(() => {
    for (const each of handles) each.release();
  });
  return { close: () => handle.release() };
}

const all = () => true;

function metricsPlugins(options: ObserveOptions): readonly MetricsPlugin[] {
  const { meterProvider, metricProducer, methodAttributeFilter, channelFilter } = options;
  const choice = new InstrumentChoice(options);
  const backends: MetricsBackend[] = [];
  if (meterProvider !== undefined) backends.push(new MeterBackend(meterProvider));
  if (metricProducer !== undefined) backends.push(backendOf(metricProducer));
  return backends.map(
    (backend) =>
      new MetricsPlugin({
        backend,
        choice,
        isMethodListed: methodAttributeFilter ?? all,
        isChannelObserved: channelFilter ?? all,
        customLabel: choice.usesLabel(Label.CUSTOM) ? createLabelReader() : undefined,
      }),
  );
}

function tracingPlugins(options: ObserveOptions): readonly TracingPlugin[] {
  const { tracerProvider, textMapPropagator, channelFilter } = options;
  if (tracerProvider === undefined) return [];
  const isChannelObserved = channelFilter ?? all;
  return [new TracingPlugin({ tracerProvider, textMapPropagator, isChannelObserved })];
}

function backendOf(producer: GrpcMetricProducer): MetricsBackend {
  if (producer instanceof FlatMetricProducer) return producer.backend;
  throw new XdsError(
    'XDS_OPTION_INVALID',
    'observe(): metricProducer must be made by createMetricProducer()',
  );
}

const CREDENTIALS = withMethods('ChannelCredentials of @grpc/grpc-js', '_isSecure', '_equals');
const CHANNEL_OPTIONS: Rule = {
  legal: 'an object of channel options',
  accepts: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/**
 * Creates a channel that every earlier `observe` observes, whatever its target (gRFCs A66, A72): for the option
 * `channelFactoryOverride` of clients. Channels with an `xds:` target do not need it and ignore it.
 *
 * Such a channel has the metrics and spans of its calls and attempts. Only `xds:` channels have metrics of load balancing, and
 * labels of locality and cluster.
 *
 * @throws XdsError if an argument is not one of a channel, or an option is unknown to grpc-js or of the wrong type. Options whose
 *   names begin with another word than `grpc` may belong to the application.
 *
 * @example
 * ```ts
 * import { credentials } from '@grpc/grpc-js';
 * import { createObservedChannel } from 'grpc-xds/opentelemetry';
 *
 * const client = new EchoClient('dns:///echo.example.com:443', credentials.createSsl(), {
 *   channelFactoryOverride: createObservedChannel,
 * });
 * ```
 */
export function createObservedChannel(
  address: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
): Channel {
  const caller = 'createObservedChannel()';
  checkArgument(caller, 'address', address, TEXT);
  checkArgument(caller, 'credentials', credentials, CREDENTIALS);
  checkArgument(caller, 'options', options, CHANNEL_OPTIONS);
  const problems = problemsOfChannelOptions(options);
  if (problems.length > 0) {
    throw new XdsError('XDS_OPTION_INVALID', `options of ${caller}: ${problems.join('; ')}`);
  }
  const channel = new Channel(address, credentials, options);
  watchChannel(channel);
  return channel;
}

const SERVER = withMethods('a Server of @grpc/grpc-js', 'bindAsync', 'addService');

/**
 * Lets `observe` observe the calls of a server that begin from now on (gRFCs A66, A72): records the metrics `grpc.server.call.*`,
 * and creates spans below the spans of the clients, in which handlers run. Each XdsServer that is created after `observe` is
 * observed without it.
 *
 * @throws XdsError if the argument is not a server, or this version of grpc-js does not show the calls of servers.
 *
 * @example
 * ```ts
 * import { Server } from '@grpc/grpc-js';
 * import { observeServer } from 'grpc-xds/opentelemetry';
 *
 * const server = new Server();
 * observeServer(server);
 * ```
 */
export function observeServer(server: Server): void {
  checkArgument('observeServer()', 'server', server, SERVER);
  if (observeServerCalls(server)) return;
  throw new XdsError(
    'XDS_STATE_INVALID',
    'grpc-xds: observeServer(): this version of @grpc/grpc-js does not show the calls of servers: use 1.14',
  );
}

const CONTEXT = withMethods('a Context', 'getValue', 'setValue');

/** As `createContextKey` of `@opentelemetry/api` creates it. */
const LABEL = Symbol.for('grpc-xds call label');

/**
 * Returns a context whose calls have a label that the application chooses: the value of the optional label
 * `grpc.client.call.custom` (gRFC A108). Keep the number of different values small.
 *
 * @example
 * ```ts
 * import { context } from '@opentelemetry/api';
 * import { withCallLabel } from 'grpc-xds/opentelemetry';
 *
 * context.with(withCallLabel(context.active(), 'checkout'), () => client.say(request, callback));
 * ```
 */
export function withCallLabel(context: Context, label: string): Context {
  checkArgument('withCallLabel()', 'context', context, CONTEXT);
  checkArgument('withCallLabel()', 'label', label, STRING);
  return context.setValue(LABEL, label);
}

/** Returns a function that returns the label in the active context; empty if there is none. */
function createLabelReader(): () => string {
  const { context } = loadApi();
  return () => {
    const label = context.active().getValue(LABEL);
    return typeof label === 'string' ? label : '';
  };
}
