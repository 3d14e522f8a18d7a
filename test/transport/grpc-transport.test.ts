import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, Metadata, setLogVerbosity, logVerbosity } from '@grpc/grpc-js';
import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import {
  GrpcTransportFactory,
  type GrpcTransportOptions,
} from '../../src/transport/grpc-transport';
import { systemClock } from '../../src/util/clock';
import { err, ok } from '../../src/util/result';
import type { XdsStream, XdsTransport } from '../../src/xds-client/transport';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { ByteServer, METHOD } from './byte-server';
import { StreamRecorder } from './stream-recorder';
import { TcpGate } from './tcp-gate';

const bytes = (text: string) => new TextEncoder().encode(text);

function serverConfig(serverUri: string, features: readonly string[] = []): ServerConfig {
  const channelCreds = { type: 'insecure', config: undefined };
  return { serverUri, channelCreds, callCreds: [], features: new Set(features), key: serverUri };
}

const insecure = { create: () => ok(credentials.createInsecure()) };

describe('GrpcTransport', () => {
  const cleanups: (() => void)[] = [];

  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  });

  function connectTo(
    serverUri: string,
    options: Partial<GrpcTransportOptions> = {},
    features: readonly string[] = [],
  ): XdsTransport {
    const factory = new GrpcTransportFactory({
      credentials: insecure,
      clock: systemClock,
      ...options,
    });
    const transport = factory.create(serverConfig(serverUri, features));
    if (!transport.ok) throw new Error(transport.error);
    cleanups.push(() => transport.value.close());
    return transport.value;
  }

  async function serve(onCall: ConstructorParameters<typeof ByteServer>[0]): Promise<ByteServer> {
    const server = await new ByteServer(onCall).start();
    cleanups.push(() => server.stop());
    return server;
  }

  async function gate(target?: string): Promise<TcpGate> {
    const started = await new TcpGate(target).start();
    cleanups.push(() => started.stop());
    return started;
  }

  function open(transport: XdsTransport) {
    const recorder = new StreamRecorder();
    return { recorder, stream: transport.openStream(METHOD, recorder) };
  }

  const echo = () =>
    serve((call) => {
      call.on('data', (text: string) => call.write(`re: ${text}`));
      call.on('end', () => call.end());
    });

  it('sends and receives messages', async () => {
    const { stream, recorder } = open(connectTo((await echo()).address));
    stream.read();
    stream.send(bytes('one'));
    await recorder.untilMessage();
    stream.read();
    stream.send(bytes('two'));
    await recorder.untilMessage(2);
    expect(recorder.events).toEqual(['sent', 're: one', 'sent', 're: two']);
  });

  it('connects to the address of a passthrough: URI', async () => {
    const { address } = await echo();
    const { stream, recorder } = open(connectTo(`passthrough:///${address}`));
    stream.read();
    stream.send(Buffer.from('hello'));
    await recorder.untilMessage();
    expect(recorder.messages).toEqual(['re: hello']);
  });

  it('connects over a Unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'transport-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const server = await new ByteServer(
      (call) => call.write('from the agent'),
      `unix://${folder}/XDS`,
    ).start();
    cleanups.push(() => server.stop());
    const { stream, recorder } = open(connectTo(server.address));
    stream.read();
    await recorder.untilMessage();
    expect(recorder.messages).toEqual(['from the agent']);
  });

  it('sends the part of a buffer that is the message', async () => {
    const { stream, recorder } = open(connectTo((await echo()).address));
    stream.read();
    stream.send(bytes('<middle>').subarray(1, 7));
    await recorder.untilMessage();
    expect(recorder.messages).toEqual(['re: middle']);
  });

  it('reports nothing before the call that set it off has returned', async () => {
    const { stream, recorder } = open(connectTo((await echo()).address));
    stream.read();
    stream.send(bytes('one'));
    expect(recorder.events).toEqual([]);
    await recorder.untilMessage();
  });

  it('delivers one message for each read', async () => {
    const server = await serve((call) => {
      for (const text of ['a', 'b', 'c', 'd']) call.write(text);
    });
    const { stream, recorder } = open(connectTo(server.address));
    await sleep(50);
    expect(recorder.messages).toEqual([]);
    stream.read();
    await recorder.untilMessage();
    await sleep(50);
    expect(recorder.messages).toEqual(['a']);
    stream.read();
    stream.read();
    await recorder.untilMessage(3);
    await sleep(50);
    expect(recorder.messages).toEqual(['a', 'b', 'c']);
  });

  it('carries messages far above the default limit of 4 MiB in both directions', async () => {
    const { stream, recorder } = open(connectTo((await echo()).address));
    stream.read();
    stream.send(bytes('x'.repeat(8 * 1024 * 1024)));
    await recorder.untilMessage();
    expect(recorder.events).toEqual(['sent', `${8 * 1024 * 1024 + 4} bytes`]);
  });

  it('does not report a message as sent while there is no connection', async () => {
    const silent = await gate();
    const { stream, recorder } = open(connectTo(silent.address));
    stream.send(bytes('one'));
    await eventually(
      () => silent.accepted,
      (accepted) => accepted === 1,
    );
    await sleep(50);
    expect(recorder.events).toEqual([]);
  });

  it('reports how the server ended the stream', async () => {
    const server = await serve((call) => {
      const metadata = new Metadata();
      metadata.set('authorization', 'secret');
      call.emit('error', { code: 7, details: 'node unknown', metadata });
    });
    const { recorder } = open(connectTo(server.address));
    expect(await recorder.untilClosed()).toMatchObject({ code: 7, details: 'node unknown' });
  });

  it('reports the end of a stream after its last message', async () => {
    const server = await serve((call) => {
      call.write('last');
      call.end();
    });
    const { stream, recorder } = open(connectTo(server.address));
    stream.read();
    await recorder.untilMessage();
    stream.read();
    expect(await recorder.untilClosed()).toMatchObject({ code: 0, details: 'OK' });
    expect(recorder.events).toEqual(['last', 'closed']);
  });

  it('fails at once when the server refuses the connection, and says so', async () => {
    const server = await echo();
    const { address } = server;
    server.stop();
    const port = address.split(':')[1] ?? '';
    const { stream, recorder } = open(connectTo(`127.0.0.1:${port}`));
    stream.send(bytes('one'));
    expect(await recorder.untilClosed()).toMatchObject({
      code: 14,
      details: `connect ECONNREFUSED 127.0.0.1:${port}`,
    });
    expect(recorder.events).toEqual(['closed']);
  });

  it('fails at once when the server has no address, and says so', async () => {
    const { recorder } = open(connectTo('dns:///no-such-host.invalid:1'));
    const status = await recorder.untilClosed();
    expect(status.code).toBe(14);
    expect(status.details).toBe('Name resolution failed for target dns:///no-such-host.invalid:1');
  });

  it('tries again with each new stream, however often it failed before', async () => {
    const server = await echo();
    server.stop();
    const transport = connectTo(server.address);
    for (let attempt = 0; attempt < 5; attempt++) {
      const { recorder } = open(transport);
      expect((await recorder.untilClosed()).code).toBe(14);
    }
    await server.start();
    // A channel that waited for its backoff would fail this stream at once, too.
    const { stream, recorder } = open(transport);
    stream.send(bytes('one'));
    stream.read();
    await recorder.untilMessage();
  });

  it('does not try again on its own', async () => {
    const vanished = await gate();
    const { address } = vanished;
    vanished.stop();
    const { recorder } = open(connectTo(address));
    await recorder.untilClosed();
    const watcher = await new TcpGate().start(Number(address.split(':')[1]));
    cleanups.push(() => watcher.stop());
    // The channel's own backoff starts with one second.
    await sleep(1300);
    expect(watcher.accepted).toBe(0);
  });

  it('connects again after the server was restarted', async () => {
    const server = await echo();
    const transport = connectTo(server.address);
    const first = open(transport);
    first.stream.send(bytes('one'));
    await first.recorder.untilSent();
    server.stop();
    expect((await first.recorder.untilClosed()).code).not.toBe(0);
    await server.start();
    const second = open(transport);
    second.stream.read();
    second.stream.send(bytes('two'));
    await second.recorder.untilMessage();
    expect(second.recorder.messages).toEqual(['re: two']);
  });

  it('numbers the connections that outlive streams', async () => {
    const answer = await serve((call) => {
      call.write('there');
      call.on('data', (text: string) => {
        if (text === 'end') call.end();
      });
    });
    const front = await gate(answer.address);
    const transport = connectTo(front.address);
    const connectionOf = async (end: (stream: XdsStream) => void) => {
      const { stream, recorder } = open(transport);
      stream.read();
      // A message, or the end of a stream on a connection of which the transport does not know yet that it is lost.
      await eventually(
        () => recorder.events,
        ({ length }) => length > 0,
      );
      end(stream);
      return (await recorder.untilClosed()).connection;
    };
    const atEnd = (stream: XdsStream) => stream.send(bytes('end'));
    const first = await connectionOf(atEnd);
    expect(first).toBeDefined();
    expect(await connectionOf(atEnd)).toBe(first);
    expect(await connectionOf(() => front.disconnect())).toBeUndefined();
    const second = await connectionOf(atEnd);
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
    front.disconnect();
    let third: number | undefined;
    while (third === undefined) third = await connectionOf(atEnd);
    expect([first, second]).not.toContain(third);
  });

  it('has several streams on one connection', async () => {
    const proxy = await gate((await echo()).address);
    const transport = connectTo(proxy.address);
    const streams = [open(transport), open(transport)];
    for (const { stream } of streams) {
      stream.read();
      stream.send(bytes('hello'));
    }
    for (const { recorder } of streams) await recorder.untilMessage();
    expect(proxy.accepted).toBe(1);
    // The end of one is not the end of the other.
    streams[0]?.stream.close();
    streams[1]?.stream.read();
    streams[1]?.stream.send(bytes('again'));
    await streams[1]?.recorder.untilMessage(2);
  });

  it('does not share its connection with other transports', async () => {
    const proxy = await gate((await echo()).address);
    for (const transport of [connectTo(proxy.address), connectTo(proxy.address)]) {
      const { stream, recorder } = open(transport);
      stream.send(bytes('hello'));
      await recorder.untilSent();
    }
    expect(proxy.accepted).toBe(2);
  });

  it('notices a connection that died without a word', async () => {
    const proxy = await gate((await echo()).address);
    const transport = connectTo(proxy.address, { keepalive: { timeMs: 50, timeoutMs: 500 } });
    const { stream, recorder } = open(transport);
    stream.send(bytes('one'));
    await recorder.untilSent();
    proxy.shut();
    expect(await recorder.untilClosed()).toMatchObject({ code: 14, details: 'Connection dropped' });
  });

  it('gives up a connection that does not come about, and keeps nothing of it', async () => {
    const silent = await gate();
    const clock = new FakeClock();
    const transport = connectTo(silent.address, { clock });
    const { stream, recorder } = open(transport);
    stream.send(bytes('one'));
    await eventually(
      () => silent.accepted,
      (accepted) => accepted === 1,
    );
    clock.advance(14_999);
    expect(recorder.events).toEqual([]);
    clock.advance(1);
    expect(recorder.status).toEqual({ code: 14, details: 'no connection within 15 s' });
    await eventually(
      () => silent.connected,
      (connected) => connected === 0,
    );
    expect(clock.pendingTimers).toBe(0);
    // The next stream makes a connection of its own.
    open(transport);
    await eventually(
      () => silent.accepted,
      (accepted) => accepted === 2,
    );
    expect(recorder.events).toEqual(['closed']);
  });

  it('does not end a connected stream after the connect timeout', async () => {
    const clock = new FakeClock();
    const { stream, recorder } = open(connectTo((await echo()).address, { clock }));
    stream.send(bytes('one'));
    await recorder.untilSent();
    clock.advance(15_000);
    stream.read();
    await recorder.untilMessage();
    expect(recorder.events).toEqual(['sent', 're: one']);
  });

  it('reports nothing after a stream was closed', async () => {
    let ended = false;
    const server = await serve((call) => {
      call.write('late');
      call.on('cancelled', () => {
        ended = true;
      });
    });
    const { stream, recorder } = open(connectTo(server.address));
    stream.read();
    stream.send(bytes('one'));
    await recorder.untilMessage();
    stream.read();
    stream.send(bytes('two'));
    stream.close();
    stream.close();
    stream.send(bytes('three'));
    stream.read();
    await eventually(
      () => ended,
      (value) => value,
    );
    await sleep(20);
    expect(recorder.events).toEqual(['sent', 'late']);
  });

  it('closes its streams and connections when it is closed', async () => {
    const proxy = await gate((await echo()).address);
    const clock = new FakeClock();
    const transport = connectTo(proxy.address, { clock });
    const { stream, recorder } = open(transport);
    stream.send(bytes('one'));
    await recorder.untilSent();
    transport.close();
    transport.close();
    await eventually(
      () => proxy.connected,
      (connected) => connected === 0,
    );
    expect(recorder.events).toEqual(['sent']);
    await eventually(
      () => clock.pendingTimers,
      (count) => count === 0,
    );
    expect(() => transport.openStream(METHOD, recorder)).toThrow(
      `openStream on the closed transport to ${proxy.address}`,
    );
  });

  it('closes a connection that is being made when it is closed', async () => {
    const silent = await gate();
    const transport = connectTo(silent.address);
    const { recorder } = open(transport);
    await eventually(
      () => silent.connected,
      (connected) => connected === 1,
    );
    transport.close();
    await eventually(
      () => silent.connected,
      (connected) => connected === 0,
    );
    expect(recorder.events).toEqual([]);
  });

  it('connects to nothing before a stream is opened', async () => {
    const silent = await gate();
    connectTo(silent.address);
    await sleep(50);
    expect(silent.accepted).toBe(0);
  });

  it('pings less often once a server has closed the connection for it', async () => {
    setLogVerbosity(logVerbosity.NONE);
    cleanups.push(() => setLogVerbosity(logVerbosity.ERROR));
    let pings = 0;
    const server = createHttp2Server();
    server.on('session', (session) => {
      session.on('error', () => {});
      session.on('ping', () => {
        pings++;
        session.goaway(11, 0, Buffer.from('too_many_pings'));
      });
    });
    server.on('stream', (stream) => {
      stream.on('error', () => {});
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    });
    server.listen(0, '127.0.0.1');
    cleanups.push(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;

    const transport = connectTo(`127.0.0.1:${port}`, {
      keepalive: { timeMs: 50, timeoutMs: 20_000 },
    });
    const first = open(transport);
    first.stream.send(bytes('one'));
    expect(await first.recorder.untilClosed()).toMatchObject({
      code: 8,
      details:
        'Bandwidth exhausted or memory limit exceeded; keepalive pings are sent every 310 s from now on',
    });
    const second = open(transport);
    second.stream.send(bytes('two'));
    await second.recorder.untilSent();
    await sleep(200);
    expect(second.recorder.events).toEqual(['sent']);
    expect(pings).toBe(1);
  });
});

describe('GrpcTransportFactory', () => {
  const create = (serverUri: string, create = insecure.create) =>
    new GrpcTransportFactory({ credentials: { create }, clock: systemClock }).create(
      serverConfig(serverUri),
    );

  it('says why a server URI is of no use', () => {
    expect(create('')).toEqual({ ok: false, error: 'Could not parse target name ""' });
  });

  it('says why there are no credentials', () => {
    const factory = new GrpcTransportFactory({
      credentials: { create: () => err('no certificate') },
      clock: systemClock,
    });
    expect(factory.create(serverConfig('x'))).toEqual({ ok: false, error: 'no certificate' });
  });
});
