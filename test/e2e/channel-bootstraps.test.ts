import { inspect } from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, simpleResources, type MeshResources } from '../support/mesh';
import { getPage, readPage } from '../support/page-reader';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

const OPTION = 'grpc_xds.bootstrap';
const TARGET = `xds:///${SERVICE}`;

describe('a channel with a bootstrap of its own', () => {
  let registered: Mesh;
  let other: Mesh;
  const clients: EchoClient[] = [];
  beforeEach(async () => {
    // First, so that its bootstrap is that of the process.
    registered = await Mesh.start();
    other = await Mesh.start();
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

  it('has its own config, endpoints and explanation in reports and on the page, and no rates of both', async () => {
    const page = await serveAdminPage({ port: 0 });
    const [first, second] = [await registered.backend('c'), await other.backend('d')];
    registered.serve(clustersNamed('of-registered', first.port));
    other.serve(clustersNamed('of-other', second.port));
    expect(await clientWith(undefined).say()).toBe('c');
    expect(await clientWith(bootstrapFor(other.address)).say()).toBe('d');

    const targets = inspect().targets.map(({ config, policies, servers }) => [
      servers[0]?.serverUri,
      config?.clusters.map(({ name }) => name),
      JSON.stringify(policies).includes(`:${second.port}`),
    ]);
    expect(targets.sort()).toEqual(
      [
        [registered.address, ['of-registered'], false],
        [other.address, ['of-other'], true],
      ].sort(),
    );
    for (const [target, cluster] of [
      [TARGET, 'of-registered'],
      [`${TARGET} #2`, 'of-other'],
    ] as const) {
      const query = new URLSearchParams({ target, method: '/test.Echo/Say', headers: '' });
      const { text } = await getPage(page, `/api/explain?${query.toString()}`);
      expect(text).toContain(cluster);
      const views = ['targets', 'graph', 'routes'].map((name) => `view=${name}`).join('&');
      const stream = await readPage(page, `${views}&target=${encodeURIComponent(target)}`);
      await eventually(() => stream.messages.length > 0, true);
      const rowsOf = (name: string) => stream.messages[0]?.data.views[name]?.rows ?? [];
      stream.request.destroy();
      const graph = rowsOf('graph');
      const isCluster = ({ kind, column }: (typeof graph)[number]) =>
        kind === 'node' && column === 'cluster';
      expect(graph.filter(isCluster)).toMatchObject([{ name: cluster }]);
      expect(rowsOf('routes')[0]).not.toHaveProperty('rate');
      expect(rowsOf('targets')).toMatchObject([
        { id: '#all' },
        { sameTarget: 2 },
        { sameTarget: 2 },
      ]);
    }
    await page.close();
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

/** A target whose only cluster has a name and an endpoint. */
function clustersNamed(name: string, port: number): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(name)])],
    clusters: [edsClusterJson(name)],
    endpoints: [endpointsJson(name, [{ zone: 'z', ports: [port] }])],
  };
}

function cyclic(): object {
  const object: { self?: object } = {};
  object.self = object;
  return object;
}
