import { addAdminServicesToServer, Server } from '@grpc/grpc-js';
import { inspect, type LogRecord } from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { eventually } from '../support/eventually';
import { bootstrapFor, NODE_ID, registerAnew, targetOf, useMesh } from '../support/mesh';
import { readPage } from '../support/page-reader';
import { StatusClient } from '../support/status-client';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { bind } from '../support/listen';

/** Names that are legal, and the way that texts show them in quotes. */
const NAMES: readonly (readonly [name: string, shown: string])[] = [
  ['two words', 'two words'],
  ['a%2Fb', 'a%2Fb'],
  ['a%252Fb', 'a%252Fb'],
  ['100%', '100%'],
  ['what?x=1&y=2', 'what?x=1&y=2'],
  ['ünïcode-名', 'ünïcode-名'],
  ['a|b', 'a|b'],
  ['a"b', 'a\\"b'],
  ['a": gone; Cluster "b', 'a\\": gone; Cluster \\"b'],
  ['back\\slash', 'back\\\\slash'],
  ['<x>&amp;', '<x>&amp;'],
  ['a#b', 'a#b'],
  ['a:b:80', 'a:b:80'],
  ['a/b//c', 'a/b//c'],
  ["it's", "it's"],
  ['{a}', '{a}'],
  ['$&', '$&'],
  ['__proto__', '__proto__'],
];

/** Those that a text in quotes could end, or that a replacement could take for its own. */
const AMBIGUOUS = NAMES.filter(([name, shown]) => name !== shown || /[$%_]/.test(name));

describe('resources with unusual names', () => {
  const mesh = useMesh();
  let lines: string[];

  beforeEach(() => {
    lines = [];
    const log = ({ message }: LogRecord) => void lines.push(message);
    registerAnew({ bootstrap: bootstrapFor(mesh.address), logger: { level: 'error', log } });
  });
  afterEach(() => {
    registerAnew({});
  });

  const resourcesOf = (name: string, ports: readonly number[]) => ({
    listeners: [listenerJson(name, `${name} routes`)],
    routes: [routeConfigJson(`${name} routes`, [routeToCluster(`${name} cluster`)])],
    clusters: [
      edsClusterJson(`${name} cluster`, {
        eds_cluster_config: { eds_config: { ads: {} }, service_name: `${name} service` },
      }),
    ],
    endpoints: [endpointsJson(`${name} service`, [{ zone: 'a', ports }])],
  });

  it.each(NAMES)('serves calls of %s, and shows it as it is', async (name) => {
    const target = targetOf(name);
    const backend = await mesh.backend('here');
    mesh.serve(resourcesOf(name, [backend.port]));
    expect(await mesh.client({}, target).say()).toBe('here');

    const names = [name, `${name} cluster`, `${name} routes`, `${name} service`].sort();
    const [report] = inspect({ target }).targets;
    expect(report).toMatchObject({ target, state: 'ready' });
    expect(report?.resources.map((resource) => resource.name).sort()).toEqual(names);

    const page = await serveAdminPage({ port: 0 });
    const stream = await readPage(page, `view=resources&target=${encodeURIComponent(target)}`);
    const rows = await eventually(
      () => stream.messages.flatMap(({ data }) => data.views['resources']?.rows ?? []),
      ({ length }) => length === 4,
    );
    expect(rows.map((row) => row['name']).sort()).toEqual(names);
    await page.close();

    const admin = new Server();
    addAdminServicesToServer(admin);
    const port = await bind(admin);
    const csds = new StatusClient(`127.0.0.1:${port}`);
    const { config } = await csds.fetch();
    csds.close();
    admin.forceShutdown();
    expect(config).toMatchObject([{ client_scope: target }]);
    expect(config[0]?.generic_xds_configs.map((resource) => resource.name).sort()).toEqual(names);
    expect(lines).toEqual([]);
  });

  it.each(AMBIGUOUS)('says without ambiguity what fails of %s', async (name, shown) => {
    const target = targetOf(name);
    const backend = await mesh.backend('here');
    const good = resourcesOf(name, [backend.port]);
    mesh.serve({ ...good, endpoints: [endpointsJson(`${name} service`, [])] });
    const client = mesh.client({}, target);
    const empty = await client.failure();
    expect(empty.details).toContain(`Cluster "${shown} cluster"`);
    mesh.serve({ ...good, clusters: [] });
    const gone = await eventually(
      () => client.failure(),
      ({ details }) => details.includes('removed it'),
    );
    expect(gone.details).toContain(`Cluster "${shown} cluster": no such resource: `);
    expect(gone.details).toContain(`(node "${NODE_ID}")`);
    mesh.serve({ ...good, routes: [routeConfigJson(`${name} routes`, [])] });
    const unrouted = await eventually(
      () => client.failure(),
      ({ details }) => details.includes('No route'),
    );
    expect(unrouted.details).toContain(`RouteConfiguration "${shown} routes"`);
    expect(unrouted.details).toContain(`Listener "${shown}"`);
    mesh.serve({ ...good, listeners: [] });
    const line = await eventually(
      () => lines.find((text) => text.includes('no configuration')),
      (text) => text !== undefined,
    );
    expect(line).toContain(`Listener "${shown}": no such resource`);
  });
});
