import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { ControlPlane, Snapshot, type Authenticate } from '../../src/control-plane';
import { ConnectionAdmission } from '../../src/control-plane/connection-admission';
import {
  MAX_BEGUN_IN_TURN,
  MAX_UNPROVEN_OF_ADDRESS,
  UNPROVEN_OF_ADDRESS_MS,
} from '../../src/control-plane/limits';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { AdsClient } from './ads-client';
import { CDS, cluster, endpoints } from './resources';

const [GOOD, BAD] = ['127.0.0.1', '127.0.0.2'];

/** Every address of 127.0.0.0/8 is a loopback address. */
function open(port: number, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  return socket;
}

describe('the admission of connections', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  /** A server that has accepted connections, which the test hands to an admission. */
  async function setUp() {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    cleanUp.push(() => void server.close());
    const accept = async (address: string) => {
      const client = open(port, address);
      const [socket] = (await once(server, 'connection')) as [Socket];
      cleanUp.push(
        () => void socket.destroy(),
        () => void client.destroy(),
      );
      return socket;
    };
    const clock = new FakeClock();
    const admission = new ConnectionAdmission(clock);
    const begun: Socket[] = [];
    const admit = (socket: Socket) => {
      admission.admit(socket, () => begun.push(socket));
      clock.advance(1);
      return !socket.destroyed;
    };
    const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress}:${remotePort}`;
    return { accept, admission, clock, begun, admit, peerOf };
  }

  it('resets those of an address with too many that are not authenticated, and admits others', async () => {
    const { accept, admit, admission, clock } = await setUp();
    // What came back to it in the time that the connections took is at most this many.
    const spare = Math.ceil(MAX_UNPROVEN_OF_ADDRESS / UNPROVEN_OF_ADDRESS_MS);
    let admitted = 0;
    for (let i = 0; i < MAX_UNPROVEN_OF_ADDRESS + 20; i++) {
      if (admit(await accept(BAD))) admitted++;
    }
    expect(admitted).toBeGreaterThanOrEqual(MAX_UNPROVEN_OF_ADDRESS);
    expect(admitted).toBeLessThanOrEqual(MAX_UNPROVEN_OF_ADDRESS + spare + 1);
    expect(admission.resets).toBe(MAX_UNPROVEN_OF_ADDRESS + 20 - admitted);
    expect(admit(await accept(GOOD))).toBe(true);
    expect(admit(await accept(BAD))).toBe(false);
    clock.advance(UNPROVEN_OF_ADDRESS_MS);
    expect(admit(await accept(BAD))).toBe(true);
  });

  it('does not count those whose clients are authenticated', async () => {
    const { accept, admit, admission, peerOf } = await setUp();
    for (let i = 0; i < 2 * MAX_UNPROVEN_OF_ADDRESS; i++) {
      const socket = await accept(GOOD);
      expect(admit(socket)).toBe(true);
      admission.onAuthenticated(peerOf(socket));
      // Further streams of a connection give nothing back.
      admission.onAuthenticated(peerOf(socket));
    }
  });

  it('begins a few in a turn of the event loop, in their order, but none that has closed meanwhile', async () => {
    const { accept, admission, clock, begun } = await setUp();
    const sockets: Socket[] = [];
    for (let i = 0; i < 2 * MAX_BEGUN_IN_TURN + 2; i++) sockets.push(await accept(GOOD));
    for (const socket of sockets) admission.admit(socket, () => begun.push(socket));
    expect(begun).toEqual(sockets.slice(0, MAX_BEGUN_IN_TURN));
    const [closed] = sockets.slice(-1);
    closed?.destroy();
    if (closed !== undefined) await once(closed, 'close');
    clock.advance(1);
    expect(begun).toEqual(sockets.slice(0, 2 * MAX_BEGUN_IN_TURN));
    clock.advance(1);
    clock.advance(1);
    expect(begun).toEqual(sockets.slice(0, -1));
  });

  it('serves clients while another address opens connections without end', async () => {
    const authenticate: Authenticate = ({ metadata }) =>
      metadata.get('authorization').length > 0
        ? { principal: { name: 'good', namespace: undefined } }
        : { refusal: { code: 16, details: 'there is no token' } };
    const server = new ControlPlane({
      snapshot: Snapshot.from({ clusters: [cluster('a')], endpoints: [endpoints('a', 1)] }),
      authenticate,
    });
    const { address } = await server.start();
    cleanUp.push(() => server.stop());
    const port = Number(address.split(':')[1]);
    let resets = 0;
    for (let i = 0; i < 5 * MAX_UNPROVEN_OF_ADDRESS; i++) {
      const socket = open(port, BAD);
      socket.on('error', () => resets++);
      cleanUp.push(() => void socket.destroy());
    }
    const client = new AdsClient(address, { headers: { authorization: 'Bearer good' } });
    cleanUp.push(() => client.close());
    const stream = client.open();
    stream.subscribe(CDS, [], { node: { id: 'n' } });
    expect((await stream.next()).resources).toHaveLength(1);
    await eventually(
      () => resets,
      (count) => count > MAX_UNPROVEN_OF_ADDRESS,
    );
  });
});
