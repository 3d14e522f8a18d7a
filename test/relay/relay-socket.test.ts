import { chmodSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { inspect } from '../../src';
import { SocketGuard } from '../../src/transport/socket-guard';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { makeForeign } from '../support/foreign-socket';
import { bootstrapFor, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { RelayScene } from './relay-scene';

describe('the socket of a relay in GRPC_XDS_RELAY', () => {
  let scene: RelayScene;
  let backend: EchoBackend;
  let path: string;
  const clients: EchoClient[] = [];

  beforeEach(async () => {
    scene = await RelayScene.start();
    backend = await EchoBackend.start('a');
    scene.serve(simpleResources([backend.port]));
    path = scene.listen.slice('unix:'.length);
    process.env['GRPC_XDS_RELAY'] = scene.listen;
    registerAnew({ bootstrap: bootstrapFor(scene.upstream) });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    delete process.env['GRPC_XDS_RELAY'];
    for (const client of clients.splice(0)) client.close();
    backend.stop();
    scene.stop();
    registerAnew({});
  });

  const call = async () => {
    const client = new EchoClient(`xds:///${SERVICE}`);
    clients.push(client);
    expect(await client.say()).toBe('a');
  };
  const servers = () => inspect().targets.flatMap(({ servers: all }) => all);

  it('is used if it is this user’s', async () => {
    await call();
    expect(servers().map(({ serverUri }) => serverUri)).toEqual([scene.listen]);
    expect(scene.relay.inspect().clients).toHaveLength(1);
  });

  it.each<[string, () => string]>([
    [
      'is another user’s',
      () => `${path}: the socket belongs to the user ${makeForeign(path)}: run`,
    ],
    [
      'is open to all users',
      () => {
        chmodSync(path, 0o666);
        return `${path}: other users may connect to the socket, which has the mode 0666`;
      },
    ],
    [
      'is a link',
      () => {
        renameSync(path, `${path}2`);
        symlinkSync(`${path}2`, path);
        return `${path}: there is a symbolic link`;
      },
    ],
  ])('is not connected to if it %s, and the server is used', async (_, prepare) => {
    const text = prepare();
    await call();
    const [relay, server] = servers();
    expect(relay?.lastError).toContain(text);
    expect(server).toMatchObject({ serverUri: scene.upstream });
    expect(scene.relay.inspect().clients).toHaveLength(0);
  });

  it('is not used if it was replaced while this process connected to it', async () => {
    const guard = new SocketGuard(path);
    guard.onConnecting();
    guard.onConnected();
    guard.onConnecting();
    void scene.relay.close({ force: true });
    rmSync(path);
    await scene.startRelay();
    expect(() => guard.onConnected()).toThrow(`${path}: the socket was replaced while`);
    guard.onConnecting();
    guard.onConnected();
  });
});
