import { XdsError } from '../../util/xds-error';
import type * as Api from '@opentelemetry/api';
import type {
  TextMapPropagator,
  TracerProvider,
  Attributes,
  Context,
  Span,
  TextMapSetter,
  Tracer,
  TextMapGetter,
  TraceAPI,
} from '@opentelemetry/api';
import type {
  CallTracer,
  ChannelStats,
  StatsPlugin,
  AttemptHeaders,
  CallProgress,
  RequestHeaders,
  ServerCallTotals,
  ServerCallTracer,
} from '../stats/stats-plugin';
import type { Handle } from '../../util/handle';
import { PACKAGE_VERSION } from '../../util/version';
import { SCOPE } from './meter-backend';
import { StatusCode, statusName } from '../../util/status-code';
import { lazy } from '../../util/lazy';

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

  /** @throws XdsError if `@opentelemetry/api` is not installed. */
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

  /** Calls of methods that a server does not have show no headers, and get no span. */
  startServerCall(
    method: string,
    headers: RequestHeaders | undefined,
  ): ServerCallTracer | undefined {
    if (this.isReleased || headers === undefined) return undefined;
    return new ServerCallSpan(this.spans, method, headers);
  }

  release(): void {
    this.isReleased = true;
  }

  private startCall(method: string): CallTracer | undefined {
    return this.isReleased ? undefined : new CallSpans(this.spans, method);
  }
}

/** The scope of spans that are themselves the span of the call. */
const INSTRUMENTATION = '@opentelemetry/instrumentation-grpc';

/** What the spans of all calls are created with. */
export interface SpanFactory {
  readonly tracer: Tracer;
  readonly propagator: Pick<TextMapPropagator, 'inject' | 'extract'>;
}

/** Binary headers are base64 in the text form of OpenTelemetry (gRFC A72). */
const setter: TextMapSetter<AttemptHeaders> = {
  set(headers, key, value) {
    headers.set(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  },
};

const getter: TextMapGetter<RequestHeaders> = {
  get(headers, key) {
    const [value] = headers.get(key);
    return typeof value === 'object' ? value.toString('base64') : value;
  },
  keys: (headers) => Object.keys(headers.getMap()),
};

/** Of the call that others are being started for. Applications need no context manager for these. */
let starter: Context | undefined;

/**
 * The spans of one call (gRFC A72): one of the call, and below it one of each attempt. Inside a span of
 * `@opentelemetry/instrumentation-grpc`, that is the span of the call.
 */
class CallSpans implements CallTracer {
  private readonly span: Span | undefined;
  /** With the span of the call. */
  private readonly context: Context;
  private readonly method: string;
  private readonly messages = new MessageEvents();
  private attempt: Span | undefined;
  private attemptContext: Context;
  private isPicked = false;

  /** @param path Such as `/package.Service/Method`. */
  constructor(
    private readonly spans: SpanFactory,
    path: string,
  ) {
    const { context, trace, SpanKind } = loadApi();
    const parent = starter ?? context.active();
    this.method = spanMethod(path);
    const isSpanOfCall = isInstrumentationSpan(trace.getSpan(parent), SpanKind.CLIENT);
    this.span = isSpanOfCall
      ? undefined
      : spans.tracer.startSpan(`Sent.${this.method}`, { kind: SpanKind.CLIENT }, parent);
    this.context = this.span === undefined ? parent : trace.setSpan(parent, this.span);
    this.attemptContext = this.context;
  }

  onAttemptStarted(call: CallProgress): void {
    const { trace, SpanKind } = loadApi();
    if (!this.isPicked && call.wasResolutionDelayed) {
      this.span?.addEvent('Delayed name resolution complete');
    }
    this.isPicked = true;
    const attributes = {
      'previous-rpc-attempts': call.previousAttempts,
      'transparent-retry': call.isTransparentRetry,
    };
    const options = { kind: SpanKind.CLIENT, attributes };
    this.attempt = this.spans.tracer.startSpan(`Attempt.${this.method}`, options, this.context);
    this.attemptContext = trace.setSpan(this.context, this.attempt);
    this.messages.begin(this.attempt);
  }

  onPicked(_call: CallProgress, headers: AttemptHeaders): void {
    this.spans.propagator.inject(this.attemptContext, headers, setter);
  }

  onSent(call: CallProgress): void {
    if (call.wasPickDelayed) this.attempt?.addEvent('Delayed LB pick complete');
  }

  onMessageSent(_call: CallProgress, size: number, isCompressed: boolean): void {
    this.messages.onSent(size, isCompressed);
  }

  onMessageReceived(_call: CallProgress, size: number, isCompressed: boolean): void {
    this.messages.onReceived(size, isCompressed);
  }

  onAttemptEnded(_call: CallProgress, code: number, details: string): void {
    end(this.attempt, code, details);
    this.attempt = undefined;
  }

  onCallEnded(_call: CallProgress, code: number, details: string): void {
    end(this.span, code, details);
  }

  run<T>(start: () => T): T {
    const outer = starter;
    starter = this.context;
    try {
      return loadApi().context.with(this.context, start);
    } finally {
      starter = outer;
    }
  }
}

/** The span of one call of a server (gRFC A72), below the one of its client. The handler runs in it. */
class ServerCallSpan implements ServerCallTracer {
  private readonly span: Span;
  private readonly context: Context;
  private readonly messages = new MessageEvents();

  constructor(spans: SpanFactory, path: string, headers: RequestHeaders) {
    const { context, trace, SpanKind } = loadApi();
    const parent = spans.propagator.extract(context.active(), headers, getter);
    const name = `Recv.${spanMethod(path)}`;
    this.span = spans.tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
    this.context = trace.setSpan(parent, this.span);
    this.messages.begin(this.span);
  }

  onMessageSent(size: number, isCompressed: boolean): void {
    this.messages.onSent(size, isCompressed);
  }

  onMessageReceived(size: number, isCompressed: boolean): void {
    this.messages.onReceived(size, isCompressed);
  }

  onEnded(_call: ServerCallTotals, code: number, details: string): void {
    end(this.span, code, details);
  }

  run(task: () => void): void {
    loadApi().context.with(this.context, task);
  }
}

/** The events of the messages of a span. */
class MessageEvents {
  private span: Span | undefined;
  private sent = 0;
  private received = 0;

  begin(span: Span): void {
    this.span = span;
    this.sent = 0;
    this.received = 0;
  }

  onSent(size: number, isCompressed: boolean): void {
    this.add('Outbound message', this.sent++, size, isCompressed);
  }

  onReceived(size: number, isCompressed: boolean): void {
    this.add('Inbound message', this.received++, size, isCompressed);
  }

  /** The size of a compressed message before compression is not known where messages are seen. */
  private add(name: string, sequence: number, size: number, isCompressed: boolean): void {
    const attributes: Attributes = { 'sequence-number': sequence };
    attributes[isCompressed ? 'message-size-compressed' : 'message-size'] = size;
    this.span?.addEvent(name, attributes);
  }
}

/** Returns a method as spans name it. @param path Such as `/package.Service/Method`. */
function spanMethod(path: string): string {
  return path.replace(/^\//, '').replace('/', '.');
}

function end(span: Span | undefined, code: number, details: string): void {
  if (span === undefined) return;
  const { SpanStatusCode } = loadApi();
  if (code === StatusCode.OK) span.setStatus({ code: SpanStatusCode.OK });
  else {
    const message = `${statusName(code)}, ${details}`;
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}

/** Reads the kind and the scope of a span of the SDK: the API has neither. */
function isInstrumentationSpan(span: object | undefined, kind: number): boolean {
  if (span === undefined || Reflect.get(span, 'kind') !== kind) return false;
  const scope: unknown = Reflect.get(span, 'instrumentationScope');
  return (
    typeof scope === 'object' && scope !== null && Reflect.get(scope, 'name') === INSTRUMENTATION
  );
}

const HEADER = 'grpc-trace-bin';

/** Version 0, and three fields: an identifier of one byte before each. */
const LENGTH = 29;
const TRACE_ID = { id: 0, at: 1, end: 18 } as const;
const SPAN_ID = { id: 1, at: 18, end: 27 } as const;
const FLAGS = { id: 2, at: 27, end: 29 } as const;

/**
 * Propagates the trace in the header `grpc-trace-bin`, as gRPC did before W3C Trace Context (gRFC A72). For peers that
 * know no other; combine it with others by `CompositePropagator` of `@opentelemetry/core`. The value in a carrier is the
 * header in base64.
 */
export class GrpcTraceBinPropagator implements TextMapPropagator {
  private readonly trace: TraceAPI = loadApi().trace;

  inject<Carrier>(context: Context, carrier: Carrier, setter: TextMapSetter<Carrier>): void {
    const span = this.trace.getSpanContext(context);
    if (span === undefined || !isTraceId(span.traceId) || !isSpanId(span.spanId)) return;
    const bytes = Buffer.alloc(LENGTH);
    bytes[TRACE_ID.at] = TRACE_ID.id;
    bytes.write(span.traceId, TRACE_ID.at + 1, 'hex');
    bytes[SPAN_ID.at] = SPAN_ID.id;
    bytes.write(span.spanId, SPAN_ID.at + 1, 'hex');
    bytes[FLAGS.at] = FLAGS.id;
    bytes[FLAGS.at + 1] = span.traceFlags;
    setter.set(carrier, HEADER, bytes.toString('base64'));
  }

  extract<Carrier>(context: Context, carrier: Carrier, getter: TextMapGetter<Carrier>): Context {
    const found = getter.get(carrier, HEADER);
    const [text] = Array.isArray(found) ? found : [found];
    const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined;
    if (bytes?.length !== LENGTH || !hasFields(bytes)) return context;
    const traceId = bytes.toString('hex', TRACE_ID.at + 1, TRACE_ID.end);
    const spanId = bytes.toString('hex', SPAN_ID.at + 1, SPAN_ID.end);
    if (!isTraceId(traceId) || !isSpanId(spanId)) return context;
    const traceFlags = bytes[FLAGS.at + 1] ?? 0;
    return this.trace.setSpanContext(context, { traceId, spanId, traceFlags, isRemote: true });
  }

  fields(): string[] {
    return [HEADER];
  }
}

function hasFields(bytes: Buffer): boolean {
  return bytes[0] === 0 && [TRACE_ID, SPAN_ID, FLAGS].every(({ id, at }) => bytes[at] === id);
}

function isTraceId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text) && !/^0+$/.test(text);
}

function isSpanId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text) && !/^0+$/.test(text);
}

const requireApi = lazy<typeof Api>(() => require('@opentelemetry/api'));

/**
 * Loads `@opentelemetry/api`, an optional peer dependency. Metrics alone do not need it.
 * @throws XdsError if it is not installed.
 */
export function loadApi(): typeof Api {
  try {
    return requireApi();
  } catch (cause) {
    const text = 'needs the package @opentelemetry/api: run npm install @opentelemetry/api';
    throw new XdsError('XDS_PACKAGE_MISSING', text, { cause });
  }
}
