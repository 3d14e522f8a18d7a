import type {
  Attributes,
  Context,
  Span,
  TextMapPropagator,
  TextMapSetter,
  Tracer,
} from '@opentelemetry/api';
import type { AttemptHeaders, CallProgress, CallTracer } from '../stats/stats-plugin';
import { StatusCode, statusName } from '../../util/status-code';
import { loadApi } from './load-api';

/** The scope of spans that are themselves the span of the call. */
const INSTRUMENTATION = '@opentelemetry/instrumentation-grpc';

/** What the spans of all calls are created with. */
export interface SpanFactory {
  readonly tracer: Tracer;
  readonly propagator: Pick<TextMapPropagator, 'inject'>;
}

/** Binary headers are base64 in the text form of OpenTelemetry (gRFC A72). */
const setter: TextMapSetter<AttemptHeaders> = {
  set(headers, key, value) {
    headers.set(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  },
};

/**
 * The spans of one call (gRFC A72): one of the call, and below it one of each attempt. Inside a span of
 * `@opentelemetry/instrumentation-grpc`, that is the span of the call.
 */
export class CallSpans implements CallTracer {
  private readonly span: Span | undefined;
  /** With the span of the call. */
  private readonly context: Context;
  private readonly method: string;
  private attempt: Span | undefined;
  private attemptContext: Context;
  private sent = 0;
  private received = 0;
  private isPicked = false;

  /** @param path Such as `/package.Service/Method`. */
  constructor(
    private readonly spans: SpanFactory,
    path: string,
  ) {
    const { context, trace, SpanKind } = loadApi();
    const parent = context.active();
    this.method = path.replace(/^\//, '').replace('/', '.');
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
    this.sent = 0;
    this.received = 0;
  }

  onPicked(_call: CallProgress, headers: AttemptHeaders): void {
    this.spans.propagator.inject(this.attemptContext, headers, setter);
  }

  onSent(call: CallProgress): void {
    if (call.wasPickDelayed) this.attempt?.addEvent('Delayed LB pick complete');
  }

  onMessageSent(_call: CallProgress, size: number, isCompressed: boolean): void {
    this.addMessage('Outbound message', this.sent++, size, isCompressed);
  }

  onMessageReceived(_call: CallProgress, size: number, isCompressed: boolean): void {
    this.addMessage('Inbound message', this.received++, size, isCompressed);
  }

  onAttemptEnded(_call: CallProgress, code: number, details: string): void {
    end(this.attempt, code, details);
    this.attempt = undefined;
  }

  onCallEnded(_call: CallProgress, code: number, details: string): void {
    end(this.span, code, details);
  }

  /** The size of a compressed message before compression is not known where attempts are seen. */
  private addMessage(name: string, sequence: number, size: number, isCompressed: boolean): void {
    const attributes: Attributes = { 'sequence-number': sequence };
    attributes[isCompressed ? 'message-size-compressed' : 'message-size'] = size;
    this.attempt?.addEvent(name, attributes);
  }
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

/** Spans of the SDK show their kind and scope, which the API has no way to ask for. */
function isInstrumentationSpan(span: object | undefined, kind: number): boolean {
  if (span === undefined || Reflect.get(span, 'kind') !== kind) return false;
  const scope: unknown = Reflect.get(span, 'instrumentationScope');
  return (
    typeof scope === 'object' && scope !== null && Reflect.get(scope, 'name') === INSTRUMENTATION
  );
}
