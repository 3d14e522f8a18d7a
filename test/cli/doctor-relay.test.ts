import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SERVICE, simpleResources } from '../support/mesh';
import { AdsClient } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { RelayScene } from '../relay/relay-scene';
import { eventually } from '../support/eventually';
import { DoctorWorld, type Diagnosis } from './doctor-world';

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
  const findingsOf = ({ findings }: Diagnosis) =>
    findings
      .filter(({ subject }) => subject === scene.listen)
      .map(({ level, check: name, text }) => `${level} ${name} ${text}`);

  it('shows the hop', async () => {
    const diagnosis = await check();
    expect(diagnosis.code).toBe(0);
    const hop = `relay (pid ${process.pid}) → ${scene.upstream}`;
    expect(findingsOf(diagnosis)).toEqual([
      expect.stringMatching(/^ok server socket \d+ ms, ads \d+ ms, /),
    ]);
    expect(findingsOf(diagnosis)[0]).toContain(hop);
  });

  it('warns of a socket that other users may connect to', async () => {
    chmodSync(scene.listen.slice('unix:'.length), 0o666);
    const [, warning] = findingsOf(await check());
    expect(warning).toMatch(
      /^warn relay-socket .* belongs to the user \d+ and has the mode 0666: other users may connect/,
    );
  });

  it('warns of a server above the relay that cannot be reached, while the relay serves what it has', async () => {
    const client = new AdsClient(scene.listen);
    const stream = client.open();
    stream.subscribe(LDS, [SERVICE], { node: { id: 'a' } });
    await stream.next();
    scene.controlPlane.kill();
    await eventually(
      () => scene.relay.inspect().servers,
      ([server]) => server?.lastError !== undefined,
    );
    const [ok, warning] = findingsOf(
      await world.run(
        world.bootstrap(scene.listen),
        '--target',
        `xds:///${SERVICE}`,
        '--no-connect',
        '--timeout',
        '1',
      ),
    );
    expect(ok).toMatch(/^ok server /);
    expect(warning).toContain(
      `warn relay-upstream relay (pid ${process.pid}) has no stream to ${scene.upstream}: `,
    );
    client.close();
  });

  it('fails with the reason of the relay if it has nothing', async () => {
    scene.controlPlane.kill();
    const { findings } = await check();
    const failed = findings.find(({ level }) => level === 'fail');
    expect(failed).toMatchObject({ check: 'relay-upstream', subject: scene.listen });
    expect(failed?.text).toContain(
      `relay (pid ${process.pid}): management server ${scene.upstream}`,
    );
    expect(failed?.remedy).toContain('grpc-xds relay --admin');
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
