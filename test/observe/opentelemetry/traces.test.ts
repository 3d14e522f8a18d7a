import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { context, defaultTextMapGetter, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import {
  createObservedChannel,
  GrpcTraceBinPropagator,
  observe,
} from '../../../src/observe/opentelemetry';
import type { Closable } from '../../../src/util/handle';
import { echoMethod } from '../../support/echo-backend';
import { HeadersBackend } from '../../support/headers-backend';
import { Mesh, simpleResources } from '../../support/mesh';

jest.setTimeout(60_000);

const run = promisify(execFile);
const RETRIES = {
  retry_policy: {
    retry_on: 'unavailable',
    num_retries: 2,
    retry_back_off: { base_interval: '0.01s', max_interval: '0.02s' },
  },
};

function shown({ name, events, attributes, status }: ReadableSpan) {
  return {
    name,
    events: events.map((event) => [event.name, event.attributes]),
    attributes,
    status,
  };
}

describe('the spans of a call', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  let mesh: Mesh;
  let backend: HeadersBackend;
  let handle: Closable;

  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(() => context.disable());
  beforeEach(async () => {
    exporter.reset();
    mesh = await Mesh.start();
    backend = await HeadersBackend.start();
    handle = observe({
      tracerProvider: provider,
      textMapPropagator: new CompositePropagator({
        propagators: [new W3CTraceContextPropagator(), new GrpcTraceBinPropagator()],
      }),
    });
  });
  afterEach(() => {
    handle.close();
    mesh.stop();
    backend.stop();
  });

  const spans = (name: string) =>
    exporter.getFinishedSpans().filter((span) => span.name.startsWith(name));

  it('are one of the call, and one of each attempt below it, with the events of both', async () => {
    mesh.serve(simpleResources([backend.port], RETRIES));
    const client = mesh.client();
    backend.failures = 1;
    await client.say();
    const [call, ...others] = spans('Sent.');
    expect(others).toEqual([]);
    expect(call && shown(call)).toEqual({
      name: 'Sent.test.Echo.Say',
      events: [['Delayed name resolution complete', {}]],
      attributes: {},
      status: { code: SpanStatusCode.OK },
    });
    const attempts = spans('Attempt.');
    const outbound = ['Outbound message', { 'sequence-number': 0, 'message-size': 5 }];
    expect(attempts.map(shown)).toEqual([
      {
        name: 'Attempt.test.Echo.Say',
        events: [['Delayed LB pick complete', {}], outbound],
        attributes: { 'previous-rpc-attempts': 0, 'transparent-retry': false },
        status: { code: SpanStatusCode.ERROR, message: 'UNAVAILABLE, try again' },
      },
      {
        name: 'Attempt.test.Echo.Say',
        events: [outbound, ['Inbound message', { 'sequence-number': 0, 'message-size': 6 }]],
        attributes: { 'previous-rpc-attempts': 1, 'transparent-retry': false },
        status: { code: SpanStatusCode.OK },
      },
    ]);
    const parent = call?.spanContext();
    for (const { parentSpanContext } of attempts) {
      expect(parentSpanContext?.spanId).toBe(parent?.spanId);
      expect(parentSpanContext?.traceId).toBe(parent?.traceId);
    }
  });

  it('are children of the active span, and of one attempt each in the headers', async () => {
    mesh.serve(simpleResources([backend.port], RETRIES));
    const root = provider.getTracer('application').startSpan('root');
    backend.failures = 1;
    await context.with(trace.setSpan(context.active(), root), () => mesh.client().say());
    root.end();
    const [call] = spans('Sent.');
    expect(call?.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
    const attempts = spans('Attempt.').map((span) => span.spanContext());
    expect(backend.headers.map((headers) => headers.get('traceparent'))).toEqual(
      attempts.map(({ traceId, spanId }) => [`00-${traceId}-${spanId}-01`]),
    );
    expect(
      backend.headers.map((headers) => {
        const [value] = headers.get('grpc-trace-bin');
        const carrier = { 'grpc-trace-bin': Buffer.from(value ?? '').toString('base64') };
        const found = new GrpcTraceBinPropagator().extract(
          context.active(),
          carrier,
          defaultTextMapGetter,
        );
        return trace.getSpanContext(found);
      }),
    ).toEqual(
      attempts.map(({ traceId, spanId }) => {
        return { traceId, spanId, traceFlags: 1, isRemote: true };
      }),
    );
  });

  it('end with the status of a call that is never sent', async () => {
    mesh.serve({ ...simpleResources([backend.port]), endpoints: [] });
    await mesh.client().failure({ deadlineMs: 100 });
    expect(spans('Attempt.')).toEqual([]);
    const [call] = spans('Sent.');
    expect(call?.status.code).toBe(SpanStatusCode.ERROR);
    expect(call?.status.message).toMatch(/^DEADLINE_EXCEEDED, Deadline exceeded after /);
  });

  it('are there for channels that are not xds:, too', async () => {
    const client = new Client(`dns:localhost:${backend.port}`, credentials.createInsecure(), {
      channelFactoryOverride: createObservedChannel,
    });
    const { path, requestSerialize, responseDeserialize } = echoMethod;
    await new Promise((resolve) =>
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.from('hello'),
        resolve,
      ),
    );
    client.close();
    const [call] = spans('Sent.');
    expect(call?.events.map(({ name }) => name)).toEqual(['Delayed name resolution complete']);
    const [attempt] = spans('Attempt.');
    expect(attempt?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
    expect(attempt?.events.map(({ name }) => name)).toEqual([
      'Outbound message',
      'Inbound message',
    ]);
    const [headers] = backend.headers;
    expect(headers?.get('traceparent')[0]).toContain(attempt?.spanContext().spanId);
  });

  it('are those of the attempts alone inside a span of @opentelemetry/instrumentation-grpc', async () => {
    mesh.serve(simpleResources([backend.port]));
    const script = join(__dirname, '../../e2e/children/instrumented-client.ts');
    const hook = join(__dirname, '../../support/run-typescript.cjs');
    const args = ['--require', hook, script, mesh.address];
    const { stdout } = await run(process.execPath, args);
    const found: { name: string; scope: string; spanId: string; parent?: string }[] =
      JSON.parse(stdout);
    expect(found.map(({ name, scope }) => [scope, name])).toEqual([
      ['grpc-xds', 'Attempt.test.Echo.Say'],
      ['@opentelemetry/instrumentation-grpc', 'grpc.test.Echo/Say'],
    ]);
    expect(found[0]?.parent).toBe(found[1]?.spanId);
    const [[traceparent] = []] = backend.headers.map((headers) => headers.get('traceparent'));
    expect(traceparent).toContain(found[0]?.spanId);
  });
});

describe('GrpcTraceBinPropagator', () => {
  const propagator = new GrpcTraceBinPropagator();
  const bytes = Buffer.from(
    '00' + '00' + '0102030405060708090a0b0c0d0e0f10' + '01' + '1112131415161718' + '02' + '01',
    'hex',
  );
  const extract = (value: Buffer) => {
    const carrier = { 'grpc-trace-bin': value.toString('base64') };
    const found = propagator.extract(context.active(), carrier, defaultTextMapGetter);
    return trace.getSpanContext(found);
  };

  it('reads what it writes', () => {
    const span = extract(bytes);
    expect(span).toEqual({
      traceId: '0102030405060708090a0b0c0d0e0f10',
      spanId: '1112131415161718',
      traceFlags: 1,
      isRemote: true,
    });
    const carrier: Record<string, string> = {};
    if (span === undefined) throw new Error('nothing was extracted');
    propagator.inject(trace.setSpanContext(context.active(), span), carrier, {
      set: (into, key, value) => void (into[key] = value),
    });
    expect(carrier).toEqual({ 'grpc-trace-bin': bytes.toString('base64') });
    expect(propagator.fields()).toEqual(['grpc-trace-bin']);
  });

  it.each<[string, Buffer]>([
    ['no bytes', Buffer.alloc(0)],
    ['too few bytes', bytes.subarray(0, 28)],
    ['too many bytes', Buffer.concat([bytes, bytes])],
    ['another version', Buffer.concat([Buffer.from([1]), bytes.subarray(1)])],
    ['no trace', Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(16), bytes.subarray(18)])],
    ['no span', Buffer.concat([bytes.subarray(0, 19), Buffer.alloc(8), bytes.subarray(27)])],
  ])('ignores a header with %s', (_, value) => {
    expect(extract(value)).toBeUndefined();
  });
});
