import { INCIDENTS } from '../../packages/cli/src/commands/demo';
import { DemoMesh } from '../support/demo-mesh';
import { expectNoFailures, readSections, untilClaim, untilStep } from '../support/incident-pages';

jest.setTimeout(300_000);

// One process plays them one after the other: a process for each service takes longer to start than an incident to be seen.
describe('grpc-xds demo --page --incident', () => {
  let shown: DemoMesh;
  let isStarted = false;
  beforeAll(async () => {
    shown = await DemoMesh.start(...INCIDENTS.map((name) => `--incident=${name}`));
  });
  afterAll(() => shown.kill());

  it.each(INCIDENTS)('shows what the documentation says: %s', async (name) => {
    const sections = readSections(name);
    expect(sections.length).toBeGreaterThan(1);
    for (const { title, claims } of sections) {
      if (isStarted) shown.next();
      isStarted = true;
      await untilStep(shown, title);
      expect(claims).not.toEqual([]);
      for (const claim of claims) await untilClaim(shown, title, claim);
    }
  });

  it('ends by itself after the last step, without a failed call', async () => {
    shown.next();
    await expectNoFailures(shown);
  });

  it('ends when the input by which it goes on has ended', async () => {
    const mesh = await DemoMesh.start('--incident=nack');
    mesh.next();
    mesh.endInput();
    const { code, output } = await mesh.closed;
    expect(output).toContain(
      'error: the input has ended: --step goes on by Enter, on a terminal\n',
    );
    expect(code).toBe(2);
  });
});
