import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import type { Json } from '../support/xds-json';

const TYPE = 'type.googleapis.com/envoy';

const lbEndpoint = (port: number): Json => ({
  '@type': `${TYPE}.config.endpoint.v3.LbEndpoint`,
  endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } },
});

/** A collection, which has its name beside it. */
const collection = (name: string, ports: readonly number[]): Json => ({
  '@type': `${TYPE}.service.discovery.v3.Resource`,
  name,
  resource: {
    '@type': `${TYPE}.config.endpoint.v3.LbEndpointCollection`,
    entries: ports.map((port) => ({ inline_entry: { resource: lbEndpoint(port) } })),
  },
});

/** An assignment of one locality, all of whose endpoints are in a collection. */
const assignment: Json = {
  '@type': `${TYPE}.config.endpoint.v3.ClusterLoadAssignment`,
  cluster_name: 'echo',
  endpoints: [
    {
      locality: { zone: 'a' },
      load_balancing_weight: 1,
      leds_cluster_locality_config: {
        leds_config: { self: {} },
        leds_collection_name: 'collected',
      },
    },
  ],
};

describe('endpoints in a collection (gRFC A95)', () => {
  let folder: string;
  let path: string;
  let backends: EchoBackend[];
  let client: EchoClient;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'collections-'));
    path = join(folder, 'resources.json');
    backends = [await EchoBackend.start('first'), await EchoBackend.start('second')];
    process.env.GRPC_EXPERIMENTAL_XDS_ENDPOINT_FALLBACK = 'true';
    const server = { server_uri: pathToFileURL(path).href };
    registerAnew({
      bootstrap: { xds_servers: [server], node: { id: NODE_ID } },
      snapshotPath: join(folder, 'snapshot'),
    });
    client = new EchoClient(`xds:///${SERVICE}`, {});
  });

  afterEach(() => {
    client.close();
    for (const backend of backends) backend.stop();
    rmSync(folder, { recursive: true });
  });

  function write(backend: EchoBackend | undefined): void {
    const { listeners, routes, clusters } = simpleResources([]);
    const typed = (type: string, list: readonly Json[]) =>
      list.map((resource) => ({ '@type': `${TYPE}.config.${type}`, ...resource }));
    const resources = [
      ...typed('listener.v3.Listener', listeners),
      ...typed('route.v3.RouteConfiguration', routes),
      ...typed('cluster.v3.Cluster', clusters),
      assignment,
      collection('collected', [backend?.port ?? 0]),
    ];
    writeFileSync(`${path}.new`, JSON.stringify({ resources }));
    renameSync(`${path}.new`, path);
  }

  it('are kept with everything else for a start without a server', async () => {
    write(backends[0]);
    await client.say();
    await eventually(() => existsSync(join(folder, 'snapshot')), true);
    client.close();
    rmSync(path);
    client = new EchoClient(`xds:///${SERVICE}`, { 'acme.test': 2 });
    await expect(client.say()).resolves.toBe('first');
  });

  it('are called, and those that take their place later, too', async () => {
    write(backends[0]);
    await expect(client.say()).resolves.toBe('first');
    write(backends[1]);
    await eventually(() => client.say(), 'second', 30_000);
  });
});
