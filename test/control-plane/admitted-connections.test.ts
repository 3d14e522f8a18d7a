import { connect, type Socket } from 'node:net';
import { ControlPlane, Snapshot, type Authenticate } from '../../src/control-plane';
import { MAX_UNAUTHENTICATED, MAX_UNAUTHENTICATED_OF_ADDRESS } from '../../src/util/limits';
import { eventually } from '../support/eventually';
import { AdsClient } from './ads-client';
import { CDS, cluster, endpoints } from './resources';

describe('a control plane that authenticates its clients', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  /** Every address of 127.0.0.0/8 is a loopback address. */
  function open(port: number, localAddress: string): Socket {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    cleanUp.push(() => void socket.destroy());
    return socket;
  }

  it.each([
    ['another address opens', 1, MAX_UNAUTHENTICATED_OF_ADDRESS],
    ['many addresses open', 30, MAX_UNAUTHENTICATED],
  ])('serves clients while %s connections without end', async (_case, addresses, limit) => {
    const authenticate: Authenticate = ({ metadata }) =>
      metadata.get('authorization').length > 0
        ? { principal: { name: 'good', namespace: undefined } }
        : { refusal: { code: 16, details: 'there is no token' } };
    const server = new ControlPlane({
      snapshot: Snapshot.from({ clusters: [cluster('a')], endpoints: [endpoints('a', 1)] }),
      authenticate,
    });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const port = Number(address.split(':')[1]);
    let resets = 0;
    for (let i = 0; i < 2 * limit + MAX_UNAUTHENTICATED_OF_ADDRESS; i++) {
      open(port, `127.0.0.${2 + (i % addresses)}`).on('error', () => resets++);
    }
    const client = new AdsClient(address, { headers: { authorization: 'Bearer good' } });
    cleanUp.push(() => client.close());
    const stream = client.open();
    stream.subscribe(CDS, [], { node: { id: 'n' } });
    expect((await stream.next()).resources).toHaveLength(1);
    await eventually(
      () => resets,
      (count) => count > MAX_UNAUTHENTICATED_OF_ADDRESS,
    );
  });
});
