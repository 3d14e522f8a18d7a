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
import { listenerJson, routeToCluster } from '../support/xds-json';

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
  let mesh: Mesh;
  let server: Awaited<ReturnType<typeof startAuthorityServer>>;

  beforeEach(async () => {
    mesh = await Mesh.start();
    server = await startAuthorityServer();
  });
  afterEach(() => {
    server.stop();
    mesh.stop();
  });

  async function authorityOf(target: string): Promise<string> {
    const client = new Client(target, credentials.createInsecure());
    try {
      return await say(client);
    } finally {
      client.close();
    }
  }

  it.each([[`xds:///${SERVICE}`], [`xds:${SERVICE}`]])(
    'makes %s a target whose name is the authority of its calls',
    async (target) => {
      mesh.serve(simpleResources([server.port]));
      expect(await authorityOf(target)).toBe(SERVICE);
    },
  );

  it('percent-encodes a slash in the name for the authority and the virtual host', async () => {
    const resources = simpleResources([server.port]);
    const routes = [routeToCluster('echo')];
    const virtual_hosts = [{ name: 'encoded', domains: ['team%2Fecho'], routes }];
    mesh.serve({
      ...resources,
      listeners: [listenerJson('team/echo')],
      routes: [{ name: 'team/echo-routes', virtual_hosts }],
    });
    expect(await authorityOf('xds:///team/echo')).toBe('team%2Fecho');
  });
});
