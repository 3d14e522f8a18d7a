import { Server, ServerCredentials } from '@grpc/grpc-js';
import { register } from 'grpc-xds';
import { XdsServer, XdsServerCredentials } from 'grpc-xds/server';
import { createMaintenanceServer, endOnSignal, listen, wildcard } from '../lib/serving.mjs';
import { addMaintenanceServices } from './hook-service.mjs';
import { parseServerFlags } from './server-flags.mjs';
import { addTestService } from './test-service.mjs';

/** While the control plane has no Listener, a shared port would hide CSDS, health and channelz, which say why. */
const ONE_PORT_TEXT = 'secure_mode: --maintenance_port must differ from --port';

/** Listens on an address once the control plane has configured it. */
const bindXdsServer = (server, address) => {
  const xdsCredentials = new XdsServerCredentials(ServerCredentials.createInsecure());
  server.bindAsync(address, xdsCredentials, (error) => {
    if (error === null) return;
    console.error(error.message);
    process.exit(2);
  });
};

const onServingState = (address, state, error) =>
  console.log(`${address}: ${state}${error === undefined ? '' : `: ${error.message}`}`);

/** The xDS test server: answers until it is stopped. */
export const runServer = async (argv) => {
  const flags = parseServerFlags(argv);
  const isShared = flags.maintenance_port === flags.port;
  if (flags.secure_mode && isShared) {
    console.error(ONE_PORT_TEXT);
    process.exit(2);
  }
  // So that CSDS is among the admin services.
  register();
  const { server: maintenance, health } = createMaintenanceServer();
  addMaintenanceServices(maintenance, health);
  const host = await wildcard(flags.address_type);
  const at = (port) => `${host}:${port}`;
  if (flags.secure_mode) {
    const server = new XdsServer({ onServingState });
    addTestService(server, flags);
    bindXdsServer(server, at(flags.port));
    const port = await listen(maintenance, at(flags.maintenance_port));
    endOnSignal(server, maintenance);
    console.log(`${flags.host_name_override} awaits a Listener, maintenance on ${port}`);
    return;
  }
  const server = isShared ? maintenance : new Server();
  addTestService(server, flags);
  const port = await listen(server, at(flags.port));
  const maintenancePort = isShared ? port : await listen(maintenance, at(flags.maintenance_port));
  endOnSignal(server, maintenance);
  console.log(
    `${flags.host_name_override} serves on port ${port}, maintenance on ${maintenancePort}`,
  );
};
