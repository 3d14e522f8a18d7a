import { Mesh, SERVICE, simpleResources, VARIANTS, type MeshResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { eventually } from '../support/eventually';
import { aggregateJson } from '../support/failover';
import { Istiod } from '../support/imitated-istiod';

const NEW_SERVICE = 'new.test:50051';
const ROUTES = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';

/** Routes that no client can use. */
const refusedRoutes = routeConfigJson(`${SERVICE}-routes`, [
  { match: { safe_regex: { regex: '(' } }, route: { cluster: 'echo' } },
]);

function newService(port: number): MeshResources {
  return {
    listeners: [listenerJson(NEW_SERVICE)],
    routes: [routeConfigJson(`${NEW_SERVICE}-routes`, [routeToCluster('new')])],
    clusters: [edsClusterJson('new')],
    endpoints: [endpointsJson('new', [{ zone: 'a', ports: [port] }])],
  };
}

function join(a: MeshResources, b: MeshResources): MeshResources {
  return {
    listeners: [...a.listeners, ...b.listeners],
    routes: [...a.routes, ...b.routes],
    clusters: [...a.clusters, ...b.clusters],
    endpoints: [...a.endpoints, ...b.endpoints],
  };
}

// One stream for everything, and as many as there can be.
const ENDS = [0, 3].flatMap((at) => VARIANTS.slice(at, at + 1));

describe.each(ENDS)('a control plane that ignores names in a NACK (%s)', (_name, features) => {
  let mesh: Mesh;
  let rejections = 0;

  beforeEach(async () => {
    rejections = 0;
    const onClientEvent = ({ kind }: { readonly kind: string }) => {
      if (kind === 'nacked') rejections++;
    };
    mesh = await Mesh.startWith({ onClientEvent }, features, Istiod);
  });
  afterEach(() => {
    mesh.stop();
  });

  const streams = () => mesh.controlPlane.clients().map(({ streamId }) => streamId);
  const rejection = () =>
    mesh.controlPlane
      .clients()
      .map(({ types }) => types.get(ROUTES)?.rejection?.message ?? '')
      .join('');

  // 1. The routes of one service are refused, again and again, so that rejections are held back.
  // 2. Another service appears. A client that waits for it until it asks on a new stream has lost a request.
  it('makes a new service callable on the same streams while the routes of another are refused', async () => {
    const [first, second] = [await mesh.backend('b1'), await mesh.backend('b2')];
    const good = simpleResources([first.port]);
    mesh.serve(good);
    const client = mesh.client();
    expect(await client.say()).toBe('b1');
    const refused = { ...good, routes: [refusedRoutes] };
    mesh.serve(refused);
    await eventually(rejection, (text) => text.includes('safe_regex'));
    const push = setInterval(() => mesh.serve(refused), 10);
    try {
      await eventually(() => rejections >= 5, true);
    } finally {
      clearInterval(push);
    }
    const before = streams();
    mesh.serve(join(refused, newService(second.port)));
    expect(await mesh.client({}, `xds:///${NEW_SERVICE}`).say()).toBe('b2');
    expect(streams()).toEqual(before);
    expect(await client.say()).toBe('b1');
  });

  it('sends a cluster that is requested because of the response that is refused', async () => {
    const [first, second] = [await mesh.backend('b1'), await mesh.backend('b2')];
    const good = join(simpleResources([first.port]), newService(first.port));
    mesh.serve(good);
    const client = mesh.client();
    const other = mesh.client({}, `xds:///${NEW_SERVICE}`);
    expect([await client.say(), await other.say()]).toEqual(['b1', 'b1']);
    const before = streams();
    mesh.serve({
      ...good,
      clusters: [
        aggregateJson('echo', ['leaf']),
        edsClusterJson('new', { lb_policy: 'MAGLEV' }),
        edsClusterJson('leaf'),
      ],
      endpoints: [...good.endpoints, endpointsJson('leaf', [{ zone: 'a', ports: [second.port] }])],
    });
    await eventually(() => client.say(), 'b2');
    expect(streams()).toEqual(before);
    expect(await other.say()).toBe('b1');
  });
});
