import { Mesh, simpleResources } from '../support/mesh';

describe('A second register({ bootstrap })', () => {
  let first: Mesh;
  let second: Mesh | undefined;

  beforeEach(async () => {
    first = await serving('first');
    second = undefined;
  });
  afterEach(() => {
    first.stop();
    second?.stop();
  });

  /** Registers a bootstrap with a control plane of its own, whose only backend has the given name. */
  async function serving(name: string): Promise<Mesh> {
    const mesh = await Mesh.start();
    const backend = await mesh.backend(name);
    mesh.serve(simpleResources([backend.port]));
    return mesh;
  }

  it('leaves a channel that was made before and not used yet with the first bootstrap', async () => {
    const early = first.client({ 'acme.test': 1 });
    second = await serving('second');
    expect(await early.say()).toBe('first');
    expect(await second.client({ 'acme.test': 2 }).say()).toBe('second');
  });

  it('leaves a channel that goes idle and comes back with the first bootstrap', async () => {
    const early = first.client({ 'grpc.client_idle_timeout_ms': 1000 });
    expect(await early.say()).toBe('first');
    await first.untilNoClients();
    second = await serving('second');
    expect(await early.say()).toBe('first');
    expect(second.controlPlane.clients()).toEqual([]);
  });
});
