import { inspect } from '../../src';
import { EchoClient } from '../support/echo-backend';
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../support/mesh';

const OPTION = 'grpc_xds.bootstrap';

describe('a channel with a bootstrap of its own', () => {
  let registered: Mesh;
  let other: Mesh;
  const clients: EchoClient[] = [];
  beforeEach(async () => {
    other = await Mesh.start();
    // Last, so that its bootstrap is that of the process.
    registered = await Mesh.start();
    for (const [mesh, name] of [
      [registered, 'registered'],
      [other, 'other'],
    ] as const) {
      const backend = await mesh.backend(name);
      mesh.serve(simpleResources([backend.port]));
    }
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    registered.stop();
    other.stop();
  });

  function clientWith(bootstrap: unknown): EchoClient {
    const client = new EchoClient(`xds:///${SERVICE}`, { [OPTION]: bootstrap });
    clients.push(client);
    return client;
  }

  it('uses its management server, beside channels with that of the process', async () => {
    const bootstrap = bootstrapFor(other.address);
    expect(await clientWith(bootstrap).say()).toBe('other');
    expect(await clientWith(undefined).say()).toBe('registered');
    expect(await clientWith(JSON.stringify(bootstrap)).say()).toBe('other');
    // The same bootstrap, whether text or object, has one client and one stream.
    const servers = inspect().targets.map((target) => target.servers.map((s) => s.serverUri));
    expect(servers.sort()).toEqual([[registered.address], [other.address]].sort());
    expect(other.controlPlane.clients()).toHaveLength(1);
  });

  it('fails its calls alone if the bootstrap cannot be used, with the name of the option', async () => {
    const failures = await Promise.all(
      [{ xds_servers: [] }, '{', 7, { self: undefined, toJSON: () => cyclic() }].map((bootstrap) =>
        clientWith(bootstrap).failure(),
      ),
    );
    expect(failures.map(({ details }) => details.split(' (')[0])).toEqual([
      expect.stringContaining(`channel option ${OPTION} is invalid: xds_servers`) as string,
      expect.stringContaining(`channel option ${OPTION} is not JSON`) as string,
      expect.stringContaining(`channel option ${OPTION} must be an object or JSON text`) as string,
      expect.stringContaining(`channel option ${OPTION} is not JSON`) as string,
    ]);
    expect(await clientWith(undefined).say()).toBe('registered');
  });
});

function cyclic(): object {
  const object: { self?: object } = {};
  object.self = object;
  return object;
}
