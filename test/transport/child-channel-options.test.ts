import {
  Channel,
  credentials,
  InterceptingCall,
  Metadata,
  type ChannelOptions,
  type Interceptor,
  type InterceptorProvider,
  type ServerDuplexStream,
} from '@grpc/grpc-js';
import { CHILD_CHANNEL_OPTION } from '../../src/util/channel-options';
import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import {
  CheckedChildOptions,
  type ChildChannelFactory,
  type ChildChannelOptions,
} from '../../src/grpc-js/child-channel-options';
import { GrpcTransportFactory } from '../../src/transport/grpc-transport';
import { systemClock } from '../../src/util/clock';
import { ok, type Result } from '../../src/util/result';
import type { XdsTransport } from '../../src/xds-client/transport';
import { ByteServer, METHOD } from './byte-server';
import { StreamRecorder } from './stream-recorder';

type Call = ServerDuplexStream<string, string>;

const bytes = (text: string) => new TextEncoder().encode(text);

/** Adds a header, and a mark to each message in each direction. */
function marking(mark: string): Interceptor {
  return (options, next) =>
    new InterceptingCall(next(options), {
      start(metadata, _listener, proceed) {
        metadata.set('mark', `${metadata.get('mark').join()}${mark}`);
        proceed(metadata, {
          onReceiveMessage: (message: Buffer, pass) =>
            pass(Buffer.from(`${message.toString()}<${mark}`)),
        });
      },
      sendMessage: (message: Buffer, proceed) =>
        proceed(Buffer.from(`${message.toString()}>${mark}`)),
    });
}

describe('GrpcTransport with child channel options (gRFC A110)', () => {
  const cleanups: (() => void)[] = [];
  const calls: Call[] = [];
  let server: ByteServer;
  beforeEach(async () => {
    calls.length = 0;
    server = await new ByteServer((call) => {
      calls.push(call);
      call.on('data', (text: string) => call.write(`re: ${text}`));
      call.on('end', () => call.end());
    }, '127.0.0.1:0').start();
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
    server.stop();
  });

  function create(options: ChildChannelOptions): Result<XdsTransport, string> {
    const checked = CheckedChildOptions.check(options);
    if (!checked.ok) throw new Error(checked.error);
    const channelCreds = { type: 'insecure', config: undefined };
    const { address } = server;
    const config: ServerConfig = {
      serverUri: address,
      channelCreds,
      callCreds: [],
      features: new Set(),
      key: address,
    };
    const insecure = { create: () => ok(credentials.createInsecure()) };
    const factory = new GrpcTransportFactory({ credentials: insecure, clock: systemClock });
    const created = factory.create(config, checked.value);
    if (created.ok) cleanups.push(() => created.value.close());
    return created;
  }

  function open(options: ChildChannelOptions) {
    const created = create(options);
    if (!created.ok) throw new Error(created.error);
    const recorder = new StreamRecorder();
    return { recorder, stream: created.value.openStream(METHOD, recorder) };
  }

  async function exchange(options: ChildChannelOptions): Promise<StreamRecorder> {
    const { recorder, stream } = open(options);
    stream.read();
    stream.send(bytes('one'));
    await recorder.untilMessage();
    return recorder;
  }

  const header = (name: string) => calls.map((call) => call.metadata.get(name).join());

  /** Returns the options that a channel is created with. */
  function optionsOf(options: ChildChannelOptions): ChannelOptions {
    let seen: ChannelOptions = {};
    const channelFactoryOverride: ChildChannelFactory = (...args) => {
      seen = args[2];
      return new Channel(...args);
    };
    expect(create({ ...options, channelFactoryOverride }).ok).toBe(true);
    return seen;
  }

  it('takes keepalive from them, and by default not', () => {
    const keepalive = {
      'grpc.keepalive_time_ms': 60_000,
      'grpc.keepalive_permit_without_calls': 1,
    };
    expect(optionsOf(keepalive)).toMatchObject({
      ...keepalive,
      'grpc.keepalive_timeout_ms': 10_000,
    });
    expect(optionsOf({})).toMatchObject({
      'grpc.keepalive_time_ms': 20_000,
      'grpc.keepalive_timeout_ms': 10_000,
      'grpc.keepalive_permit_without_calls': 0,
    });
  });

  it('keeps the options that its streams rely on', () => {
    const required = {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
      'grpc.max_send_message_length': -1,
      'grpc.enable_retries': 0,
      'grpc.per_rpc_retry_buffer_size': -1,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
    };
    const given = Object.fromEntries(Object.keys(required).map((name) => [name, 7]));
    expect(optionsOf(given)).toMatchObject(required);
  });

  it('passes them on to the children of the channel', () => {
    expect(optionsOf({ 'app.key': 'x' })[CHILD_CHANNEL_OPTION]).toMatchObject({ 'app.key': 'x' });
  });

  it('passes headers and messages through the interceptors, the first of them first', async () => {
    const { messages } = await exchange({ interceptors: [marking('a'), marking('b')] });
    expect(header('mark')).toEqual(['ab']);
    expect(messages).toEqual(['re: one>a>b<b<a']);
  });

  it('passes every message through the interceptors, in order and as they are read', async () => {
    const { recorder, stream } = open({ interceptors: [marking('a')] });
    stream.send(bytes('1'));
    await recorder.untilSent(1);
    stream.send(bytes('2'));
    await recorder.untilSent(2);
    stream.read();
    await recorder.untilMessage(1);
    expect(recorder.messages).toEqual(['re: 1>a<a']);
    stream.read();
    stream.halfClose();
    await recorder.untilMessage(2);
    stream.read();
    expect(await recorder.untilClosed()).toMatchObject({ code: 0, details: 'OK' });
    expect(recorder.messages).toEqual(['re: 1>a<a', 're: 2>a<a']);
  });

  it('has the interceptors that providers create for the method, and none where they have none', async () => {
    const methods: string[] = [];
    const provider: InterceptorProvider = (method) => {
      methods.push(method.path);
      return marking('p');
    };
    // As grpc-js takes it, whatever its type says.
    const none = (() => undefined) as unknown as InterceptorProvider;
    await exchange({ interceptor_providers: [none, provider] });
    await exchange({ interceptor_providers: [none] });
    expect(methods).toEqual([METHOD]);
    expect(header('mark')).toEqual(['p', '']);
  });

  it('ends a stream whose interceptor answers at once as any other, after the call of its creator', async () => {
    const refusing: Interceptor = (options, next) =>
      new InterceptingCall(next(options), {
        start(_metadata, listener) {
          listener.onReceiveStatus({ code: 7, details: 'no', metadata: new Metadata() });
        },
      });
    const { recorder } = open({ interceptors: [refusing] });
    expect(recorder.events).toEqual([]);
    expect(await recorder.untilClosed()).toMatchObject({ code: 7, details: 'no' });
    expect(calls).toEqual([]);
  });

  it.each<[string, Interceptor, string]>([
    [
      'sends',
      (options, next) =>
        new InterceptingCall(next(options), {
          sendMessage: (_message, proceed) => proceed('no bytes'),
        }),
      'an interceptor sent a message that is no Buffer',
    ],
    [
      'passes on',
      (options, next) =>
        new InterceptingCall(next(options), {
          start: (metadata, _listener, proceed) =>
            proceed(metadata, { onReceiveMessage: (_message, pass) => pass({ not: 'bytes' }) }),
        }),
      'an interceptor passed on a message that has no bytes',
    ],
  ])(
    'ends a stream whose interceptor %s what is no message',
    async (_what, interceptor, details) => {
      const { recorder, stream } = open({ interceptors: [interceptor] });
      stream.read();
      stream.send(bytes('one'));
      expect(await recorder.untilClosed()).toMatchObject({ code: 13, details });
      expect(recorder.messages).toEqual([]);
    },
  );

  it('closes the call below the interceptors', async () => {
    const { recorder, stream } = open({ interceptors: [marking('a')] });
    stream.read();
    stream.send(bytes('one'));
    await recorder.untilMessage();
    const ended = new Promise((resolve) => calls[0]?.once('cancelled', resolve));
    stream.close();
    await ended;
    expect(recorder.status).toBeUndefined();
  });

  it('cannot be created if the factory of the application throws, or returns no channel', () => {
    const failing: ChildChannelFactory = () => {
      throw new Error('no channel today');
    };
    expect(create({ channelFactoryOverride: failing })).toEqual({
      ok: false,
      error: 'no channel today',
    });
    const wrong = (() => ({})) as unknown as ChildChannelFactory;
    expect(create({ channelFactoryOverride: wrong })).toEqual({
      ok: false,
      error: 'channelFactoryOverride of the child channel options did not return a channel',
    });
  });
});
