import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, VARIANTS, useMesh } from '../support/mesh';

describe.each(VARIANTS)('configuration by the variant %s', (_name, features) => {
  const mesh = useMesh({ features });

  const types = () => mesh.controlPlane.clients().flatMap((client) => [...client.types.values()]);
  const isAnswer = (expected: string) => (answer: string) => answer === expected;

  it('comes, changes, goes and comes back', async () => {
    const [first, second] = [await mesh.backend('b1'), await mesh.backend('b2')];
    mesh.serve(simpleResources([first.port]));
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    mesh.serve(simpleResources([second.port]));
    await eventually(() => client.say(), isAnswer('b2'));
    mesh.serve({ listeners: [], routes: [], clusters: [], endpoints: [] });
    const outcome = () => client.say().catch((error: Error) => error.message);
    await eventually(outcome, (text) => text.includes('no such resource'));
    mesh.serve(simpleResources([first.port]));
    await eventually(outcome, isAnswer('b1'));
  });

  it('outlives the control plane, and is taken up again by the next one', async () => {
    const [first, second] = [await mesh.backend('b1'), await mesh.backend('b2')];
    mesh.serve(simpleResources([first.port]));
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    mesh.killControlPlane();
    for (let call = 0; call < 10; call++) expect(await client.say()).toBe('b1');
    await mesh.restartControlPlane(simpleResources([second.port]));
    await eventually(() => client.say(), isAnswer('b2'));
  });

  it('stays as it was when an update is rejected, and what is wrong is told', async () => {
    const [first, second] = [await mesh.backend('b1'), await mesh.backend('b2')];
    const good = simpleResources([first.port]);
    mesh.serve(good);
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    const clusters = good.clusters.map((cluster) => ({ ...cluster, lb_policy: 'MAGLEV' }));
    mesh.serve({ ...good, clusters });
    const rejection = () =>
      types()
        .map((type) => type.rejection?.message ?? '')
        .join('');
    await eventually(rejection, (text) => text.includes('lb_policy'));
    expect(await client.say()).toBe('b1');
    mesh.serve(simpleResources([second.port]));
    await eventually(() => client.say(), isAnswer('b2'));
    await eventually(rejection, isAnswer(''));
  });

  it('is asked for by name only', async () => {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    expect(types().map(({ wildcard }) => wildcard)).toEqual([false, false, false, false]);
    const names = types().flatMap(({ subscribed }) => subscribed);
    expect(names.sort()).toEqual(['echo', 'echo', SERVICE, `${SERVICE}-routes`].sort());
  });
});
