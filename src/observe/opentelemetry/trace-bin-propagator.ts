import type {
  Context,
  TextMapGetter,
  TextMapPropagator,
  TextMapSetter,
  TraceAPI,
} from '@opentelemetry/api';
import { loadApi } from './load-api';

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
