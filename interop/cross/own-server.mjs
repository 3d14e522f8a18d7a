// xDS servers of this package as a program that is directed by lines of JSON; see peers.mjs.
import { createInterface } from 'node:readline';
import { ServerCredentials, ServerInterceptingCall } from '@grpc/grpc-js';
import { XdsServer, XdsServerCredentials } from 'grpc-xds/server';
import { addTestService } from '../server/test-service.mjs';

const HOST = '127.0.0.1';

/** The addresses from which calls came: one for each connection. */
const clients = new Set();
let calls = 0;

const count = (_method, call) => {
  calls++;
  clients.add(call.getPeer());
  return new ServerInterceptingCall(call);
};

const serve = ({ name, port }) => {
  const server = new XdsServer({ interceptors: [count] });
  addTestService(server, { host_name_override: name, server_id: name });
  const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
  server.bindAsync(`${HOST}:${port}`, credentials, (error) => {
    if (error !== null) throw error;
  });
  return { host: HOST, port };
};

const handle = (command) => {
  const { do: action } = command;
  if (action === 'serve') return serve(command);
  if (action === 'seen') return { connections: clients.size, calls };
  return { error: `${action} is not known` };
};

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

say({});
for await (const line of createInterface(process.stdin)) say(handle(JSON.parse(line)));
process.exit(0);
