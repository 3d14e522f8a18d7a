// What both programs serve beside their own services.
import { createServer } from 'node:net';
import { addAdminServicesToServer, Server, ServerCredentials } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation } from 'grpc-health-check';
import { packageDefinition } from './test-protos.mjs';

/**
 * A server with health, reflection, channelz and CSDS.
 * @returns the server and what sets its health.
 */
export const createMaintenanceServer = () => {
  const server = new Server();
  const health = new HealthImplementation({ '': 'SERVING' });
  health.addToServer(server);
  new ReflectionService(packageDefinition).addToServer(server);
  addAdminServicesToServer(server);
  return { server, health };
};

/** Wildcard addresses, in order of preference. That of IPv6 serves IPv4, too. */
const WILDCARDS = { IPV4: ['0.0.0.0'], IPV6: ['::'], IPV4_IPV6: ['::', '0.0.0.0'] };

const canListen = (host) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port: 0 }, () => server.close(() => resolve(true)));
  });

/**
 * The first address of a type that this system can listen on, or the last of them.
 *
 * @param type `IPV4`, `IPV6` or `IPV4_IPV6`.
 * @returns what becomes an address with a port.
 */
export const wildcard = async (type = 'IPV4_IPV6') => {
  let [host, ...others] = WILDCARDS[type];
  while (others.length > 0 && !(await canListen(host))) [host, ...others] = others;
  return host.includes(':') ? `[${host}]` : host;
};

/** Listens without encryption; resolves with the port. */
export const listen = (server, address) =>
  new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });

/** Ends the program when it is told to. */
export const endOnSignal = (...servers) => {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      for (const server of servers) server.forceShutdown();
      process.exit(0);
    });
  }
};
