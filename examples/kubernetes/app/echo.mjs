import { hostname } from 'node:os';
import grpc from '@grpc/grpc-js';
import { Echo } from './service.mjs';

// A server that knows nothing of xDS. It answers with the name of its pod.
const { ADDRESS = '0.0.0.0:50051', NAME = hostname() } = process.env;
const server = new grpc.Server();
server.addService(Echo.service, {
  say: ({ request }, callback) => callback(null, `${request} from ${NAME}`),
});
server.bindAsync(ADDRESS, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  console.log(`${NAME} serves on ${ADDRESS}`);
});
process.once('SIGTERM', () => server.tryShutdown(() => process.exit()));
