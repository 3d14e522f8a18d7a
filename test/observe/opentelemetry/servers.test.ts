import {
  Client,
  credentials,
  Metadata,
  Server,
  status,
  type ClientDuplexStream,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import {
  createObservedChannel,
  GrpcTraceBinPropagator,
  observe,
  observeServer,
} from '../../../src/observe/opentelemetry';
import { echoMethod } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { bind } from '../../support/listen';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { TestCertificates } from '../../support/test-certificates';
import {
  callServer,
  clientTls,
  inlineRoutes,
  rbacFilter,
  serverChain,
  strictTls,
  useServerWorld,
} from '../../support/xds-server-world';
import { routerFilter } from '../../support/xds-json';

jest.setTimeout(60_000);

const same = (bytes: Buffer) => bytes;
const chatMethod = {
  ...echoMethod,
  path: '/test.Echo/Chat',
  requestStream: true,
  responseStream: true,
};
const HANDSHAKES = 'grpc.server.tls.handshakes';
const STARTED = 'grpc.server.call.started';
const DURATION = 'grpc.server.call.duration';
const SENT = 'grpc.server.call.sent_total_compressed_message_size';
const RECEIVED = 'grpc.server.call.rcvd_total_compressed_message_size';

/** A server of grpc-js whose answer to `fail`, `hang` and anything else is an error, none, and the request. */
class PlainServer {
  readonly server = new Server();
  /** Called by the handler of unary calls. */
  onCall: () => void = () => {};
  client!: Client;

  async start(): Promise<this> {
    const say = (
      { request }: ServerUnaryCall<Buffer, Buffer>,
      answer: sendUnaryData<Buffer>,
    ): void => {
      this.onCall();
      if (request.equals(Buffer.from('hang'))) return;
      if (request.equals(Buffer.from('fail'))) answer({ code: status.NOT_FOUND, details: 'gone' });
      else answer(null, request);
    };
    const chat = (call: NodeJS.ReadWriteStream): void => void call.pipe(call);
    this.server.addService({ say: echoMethod, chat: chatMethod }, { say, chat });
    const port = await bind(this.server);
    this.client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      channelFactoryOverride: createObservedChannel,
    });
    return this;
  }

  say(
    text: string,
    { path = echoMethod.path, deadlineMs = 20_000, headers = new Metadata() } = {},
  ) {
    return new Promise<number>((resolve) => {
      const onAnswer = (error: ServiceError | null) => resolve(error?.code ?? 0);
      const deadline = Date.now() + deadlineMs;
      this.client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from(text),
        headers,
        { deadline },
        onAnswer,
      );
    });
  }

  chat(): ClientDuplexStream<Buffer, Buffer> {
    return this.client.makeBidiStreamRequest(chatMethod.path, same, same, new Metadata());
  }

  stop(): void {
    this.client.close();
    this.server.forceShutdown();
  }
}

// gRFC A66.
describe.each(WAYS)('metrics of the calls of a server, with a %s', (way) => {
  let reader: MetricsReader;
  let plain: PlainServer;
  const world = useServerWorld();
  beforeEach(async () => {
    reader = new MetricsReader(way);
    plain = await new PlainServer().start();
    observeServer(plain.server);
  });
  afterEach(async () => {
    plain.stop();
    await reader.stop();
  });

  const totals = async (name: string) =>
    (await reader.series(name)).map(({ labels, value, sum }) => [
      labels['grpc.method'],
      labels['grpc.status'],
      value,
      sum,
    ]);
  const ended = async () => (await totals(DURATION)).map((series) => series.slice(0, 3));

  it('have each status of a method, with the bytes of its messages', async () => {
    expect(await plain.say('hello')).toBe(status.OK);
    expect(await plain.say('hello, again')).toBe(status.OK);
    expect(await plain.say('fail')).toBe(status.NOT_FOUND);
    const method = 'test.Echo/Say';
    expect(await totals(STARTED)).toEqual([[method, undefined, 3, undefined]]);
    expect(await ended()).toEqual([
      [method, 'NOT_FOUND', 1],
      [method, 'OK', 2],
    ]);
    expect(await totals(SENT)).toEqual([
      [method, 'NOT_FOUND', 1, 0],
      [method, 'OK', 2, 17],
    ]);
    expect(await totals(RECEIVED)).toEqual([
      [method, 'NOT_FOUND', 1, 4],
      [method, 'OK', 2, 17],
    ]);
    const [series] = await reader.series(DURATION);
    expect(Object.keys(series?.labels ?? {}).sort()).toEqual(['grpc.method', 'grpc.status']);
  });

  it('have the sum of the messages of a stream, sent in pieces of any size', async () => {
    const call = plain.chat();
    const received: Buffer[] = [];
    call.on('data', (message: Buffer) => received.push(message));
    for (const size of [0, 1, 100_000]) call.write(Buffer.alloc(size));
    call.end();
    await new Promise((resolve) => call.on('status', resolve));
    expect(received.map(({ length }) => length)).toEqual([0, 1, 100_000]);
    expect(await totals(RECEIVED)).toEqual([['test.Echo/Chat', 'OK', 1, 100_001]]);
    expect(await totals(SENT)).toEqual([['test.Echo/Chat', 'OK', 1, 100_001]]);
  });

  it('have calls that the client cancels, and calls that reach their deadline', async () => {
    const call = plain.chat();
    call.on('error', () => {});
    call.write(Buffer.from('one'));
    await new Promise((resolve) => call.once('data', resolve));
    call.cancel();
    await eventually(ended, [['test.Echo/Chat', 'CANCELLED', 1]]);
    expect(await plain.say('hang', { deadlineMs: 50 })).toBe(status.DEADLINE_EXCEEDED);
    // Whichever of the two sees it first.
    const isEither = (code: unknown) => code === 'CANCELLED' || code === 'DEADLINE_EXCEEDED';
    await eventually(ended, ([, say]) => isEither(say?.[1]));
  });

  it('have methods that the server lacks as "other"', async () => {
    expect(await plain.say('', { path: '/test.Echo/Nothing' })).toBe(status.UNIMPLEMENTED);
    expect(await plain.say('', { path: '/test.Echo/Nothing2' })).toBe(status.UNIMPLEMENTED);
    expect(await totals(STARTED)).toEqual([['other', undefined, 2, undefined]]);
    expect(await ended()).toEqual([['other', 'UNIMPLEMENTED', 2]]);
  });

  it('count each call once, however often the server is given', async () => {
    observeServer(plain.server);
    await plain.say('hello');
    expect(await ended()).toEqual([['test.Echo/Say', 'OK', 1]]);
  });

  it('are those of every XdsServer too, with the calls that a filter refuses', async () => {
    const rbac = {
      http_filters: [
        rbacFilter('DENY', [{ url_path: { path: { prefix: '/test.Echo/Chat' } } }]),
        routerFilter,
      ],
    };
    world.serve([world.listener([serverChain({ ...inlineRoutes(), ...rbac })])]);
    await world.bind(world.server());
    const client = world.client();
    expect(await callServer(client)).toBe('OK');
    expect(await callServer(client, { path: chatMethod.path })).toMatch(/^PERMISSION_DENIED/);
    expect(await ended()).toEqual([
      ['test.Echo/Chat', 'PERMISSION_DENIED', 1],
      ['test.Echo/Say', 'OK', 1],
    ]);
  });

  it('end with the observation', async () => {
    await plain.say('hello');
    const before = await totals(STARTED);
    reader.handle.close();
    expect(await plain.say('hello')).toBe(status.OK);
    expect([before, await totals(STARTED)]).toEqual([before, before]);
  });
});

describe('metrics of the calls of a server', () => {
  it('list the methods by name that the filter accepts', async () => {
    const reader = new MetricsReader('MetricProducer', {
      methodAttributeFilter: (method) => method === 'test.Echo/Chat',
    });
    const plain = await new PlainServer().start();
    observeServer(plain.server);
    await plain.say('hello');
    const [series] = await reader.series(STARTED);
    expect(series?.labels).toEqual({ 'grpc.method': 'other' });
    plain.stop();
    await reader.stop();
  });

  it('need a server', () => {
    const none: Server = JSON.parse('{}');
    expect(() => observeServer(none)).toThrow(
      'grpc-xds: server of observeServer() must be a Server of @grpc/grpc-js, not an empty object',
    );
  });
});

// gRFC A118.
describe('metrics of the handshakes of an XdsServer', () => {
  const world = useServerWorld();
  let reader: MetricsReader;
  beforeEach(() => {
    reader = new MetricsReader('MetricProducer', {
      enableMetrics: [HANDSHAKES],
      optionalLabels: ['grpc.tls.handshake.resumed'],
    });
  });
  afterEach(() => reader.stop());

  it('have the result', async () => {
    const certificates = new TestCertificates();
    const root = certificates.authority('root');
    const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
    world.useCertificates(identity, root);
    world.serve([world.listener([serverChain(inlineRoutes(), strictTls())])]);
    await world.bind(world.server());
    expect(await callServer(world.client(clientTls(root, identity)))).toBe('OK');
    expect(await callServer(world.client(clientTls(root)), { deadlineMs: 500 })).not.toBe('OK');
    const results = async () =>
      (await reader.series(HANDSHAKES)).map(({ labels }) => Object.values(labels));
    const full = 'FULL_HANDSHAKE';
    await eventually(results, [
      ['CERTIFICATE_VERIFICATION_FAILED', full],
      ['SUCCESS', full],
    ]);
    certificates.close();
  });
});

// gRFC A72.
describe('the span of a call of a server', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  let plain: PlainServer;
  let handle: ReturnType<typeof observe>;
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(() => context.disable());
  afterEach(() => {
    handle.close();
    plain.stop();
  });

  async function begin(textMapPropagator: W3CTraceContextPropagator | GrpcTraceBinPropagator) {
    exporter.reset();
    handle = observe({ tracerProvider: provider, textMapPropagator });
    plain = await new PlainServer().start();
    observeServer(plain.server);
  }
  const spans = (name: string) =>
    exporter.getFinishedSpans().filter((span) => span.name.startsWith(name));

  it.each([
    ['traceparent', new W3CTraceContextPropagator()],
    ['grpc-trace-bin', new GrpcTraceBinPropagator()],
    [
      'either header',
      new CompositePropagator({
        propagators: [new W3CTraceContextPropagator(), new GrpcTraceBinPropagator()],
      }),
    ],
  ])('is below the attempt of its client, by %s', async (_what, propagator) => {
    await begin(propagator);
    expect(await plain.say('hello')).toBe(status.OK);
    await eventually(() => spans('Recv.').length, 1);
    const [recv] = spans('Recv.');
    const [attempt] = spans('Attempt.');
    expect(recv?.name).toBe('Recv.test.Echo.Say');
    expect(recv?.kind).toBe(SpanKind.SERVER);
    expect(recv?.parentSpanContext?.spanId).toBe(attempt?.spanContext().spanId);
    expect(recv?.spanContext().traceId).toBe(attempt?.spanContext().traceId);
    expect(recv?.status).toEqual({ code: SpanStatusCode.OK });
    expect(recv?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['Inbound message', { 'sequence-number': 0, 'message-size': 5 }],
      ['Outbound message', { 'sequence-number': 0, 'message-size': 5 }],
    ]);
  });

  it('has no parent without a header, and says why a call has failed', async () => {
    await begin(new W3CTraceContextPropagator());
    handle.close();
    handle = observe({ tracerProvider: provider, channelFilter: () => false });
    expect(await plain.say('fail')).toBe(status.NOT_FOUND);
    await eventually(() => spans('Recv.').length, 1);
    const [recv] = spans('Recv.');
    expect(recv?.parentSpanContext).toBeUndefined();
    expect(recv?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'NOT_FOUND, gone' });
  });

  it('is active in handlers, of unary calls and of streams', async () => {
    await begin(new W3CTraceContextPropagator());
    const active: (string | undefined)[] = [];
    plain.onCall = () => active.push(trace.getActiveSpan()?.spanContext().spanId);
    await context.with(ROOT_CONTEXT, () => plain.say('hello'));
    await eventually(() => spans('Recv.').length, 1);
    expect(active).toEqual([spans('Recv.')[0]?.spanContext().spanId]);
  });
});
