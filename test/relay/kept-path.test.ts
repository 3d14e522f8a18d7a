import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { AdsClient } from '../control-plane/ads-client';
import { echo, LDS } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { RelayScene } from './relay-scene';

describe('the socket of a relay that is removed', () => {
  let scene: RelayScene;
  let path: string;
  const clients: AdsClient[] = [];
  const servers: Server[] = [];
  beforeEach(async () => {
    scene = await RelayScene.start();
    scene.serve(echo);
    path = scene.listen.slice('unix:'.length);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    for (const server of servers.splice(0)) server.close();
    scene.stop();
  });

  const connect = async (id: string) => {
    const client = new AdsClient(scene.listen);
    clients.push(client);
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], { node: { id } });
    await stream.next();
  };
  const ids = () => scene.relay.inspect().clients.map(({ nodeId }) => nodeId);
  const lines = () => scene.lines.filter((line) => line.startsWith(`relay ${path}`));
  const untilLogged = (text: string) =>
    eventually(
      () => scene.lines.filter((line) => line.includes(text)),
      (lines) => lines.length > 0,
    );

  it('is created again, while the clients that are connected stay', async () => {
    await connect('before');
    rmSync(path);
    await untilLogged('listens again');
    expect(lines()).toEqual([
      `relay ${path}: its socket was removed or replaced`,
      `relay ${path}: listens again`,
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await connect('after');
    expect(ids()).toEqual(['before', 'after']);
    rmSync(path);
    await eventually(
      () => lines().length,
      (count) => count === 4,
    );
    await connect('third');
    await scene.relay.close();
    expect(existsSync(path)).toBe(false);
  });

  it('stays with another process that has taken it, which is logged once, and returns', async () => {
    await connect('before');
    renameSync(path, `${path}-old`);
    const other = createServer();
    servers.push(other);
    await new Promise<void>((resolve) => other.listen(path, resolve));
    await untilLogged('another process listens on it');
    await new Promise<void>((resolve) => other.close(() => resolve()));
    await untilLogged('listens again');
    expect(lines()).toEqual([
      `relay ${path}: its socket was removed or replaced`,
      `relay ${path}: another process listens on it; the processes that are connected are served, and it is tried again`,
      `relay ${path}: listens again`,
    ]);
    await connect('after');
    expect(ids()).toEqual(['before', 'after']);
  });

  it('is created again when its folder is back', async () => {
    rmSync(scene.folder, { recursive: true });
    await untilLogged('ENOENT: its folder does not exist');
    mkdirSync(scene.folder);
    await untilLogged('listens again');
    await connect('after');
  });

  it('is not created again after the relay has stopped', async () => {
    rmSync(path);
    await untilLogged('was removed');
    void scene.relay.close({ force: true });
    await scene.startRelay();
    await connect('after');
    expect(scene.lines.filter((line) => line.includes('removed'))).toHaveLength(1);
  });
});
