import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { echoMethod } from '../support/echo-backend';

/** A server that answers with the authority it was called by. */
async function startAuthorityServer(): Promise<{ port: number; stop: () => void }> {
  const server = new Server();
  const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
    callback(null, Buffer.from(call.getHost()));
  server.addService({ say: echoMethod }, { say });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, stop: () => server.forceShutdown() };
}

function say(client: Client): Promise<string> {
  const same = (buffer: Buffer) => buffer;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      echoMethod.path,
      same,
      same,
      Buffer.from('hello'),
      new Metadata(),
      { deadline: Date.now() + 10_000 },
      (error, answer) => (error === null ? resolve(String(answer)) : reject(error)),
    );
  });
}

describe('registerXdsResolver', () => {
  it.each([[`xds:///${SERVICE}`], [`xds:${SERVICE}`]])(
    'makes %s a target whose name is the authority of its calls',
    async (target) => {
      const mesh = await Mesh.start();
      const server = await startAuthorityServer();
      mesh.serve(simpleResources([server.port]));
      const client = new Client(target, credentials.createInsecure());
      try {
        expect(await say(client)).toBe(SERVICE);
      } finally {
        client.close();
        server.stop();
        mesh.stop();
      }
    },
  );
});
