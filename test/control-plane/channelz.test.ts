import {
  addAdminServicesToServer,
  Client,
  credentials,
  getChannelzServiceDefinition,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import { ControlPlane } from '../../src/control-plane';

const { GetServers, GetSocket } = getChannelzServiceDefinition();

interface Method<I, O> {
  readonly path: string;
  requestSerialize(request: I): Buffer;
  responseDeserialize(bytes: Buffer): O;
}

/** A caller of the admin services of this process. */
class ChannelzClient {
  private constructor(
    private readonly server: Server,
    private readonly client: Client,
  ) {}

  static async start(): Promise<ChannelzClient> {
    const server = new Server();
    addAdminServicesToServer(server);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return new ChannelzClient(
      server,
      new Client(`127.0.0.1:${port}`, credentials.createInsecure()),
    );
  }

  call<I, O>({ path, requestSerialize, responseDeserialize }: Method<I, O>, request: I) {
    return new Promise<O>((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        (bytes: Buffer) => ({ value: responseDeserialize(bytes) }),
        request,
        (error, answer) =>
          answer === undefined
            ? reject(new Error('no answer', { cause: error }))
            : resolve(answer.value),
      );
    });
  }

  stop(): void {
    this.client.close();
    this.server.forceShutdown();
  }
}

// grpcdebug, which operators use, panics at a server that listens at no address.
it('has an address for every listening socket in channelz, beside a control plane', async () => {
  const controlPlane = new ControlPlane();
  await controlPlane.start();
  const channelz = await ChannelzClient.start();
  try {
    const { server: servers } = await channelz.call(GetServers, {});
    const refs = servers.flatMap((server) => server.listen_socket);
    const answers = await Promise.all(
      refs.map(({ socket_id }) => channelz.call(GetSocket, { socket_id })),
    );
    expect(answers.length).toBeGreaterThan(0);
    for (const { socket } of answers) expect(socket?.local?.address).toBe('tcpip_address');
  } finally {
    channelz.stop();
    await controlPlane.close();
  }
});
