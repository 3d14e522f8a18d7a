import { register, registerLbPolicy } from 'grpc-xds';
import { createMaintenanceServer, endOnSignal, listen, wildcard } from '../lib/serving.mjs';
import { CallSender } from './call-sender.mjs';
import { parseClientFlags } from './client-flags.mjs';
import { addClientServices } from './client-services.mjs';
import { rpcBehaviorPolicy } from './rpc-behavior-policy.mjs';

/** The xDS test client: sends calls until it is stopped. */
export const runClient = async (argv) => {
  const flags = parseClientFlags(argv);
  register();
  registerLbPolicy(rpcBehaviorPolicy);
  const sender = new CallSender(flags);
  const { server } = createMaintenanceServer();
  addClientServices(server, sender);
  const port = await listen(server, `${await wildcard()}:${flags.stats_port}`);
  endOnSignal(server);
  sender.start();
  console.log(`Calling ${flags.server}; statistics on port ${port}`);
};
