// A pod: serves the test services at an address, answers with its name, and ends on SIGTERM as a server of grpc-js does that
// is shut down gracefully. Arguments: name, address and port.
import { Metadata, Server, ServerCredentials, type MethodDefinition } from '@grpc/grpc-js';
import { echoMethod } from '../../support/echo-backend';

const [name = '', address = '', port = ''] = process.argv.slice(2);

/** Calls without fields, so that requests and responses are empty: those of the interop test service. */
const emptyMethod = (method: string): MethodDefinition<Buffer, Buffer> => ({
  ...echoMethod,
  path: `/grpc.testing.TestService/${method}`,
});

type Callback = (error: null, answer: Buffer) => void;
type Call = { readonly metadata: Metadata; sendMetadata(metadata: Metadata): void };

const answer = (bytes: Buffer) => (call: Call, callback: Callback) => {
  const metadata = new Metadata();
  // By this header the programs of interop:cross know who answered.
  metadata.set('hostname', name);
  call.sendMetadata(metadata);
  callback(null, bytes);
};

const server = new Server();
server.addService({ say: echoMethod }, { say: answer(Buffer.from(name)) });
server.addService(
  { empty: emptyMethod('EmptyCall'), unary: emptyMethod('UnaryCall') },
  { empty: answer(Buffer.alloc(0)), unary: answer(Buffer.alloc(0)) },
);
server.bindAsync(`${address}:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error;
  process.send?.('ready');
});
process.on('SIGTERM', () => server.tryShutdown(() => process.exit(0)));
process.on('disconnect', () => process.exit(0));
