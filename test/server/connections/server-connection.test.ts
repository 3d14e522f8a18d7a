import { once } from 'node:events';
import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from 'node:http2';
import { TLSSocket } from 'node:tls';
import { Metadata, type ServerInterceptor } from '@grpc/grpc-js';
import type { FilteredCall } from '../../../src/authorization/request';
import { recordTlsConnection } from '../../../src/security/peer/tls-connections';
import { systemClock } from '../../../src/util/clock';
import { echoMethod } from '../../support/echo-backend';
import { FakeClock } from '../../support/fake-clock';
import { SlowClock } from '../../support/slow-clock';
import { acceptConnection, type AcceptedConnection } from './accepted-connection';

type InterceptedCall = Parameters<ServerInterceptor>[1];

let accepted: AcceptedConnection;

beforeEach(async () => {
  accepted = await acceptConnection();
});

afterEach(() => accepted.stop());

it('in plain text has no identity, also if one with the same ends had one that has just been reset', () => {
  const { socket, judged } = accepted;
  // The one before, whose close is emitted after the accept of this one.
  const earlier = new TLSSocket(socket, { isServer: true });
  const names = { uriSans: ['spiffe://td/admin'], dnsSans: [], subject: '' };
  Object.defineProperty(earlier, 'getPeerCertificate', { value: () => ({}), configurable: true });
  recordTlsConnection(earlier, { ...names, spiffeId: names.uriSans[0] } as never);
  const connection = accepted.serve(systemClock);
  connection.open(socket, () => undefined);
  const call = { headers: new Metadata() } as unknown as FilteredCall;
  void connection.judge('/a.B/C', call, {} as InterceptedCall);
  expect(judged.map(({ tls }) => tls)).toEqual([undefined]);
});

describe('the grace time of a drain', () => {
  /** Sends a message, and waits until it is echoed. */
  async function echo(stream: ClientHttp2Stream): Promise<void> {
    const echoed = once(stream, 'data');
    stream.write(Buffer.from([0, 0, 0, 0, 1, 120]));
    await echoed;
  }

  /** Connects a client of HTTP/2, which has a call that never ends. */
  async function begin(): Promise<{ session: ClientHttp2Session; stream: ClientHttp2Stream }> {
    const session = connectHttp2('http://127.0.0.1', { createConnection: () => accepted.client });
    session.on('error', () => undefined);
    const headers = { ':method': 'POST', ':path': echoMethod.path, te: 'trailers' };
    const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
    stream.on('error', () => undefined);
    await echo(stream);
    return { session, stream };
  }

  it('begins with the GOAWAY, also of a connection that has just been opened', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    const { session, stream } = await begin();
    clock.advance(400);
    connection.drain(10_000);
    clock.advance(599);
    await echo(stream);
    expect(session.closed).toBe(false);
    const goaway = once(session, 'goaway');
    clock.advance(2);
    await goaway;
    clock.advance(9_998);
    await echo(stream);
    expect(accepted.socket.destroyed).toBe(false);
    clock.advance(2);
    expect(accepted.socket.destroyed).toBe(true);
    await once(accepted.socket, 'close');
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not pass while the process is blocked', async () => {
    const clock = new SlowClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    const { session, stream } = await begin();
    clock.advance(1000);
    const goaway = once(session, 'goaway');
    connection.drain(800);
    clock.advance(1);
    await goaway;
    // One timer is late, by more than the whole grace time.
    clock.spentMs = 60_000;
    clock.advance(100);
    await echo(stream);
    clock.advance(698);
    await echo(stream);
    clock.advance(2);
    expect(accepted.socket.destroyed).toBe(true);
  });

  it('is the shortest of several drains, each from its begin or from the GOAWAY', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    const { session, stream } = await begin();
    clock.advance(1000);
    const goaway = once(session, 'goaway');
    connection.drain(Infinity);
    connection.drain(10_000);
    connection.drain(20_000);
    clock.advance(1);
    await goaway;
    clock.advance(5000);
    connection.drain(2000);
    connection.drain(30_000);
    clock.advance(1999);
    await echo(stream);
    clock.advance(1);
    expect(accepted.socket.destroyed).toBe(true);
  });

  it('ends a handshake, and begins anew if that ends before', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.drain(2000);
    clock.advance(1999);
    connection.open(accepted.socket, () => undefined);
    const { session, stream } = await begin();
    const goaway = once(session, 'goaway');
    clock.advance(1001);
    await goaway;
    clock.advance(1998);
    await echo(stream);
    clock.advance(2);
    expect(accepted.socket.destroyed).toBe(true);

    accepted.stop();
    accepted = await acceptConnection();
    accepted.serve(clock).drain(2000);
    clock.advance(2001);
    expect(accepted.socket.destroyed).toBe(true);
  });

  it('waits for the first call of a connection that has just been opened, which a busy client sends late', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    connection.drain(100);
    clock.advance(4900);
    const { session, stream } = await begin();
    const goaway = once(session, 'goaway');
    clock.advance(999);
    await echo(stream);
    expect(session.closed).toBe(false);
    clock.advance(2);
    await goaway;

    accepted.stop();
    accepted = await acceptConnection();
    const idle = accepted.serve(clock);
    idle.open(accepted.socket, () => undefined);
    idle.drain(100);
    clock.advance(4999);
    expect(idle.accepts).toBe(false);
    expect(accepted.socket.writable).toBe(true);
    clock.advance(2);
    await once(accepted.client.resume(), 'end');
  });

  it('of no length closes a connection at once', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    await begin();
    connection.drain(0);
    clock.advance(2);
    expect(accepted.socket.destroyed).toBe(true);
  });

  it('of a connection that has closed leaves no timer', async () => {
    const clock = new FakeClock();
    const connection = accepted.serve(clock);
    connection.open(accepted.socket, () => undefined);
    accepted.client.destroy();
    await once(accepted.socket.resume(), 'close');
    connection.drain(1000);
    expect(clock.pendingTimers).toBe(0);
  });
});
