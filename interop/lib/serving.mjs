// What both programs serve beside their own services.
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

/** Listens without encryption on the first of the addresses that can be listened on. */
export const listen = async (server, [address, ...others]) => {
  try {
    return await new Promise((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  } catch (error) {
    if (others.length === 0) throw error;
    return listen(server, others);
  }
};

/** Ends the program when it is told to. */
export const endOnSignal = (...servers) => {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      for (const server of servers) server.forceShutdown();
      process.exit(0);
    });
  }
};

/** Why `--secure_mode` of the server is refused: silence would make a test of security pass without any. */
export const SECURE_MODE_TEXT =
  'secure_mode: servers cannot take credentials from the control plane yet';
