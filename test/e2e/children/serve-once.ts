// Serves one address until it has been served once, shuts down, and has nothing else to do then.

import { ServerCredentials } from '@grpc/grpc-js';
import { XdsServer, XdsServerCredentials } from '../../../src/server';

const [address = ''] = process.argv.slice(2);
const server = new XdsServer();
const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
server.bindAsync(address, credentials, (error) => {
  process.stdout.write(error === null ? 'served\n' : `${error.message}\n`);
  server.tryShutdown(() => process.stdout.write('down\n'));
});
