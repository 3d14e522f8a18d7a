import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { simpleResources } from '../support/mesh';
import { RelayScene } from '../relay/relay-scene';
import { makeForeign } from '../support/foreign-socket';
import { DoctorWorld } from './doctor-world';

describe('grpc-xds doctor behind a relay', () => {
  let world: DoctorWorld;
  let scene: RelayScene;
  beforeEach(async () => {
    world = new DoctorWorld();
    scene = await RelayScene.start();
    scene.serve(simpleResources([1]));
  });
  afterEach(async () => {
    scene.stop();
    await world.close();
  });

  const check = () => world.check(world.bootstrap(scene.listen), '--no-connect');

  it('fails with the reason of the relay if it has nothing', async () => {
    void scene.controlPlane.close({ force: true });
    const { findings } = await check();
    const failed = findings.find(({ level }) => level === 'fail');
    expect(failed).toMatchObject({ subject: scene.listen });
    expect(failed?.text).toContain(
      `relay (pid ${process.pid}): management server ${scene.upstream}`,
    );
  });

  it('distinguishes a socket that no process listens on from other files', async () => {
    const path = join(world.folder, 'stale.sock');
    // The socket of a process that was killed stays.
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(world.folder, 'x.sock'), resolve));
    renameSync(join(world.folder, 'x.sock'), path);
    await new Promise((resolve) => server.close(resolve));
    const file = join(world.folder, 'file');
    writeFileSync(file, '');
    const failureAt = async (at: string) => {
      const { findings } = await world.run(world.bootstrap(`unix:${at}`));
      return findings.find(({ check: name }) => name === 'socket');
    };
    expect((await failureAt(path))?.text).toContain('no process listens on the socket any more');
    expect((await failureAt(file))?.text).toContain('there is something else than a socket');
  });
});

describe('grpc-xds doctor and the variables of a relay', () => {
  let world: DoctorWorld;
  let scene: RelayScene;
  let path: string;
  beforeEach(async () => {
    world = new DoctorWorld();
    scene = await RelayScene.start();
    scene.serve(simpleResources([1]));
    path = scene.listen.slice('unix:'.length);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    scene.stop();
    await world.close();
  });

  /** Runs the command with the bootstrap of the control plane. @returns what it finds of the relay. */
  const check = async (env: Readonly<Record<string, string>>) => {
    world.io.env = { ...world.io.env, ...env };
    const args = ['--no-connect', '--timeout', '2'];
    const { findings } = await world.check(world.bootstrap(scene.upstream), ...args);
    return findings
      .filter(({ subject }) => ['relay', scene.listen].includes(subject))
      .map(({ level, check: name, text, remedy = '' }) => `${level} ${name} ${text}: ${remedy}`);
  };
  const env = () => ({ GRPC_XDS_RELAY: scene.listen });

  it('checks the relay before the server', async () => {
    expect(await check(env())).toEqual([
      expect.stringMatching(/^ok server socket \d+ ms, ads \d+ ms/),
    ]);
  });

  it('warns of a socket that other users may connect to', async () => {
    chmodSync(path, 0o620);
    const [, warning] = await check(env());
    expect(warning).toMatch(
      /^warn relay-socket .* belongs to the user \d+ and has the mode 0620: other users may connect/,
    );
  });

  it('says that there is no socket, that nothing listens on it, and that it is another user’s', async () => {
    void scene.relay.close({ force: true });
    expect((await check(env()))[0]).toMatch(
      /^fail socket no connection: .*no process listens on the socket any more: start the agent or relay/,
    );
    const users = makeForeign(path);
    expect((await check(env()))[0]).toBe(
      `fail relay-socket ${path}: the socket belongs to the user ${users}: run the relay as the user of this process, or choose another path: the relay is not used until then, and the servers after it are`,
    );
    rmSync(path);
    expect((await check(env()))[0]).toMatch(/^fail socket no connection: .*start the agent or rel/);
  });

  it('says that the server above the relay cannot be reached', async () => {
    void scene.controlPlane.close({ force: true });
    expect((await check(env())).join()).toContain(
      `the stream ended with UNAVAILABLE: relay (pid ${process.pid}): management server ${scene.upstream}`,
    );
  });

  it('says which variable has no effect', async () => {
    expect(await check({ ...env(), GRPC_XDS_SHARE: path })).toEqual([
      `warn relay-both GRPC_XDS_SHARE takes precedence: GRPC_XDS_RELAY (${scene.listen}) has no effect: unset one of both`,
      expect.stringMatching(/^ok server socket/),
    ]);
    expect(await check({ GRPC_XDS_RELAY: 'unix-abstract:x', GRPC_XDS_SHARE: 'x' })).toEqual([
      expect.stringMatching(/^fail relay-variable GRPC_XDS_RELAY must be unix:\/path/),
      expect.stringMatching(/^warn share-variable GRPC_XDS_SHARE has no effect: it must be /),
    ]);
  });

  it('examines the socket of a share', async () => {
    expect(await check({ GRPC_XDS_SHARE: 'threads' })).toEqual([
      expect.stringMatching(/^note share GRPC_XDS_SHARE=threads: the relay runs in the processes/),
    ]);
    void scene.relay.close({ force: true });
    expect(await check({ GRPC_XDS_SHARE: path })).toEqual([
      `note share GRPC_XDS_SHARE=${path}: the process that had the socket has ended: the next process with this share serves as the relay: `,
    ]);
    chmodSync(path, 0o666);
    expect((await check({ GRPC_XDS_SHARE: path }))[0]).toMatch(
      /^warn share GRPC_XDS_SHARE cannot be used: .*other users may connect to the socket/,
    );
    rmSync(path);
    expect((await check({ GRPC_XDS_SHARE: path }))[0]).toMatch(/^note share .*there is no socket/);
    expect((await check({ GRPC_XDS_SHARE: join(path, 'none', 'x') }))[0]).toMatch(
      /^warn share GRPC_XDS_SHARE cannot be used: .*ENOENT: its folder does not exist/,
    );
  });
});
