import { Snapshot } from '../../src/control-plane';
import { DisplacingAgent } from './displacing-agent';
import { SERVICE, simpleResources } from '../support/mesh';
import { DoctorWorld } from './doctor-world';

describe('a command behind an agent that keeps one stream', () => {
  let world: DoctorWorld;
  let agent: Awaited<ReturnType<typeof DisplacingAgent.start>>;
  beforeEach(async () => {
    world = new DoctorWorld();
    const address = await world.serveSnapshot(Snapshot.from(simpleResources([1])));
    agent = await DisplacingAgent.start(address, 2);
  });
  afterEach(async () => {
    agent.stop();
    await world.close();
  });

  const NOTE = /ended 2 streams of this command with OK, and got another one: it keeps one stream/;
  const target = `xds:///${SERVICE}`;

  it('doctor opens its stream again, and says so', async () => {
    const { code, findings } = await world.check(world.bootstrap(agent.address), '--no-connect');
    expect(code).toBe(0);
    expect(findings.filter(({ level }) => level === 'fail')).toEqual([]);
    const notes = findings.filter(({ check }) => check === 'one-stream');
    expect(notes).toEqual([
      expect.objectContaining({ level: 'note', text: expect.stringMatching(NOTE) }),
    ]);
  });

  it.each([
    ['explain', [target, 'a.B/C']],
    ['dump', ['--target', target]],
    ['dump', []],
  ])('%s %j opens its stream again, and says so', async (command, args) => {
    const source = ['--control-plane', agent.address];
    expect(await world.io.run(command, ...args, ...source)).toBe(0);
    expect(world.io.out.join('\n')).toContain('echo');
    expect(world.io.errors).toEqual([expect.stringMatching(NOTE)]);
  });
});
