import { once } from 'node:events';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { ServerCredentials, type Server } from '@grpc/grpc-js';

/** Has a server listen on a free port of the loopback interface. @returns the port. */
export async function listen(server: NetServer, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Binds a server of grpc-js to a free port of the loopback interface. @returns the port. */
export function bind(
  server: Server,
  credentials = ServerCredentials.createInsecure(),
  address = '127.0.0.1:0',
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
