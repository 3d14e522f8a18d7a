import { Server } from '@grpc/grpc-js';
import { register } from 'grpc-xds';
import { createMaintenanceServer, endOnSignal, listen, SECURE_MODE_TEXT } from '../lib/serving.mjs';
import { addMaintenanceServices } from './hook-service.mjs';
import { parseServerFlags } from './server-flags.mjs';
import { addTestService } from './test-service.mjs';

/** Where to listen, in order of preference. */
const ADDRESSES = new Map([
  ['IPV4', ['0.0.0.0']],
  ['IPV6', ['[::]']],
  ['IPV4_IPV6', ['[::]', '0.0.0.0']],
]);

/** The xDS test server: answers until it is stopped. */
export const runServer = async (argv) => {
  const flags = parseServerFlags(argv);
  if (flags.secure_mode) {
    console.error(SECURE_MODE_TEXT);
    process.exit(2);
  }
  // So that CSDS is among the admin services, though this program has nothing to tell.
  register();
  const { server: maintenance, health } = createMaintenanceServer();
  addMaintenanceServices(maintenance, health);
  const isShared = flags.maintenance_port === flags.port;
  const server = isShared ? maintenance : new Server();
  addTestService(server, flags);
  const at = (port) => ADDRESSES.get(flags.address_type).map((address) => `${address}:${port}`);
  const port = await listen(server, at(flags.port));
  const maintenancePort = isShared ? port : await listen(maintenance, at(flags.maintenance_port));
  endOnSignal(server, maintenance);
  console.log(
    `${flags.host_name_override} serves on port ${port}, maintenance on ${maintenancePort}`,
  );
};
