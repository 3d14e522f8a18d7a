import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Allowance } from '../../src/util/allowance';
import { ClosedConnections } from '../../src/util/closed-connections';
import {
  ConnectionAdmission,
  MAX_BEGUN_IN_TURN,
  UNPROVEN_MS,
  UNPROVEN_WHILE_OTHERS_WAIT_MS,
  type AdmissionAllowances,
} from '../../src/util/connection-admission';
import { MAX_HANDSHAKES_OF_ADDRESS, MAX_HELLO_BYTES, MAX_UNPROVEN } from '../../src/util/limits';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { FakeLoop } from './fake-loop';

const [FIRST, SECOND] = ['127.0.0.1', '127.0.0.2'];
const PREFACE = 'PRI';

describe('the admission of connections', () => {
  const cleanUp: (() => void)[] = [];
  afterEach(() => {
    for (const task of cleanUp.splice(0).reverse()) task();
  });

  /** A server that has accepted connections, which the test hands to an admission. */
  async function setUp(allowances?: AdmissionAllowances) {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    cleanUp.push(() => server.close());
    /** @param first The first bytes of the client. */
    const accept = async (first: string | Buffer = PREFACE, localAddress = FIRST) => {
      const client = connect({ port, host: '127.0.0.1', localAddress });
      client.on('error', () => undefined);
      const [socket] = (await once(server, 'connection')) as [Socket];
      cleanUp.push(
        () => socket.destroy(),
        () => client.destroy(),
      );
      if (first.length > 0) client.write(first);
      return { socket, client };
    };
    const clock = new FakeClock();
    const loop = new FakeLoop();
    const lines: string[] = [];
    const logger = { error: (text: () => string) => void lines.push(text()) };
    const closedConnections = new ClosedConnections(clock, logger);
    const admission = new ConnectionAdmission(clock, closedConnections, allowances, loop);

    const local = ({ localPort }: Socket) => `server 127.0.0.1:${localPort}`;
    const begun: Socket[] = [];
    const proofs = new Map<Socket, () => void>();
    const handshakeEnds = new Map<Socket, () => void>();
    /** @param isSecured Whether it has no TLS handshake. */
    const admit = (socket: Socket, isSecured = true) =>
      admission.admit(socket, (onProven, onSecured) => {
        begun.push(socket);
        proofs.set(socket, onProven);
        if (isSecured) onSecured();
        else handshakeEnds.set(socket, onSecured);
      });
    /** Admits connections, and waits until their first bytes have arrived. */
    const admitAll = async (count: number, address = FIRST, isSecured = true) => {
      const sockets: Socket[] = [];
      for (let i = 0; i < count; i++) {
        const { socket } = await accept(PREFACE, address);
        admit(socket, isSecured);
        await arrived(socket, PREFACE.length);
        sockets.push(socket);
      }
      return sockets;
    };
    const runTurns = (count: number) => {
      for (let i = 0; i < count; i++) clock.advance(1);
    };
    return {
      accept,
      admission,
      clock,
      loop,
      begun,
      proofs,
      handshakeEnds,
      admit,
      admitAll,
      runTurns,
      lines,
      local,
    };
  }

  const arrived = (socket: Socket, bytes: number) =>
    eventually(
      () => socket.bytesRead,
      (count) => count >= bytes,
    );
  const closed = (socket: Socket) =>
    eventually(
      () => socket.destroyed,
      (isDestroyed) => isDestroyed,
    );

  it('begins a few in a turn of the event loop, but none that has closed meanwhile', async () => {
    const { admitAll, clock, begun } = await setUp();
    const sockets = await admitAll(2 * MAX_BEGUN_IN_TURN + 2);
    expect(begun).toEqual(sockets.slice(0, MAX_BEGUN_IN_TURN));
    const last = sockets.at(-1);
    last?.destroy();
    if (last !== undefined) await once(last, 'close');
    clock.advance(1);
    expect(begun).toEqual(sockets.slice(0, 2 * MAX_BEGUN_IN_TURN));
    clock.advance(1);
    expect(begun).toEqual(sockets.slice(0, -1));
  });

  it('has so many without a proof, and begins others when clients prove themselves or leave', async () => {
    const { admitAll, runTurns, begun, proofs } = await setUp();
    const sockets = await admitAll(MAX_UNPROVEN + 3);
    runTurns(MAX_UNPROVEN);
    expect(begun).toEqual(sockets.slice(0, MAX_UNPROVEN));
    const [first, second] = sockets;
    if (first !== undefined) proofs.get(first)?.();
    runTurns(2);
    expect(begun).toHaveLength(MAX_UNPROVEN + 1);
    // A client is proven once.
    if (first !== undefined) proofs.get(first)?.();
    runTurns(2);
    expect(begun).toHaveLength(MAX_UNPROVEN + 1);
    second?.destroy();
    if (second !== undefined) await once(second, 'close');
    runTurns(2);
    expect(begun).toHaveLength(MAX_UNPROVEN + 2);
    expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([second]);
  });

  it('begins connections of addresses by turns', async () => {
    const { admitAll, runTurns, begun } = await setUp();
    const many = await admitAll(3 * MAX_BEGUN_IN_TURN);
    const [other] = await admitAll(1, SECOND);
    runTurns(1);
    expect(begun.indexOf(other as Socket)).toBeLessThanOrEqual(MAX_BEGUN_IN_TURN + 1);
    runTurns(3);
    expect(begun).toHaveLength(many.length + 1);
  });

  it('closes connections that send nothing, which keep no others waiting', async () => {
    const { accept, admit, admitAll, clock, begun, lines, local } = await setUp();
    const silent = await accept('');
    const address = local(silent.socket);
    admit(silent.socket);
    const [good] = await admitAll(1);
    expect(begun).toEqual([good]);
    clock.advance(UNPROVEN_MS + 1);
    await closed(silent.socket);
    clock.advance(1000);
    expect(lines[0]).toMatch(
      `${address}: closed 1 connection: the client sent neither a ClientHello nor an HTTP/2 preface within 20 s: check`,
    );
  });

  it('closes connections without a proof after a time, and after less while others wait', async () => {
    const { admitAll, runTurns, clock, begun, lines } = await setUp();
    const [alone] = await admitAll(1);
    for (let ms = 0; ms <= UNPROVEN_MS / 2; ms += 250) clock.advance(250);
    expect(alone?.destroyed).toBe(false);
    for (let ms = 0; ms <= UNPROVEN_MS / 2; ms += 250) clock.advance(250);
    expect(alone?.destroyed).toBe(true);
    const sockets = await admitAll(MAX_UNPROVEN + 1);
    runTurns(MAX_UNPROVEN);
    expect(begun).toHaveLength(MAX_UNPROVEN + 1);
    for (let ms = 0; ms <= UNPROVEN_WHILE_OTHERS_WAIT_MS; ms += 250) clock.advance(250);
    expect(sockets[0]?.destroyed).toBe(true);
    clock.advance(1000);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(': closed 1 connection: the client did not acknowledge');
    expect(lines[1]).toContain(`: closed ${MAX_UNPROVEN} connections: the client did not ack`);
    await eventually(
      () => {
        clock.advance(1);
        return begun.length;
      },
      (count) => count === MAX_UNPROVEN + 2,
    );
  });

  it('waits for the whole ClientHello, in however many parts', async () => {
    const { accept, admit, begun } = await setUp();
    const message = Buffer.alloc(300, 7);
    message.writeUInt32BE(message.length - 4, 0);
    message[0] = 1;
    const record = (body: Buffer) => {
      const header = Buffer.from([22, 3, 1, 0, 0]);
      header.writeUInt16BE(body.length, 3);
      return Buffer.concat([header, body]);
    };
    const hello = Buffer.concat([record(message.subarray(0, 100)), record(message.subarray(100))]);
    const { socket, client } = await accept('');
    admit(socket);
    for (const [from, to] of [
      [0, 3],
      [3, 60],
      [60, 105],
      [105, 200],
      [200, hello.length - 1],
    ]) {
      client.write(hello.subarray(from, to));
      await arrived(socket, to ?? 0);
      expect(begun).toEqual([]);
    }
    client.write(hello.subarray(-1));
    await eventually(
      () => begun.length,
      (count) => count === 1,
    );
    expect(socket.read()).toEqual(hello);
  });

  it('waits for no more than 16 KiB of a ClientHello', async () => {
    const { accept, admit, begun } = await setUp();
    const hello = Buffer.alloc(MAX_HELLO_BYTES + 1);
    // Two records, of a message of 64 KiB.
    for (const at of [0, 16_000]) Buffer.from([22, 3, 1, 62, 123]).copy(hello, at);
    hello.writeUInt32BE(0x01_01_00_00, 5);
    const { socket, client } = await accept('');
    admit(socket);
    client.write(hello.subarray(0, MAX_HELLO_BYTES));
    await arrived(socket, MAX_HELLO_BYTES);
    expect(begun).toEqual([]);
    client.write(hello.subarray(-1));
    await eventually(
      () => begun.length,
      (count) => count === 1,
    );
  });

  it('has so many of an address in their TLS handshakes, and begins those of others', async () => {
    const { admitAll, runTurns, begun, handshakeEnds } = await setUp();
    const sockets = await admitAll(MAX_HANDSHAKES_OF_ADDRESS + 2, FIRST, false);
    runTurns(4);
    expect(begun).toEqual(sockets.slice(0, MAX_HANDSHAKES_OF_ADDRESS));
    const [other] = await admitAll(1, SECOND, false);
    runTurns(1);
    expect(begun.at(-1)).toBe(other);
    handshakeEnds.get(begun[0] as Socket)?.();
    runTurns(1);
    expect(begun).toHaveLength(MAX_HANDSHAKES_OF_ADDRESS + 2);
  });

  it('delays an address whose handshake blocked the process, then begins one at a time', async () => {
    const { accept, admit, admitAll, runTurns, clock, loop, begun, handshakeEnds, lines, local } =
      await setUp();
    const slow = await accept(PREFACE, SECOND);
    const address = local(slow.socket);
    admit(slow.socket, false);
    await arrived(slow.socket, PREFACE.length);
    const [unfinished] = await admitAll(1, SECOND, false);
    expect(begun).toHaveLength(2);
    slow.client.write('certificates');
    slow.socket.resume();
    await arrived(slow.socket, PREFACE.length + 12);
    loop.runTurn(905);
    expect(lines).toEqual([]);
    await once(slow.socket.destroy(), 'close');
    expect(lines).toEqual([
      `${address}: failed TLS handshakes of ${SECOND} took 0.9 s of CPU: its connections in handshakes are closed (1), and the next ones wait for 4.5 s: if it is an attack, block the address, or end TLS in a proxy in front of this server`,
    ]);
    expect(unfinished?.destroyed).toBe(true);
    const late = await admitAll(2, SECOND, false);
    const [good] = await admitAll(1, FIRST, false);
    runTurns(2);
    expect(begun.slice(2)).toEqual([good]);
    clock.advance(4490);
    expect(begun.slice(2)).toEqual([good]);
    clock.advance(10);
    runTurns(2);
    expect(begun.slice(2)).toEqual([good, late[0]]);
    handshakeEnds.get(late[0] as Socket)?.();
    runTurns(1);
    expect(begun.slice(2)).toEqual([good, ...late]);
  });

  it('does not hurry clients because connections of a delayed address wait', async () => {
    const { accept, admit, admitAll, clock, loop } = await setUp();
    const slow = await accept(PREFACE, SECOND);
    admit(slow.socket, false);
    await arrived(slow.socket, PREFACE.length);
    slow.client.write('certificates');
    slow.socket.resume();
    await arrived(slow.socket, PREFACE.length + 12);
    loop.runTurn(10_000);
    await once(slow.socket.destroy(), 'close');
    await admitAll(1, SECOND, false);
    const [good] = await admitAll(1, FIRST, false);
    for (let ms = 0; ms < UNPROVEN_MS / 2; ms += 250) clock.advance(250);
    expect(good?.destroyed).toBe(false);
  });

  describe('of a server that authenticates its clients', () => {
    const EVERY_MS = 50;
    const AT_ONCE = 5;
    const allowances = () => ({
      ofAddress: new Allowance({ atOnce: AT_ONCE, everyMs: EVERY_MS, maxSources: 10 }),
      ofAll: new Allowance({ atOnce: 100, everyMs: 1, maxSources: 1 }),
    });
    const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress}:${remotePort}`;

    it('resets those of an address with too many without an authenticated client, and admits others', async () => {
      const { accept, admit, admission, clock, lines } = await setUp(allowances());
      const isAdmitted = async (address?: string) => {
        const { socket } = await accept(PREFACE, address);
        admit(socket);
        return !socket.destroyed;
      };
      for (let i = 0; i < AT_ONCE; i++) expect(await isAdmitted(SECOND)).toBe(true);
      expect(await isAdmitted(SECOND)).toBe(false);
      expect(admission.resets).toBe(1);
      expect(await isAdmitted()).toBe(true);
      clock.advance(EVERY_MS);
      expect(await isAdmitted(SECOND)).toBe(true);
      clock.advance(1000);
      expect(lines[0]).toContain(': closed 1 connection: too many connections without an auth');
    });

    it('does not count those whose clients are authenticated', async () => {
      const { accept, admit, admission } = await setUp(allowances());
      for (let i = 0; i < 2 * AT_ONCE; i++) {
        const { socket } = await accept();
        admit(socket);
        expect(socket.destroyed).toBe(false);
        admission.onAuthenticated(peerOf(socket));
        // Further streams of a connection give nothing back.
        admission.onAuthenticated(peerOf(socket));
      }
    });
  });
});
