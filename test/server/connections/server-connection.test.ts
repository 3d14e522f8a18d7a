import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Metadata, Server, ServerCredentials, type ServerInterceptor } from '@grpc/grpc-js';
import type { AuthorizationRequest } from '../../../src/http-filters/rbac/request';
import { recordTlsConnection } from '../../../src/security/peer/tls-connections';
import { systemClock } from '../../../src/util/clock';
import { ServerConnection } from '../../../src/server/connections/server-connection';
import { CallCounts } from '../../../src/server/observation/server-counts';

type InterceptedCall = Parameters<ServerInterceptor>[1];

it('in plain text has no identity, also if one with the same ends had one that has just been reset', async () => {
  const listening = createServer();
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  const { port } = listening.address() as { port: number };
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  const [socket] = (await once(listening, 'connection')) as [Socket];
  // The one before, whose close is emitted after the accept of this one.
  const earlier = new TLSSocket(socket, { isServer: true });
  const names = { uriSans: ['spiffe://td/admin'], dnsSans: [], subject: '' };
  Object.defineProperty(earlier, 'getPeerCertificate', { value: () => ({}), configurable: true });
  recordTlsConnection(earlier, { ...names, spiffeId: names.uriSans[0] } as never);
  const judged: AuthorizationRequest[] = [];
  const server = new Server();
  const connection = new ServerConnection(
    socket,
    {
      ...{ localAddress: socket.localAddress, localPort: socket.localPort },
      ...{ remoteAddress: socket.remoteAddress, remotePort: socket.remotePort },
    },
    {
      createInjector: () => server.createConnectionInjector(ServerCredentials.createInsecure()),
      interceptors: [],
      judge: (request) => void judged.push(request),
      refuse: () => {
        throw new Error('not refused');
      },
      onFailed: (error) => {
        throw error;
      },
      clock: systemClock,
      calls: new CallCounts(),
    },
    () => undefined,
  );
  connection.open(socket);
  connection.judge('/a.B/C', new Metadata(), {} as InterceptedCall);
  expect(judged.map(({ tls }) => tls)).toEqual([undefined]);
  connection.destroy();
  client.destroy();
  listening.close();
  server.forceShutdown();
});
