import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { closeUnusedConnections } from '../../src/grpc-js/host-internals';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { Mesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

const NAME = 'unused.test';

describe('closeUnusedConnections', () => {
  it('closes a connection that its policy has released, long before the host library does', async () => {
    const mesh = await Mesh.start();
    const [first, second] = await Promise.all(['b1', 'b2'].map((name) => mesh.backend(name)));
    const sockets = new Set<Socket>();
    // Counts the connections to the first backend.
    const relay = createServer((socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      const onward = connect(first?.port ?? 0, '127.0.0.1');
      for (const end of [socket, onward]) end.on('error', () => {});
      socket.pipe(onward).pipe(socket);
    });
    await once(relay.listen(0, '127.0.0.1'), 'listening');
    const { port }: Partial<AddressInfo> = Object(relay.address());
    const serve = (ports: number) =>
      mesh.serve({
        listeners: [listenerJson(NAME)],
        routes: [routeConfigJson(`${NAME}-routes`, [routeToCluster('c')])],
        clusters: [edsClusterJson('c')],
        endpoints: [endpointsJson('c', [{ zone: 'z', ports: [ports] }])],
      });
    serve(port ?? 0);
    const client = new EchoClient(`xds:///${NAME}`);
    try {
      expect(await client.say()).toBe('b1');
      serve(second?.port ?? 0);
      await eventually(
        () => client.say(),
        (answer) => answer === 'b2',
      );
      expect(sockets.size).toBe(1);
      closeUnusedConnections();
      await eventually(
        () => sockets.size,
        (size) => size === 0,
        5000,
      );
    } finally {
      client.close();
      mesh.stop();
      relay.close();
    }
  });
});
