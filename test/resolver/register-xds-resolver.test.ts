import {
  type CallOptions,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  Server,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { Mesh, SERVICE, simpleResources, targetOf } from '../support/mesh';
import { echoMethod } from '../support/echo-backend';
import { listenerJson } from '../support/xds-json';
import { bind } from '../support/listen';

/** A server that answers with the authority it was called by. */
async function startAuthorityServer(): Promise<{ port: number; stop: () => void }> {
  const server = new Server();
  const say = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
    callback(null, Buffer.from(call.getHost()));
  server.addService({ say: echoMethod }, { say });
  return { port: await bind(server), stop: () => server.forceShutdown() };
}

function say(client: Client, options: CallOptions = {}): Promise<string> {
  const same = (buffer: Buffer) => buffer;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      echoMethod.path,
      same,
      same,
      Buffer.from('hello'),
      new Metadata(),
      { deadline: Date.now() + 10_000, ...options },
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

  async function authorityOf(
    target: string,
    options: ChannelOptions = {},
    callOptions: CallOptions = {},
  ): Promise<string> {
    const client = new Client(target, credentials.createInsecure(), options);
    try {
      return await say(client, callOptions);
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

  it.each([
    ['a b', 'a%20b'],
    ['a|b', 'a%7Cb'],
    ['<x>', '%3Cx%3E'],
    ['"x"', '%22x%22'],
    ["it's", "it's"],
    ['`x`', '%60x%60'],
    ['ü', '%C3%BC'],
    ['\u{1f9ea}', '%F0%9F%A7%AA'],
    ['x?y=1', 'x%3Fy=1'],
    ['x#y', 'x%23y'],
    ['a\\b', 'a%5Cb'],
    ['{a}^b', '%7Ba%7D%5Eb'],
    ['svc.2', 'svc.2'],
    ['127.0.0.1.5', '127.0.0.1.5'],
    ['svc:99999', 'svc:99999'],
    ['svc:http', 'svc:http'],
    [':', ':'],
    ['a%2Fb', 'a%252Fb'],
    ['a%20b', 'a%2520b'],
    ['%zz', '%25zz'],
    ['50%', '50%25'],
    ['a\tb\x01\x7f', 'a%09b%01%7F'],
    ['[::1]', '[::1]'],
    ['[::1', '[::1'],
    ['user@host', 'user@host'],
    ['user:secret@host:1', 'user:secret@host:1'],
    ["-._~!$&'()*+,;=", "-._~!$&'()*+,;="],
    ['x'.repeat(1000), 'x'.repeat(1000)],
    ['\u{1f9ea}'.repeat(100), '%F0%9F%A7%AA'.repeat(100)],
  ])('sends calls to the target of %s with the authority %s', async (name, authority) => {
    mesh.serve({
      ...simpleResources([server.port]),
      listeners: [listenerJson(name, `${SERVICE}-routes`)],
    });
    expect(await authorityOf(targetOf(name))).toBe(authority);
  });
});
