import { eventually } from '../support/eventually';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  openStream,
  rbacFilter,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  useServerWorld,
} from '../support/xds-server-world';

const world = useServerWorld();

const TYPE = 'type.googleapis.com';
const ownRoute: Json = { match: { prefix: '' }, non_forwarding_action: {} };

/** Waits for the status that a call has after an update. */
function becomes(expected: RegExp | string, call = () => callServer(world.client())) {
  return eventually(call, (status) =>
    typeof expected === 'string' ? status === expected : expected.test(status),
  );
}

describe('routes by RDS', () => {
  const listener = () => world.listener([serverChain(rdsRoutes('r'))]);

  it('that are rejected fail their calls with the reason, and the last good ones stay in use', async () => {
    const invalid = { match: {}, non_forwarding_action: {} };
    world.serve([listener()], [serverRouteConfig('r', [invalid])]);
    expect((await world.bind(world.server())).error).toBeNull();
    const client = world.client();
    const call = () => callServer(client);
    expect(await call()).toBe('UNAVAILABLE: this server has no routes for the request');
    world.serve([listener()], [serverRouteConfig('r')]);
    await becomes('OK', call);
    world.serve([listener()], [serverRouteConfig('r', [invalid])]);
    const typeUrl = `${TYPE}/envoy.config.route.v3.RouteConfiguration`;
    await eventually(
      () => world.controlPlane.clients()[0]?.types.get(typeUrl)?.rejection,
      (rejection) => rejection !== undefined,
    );
    expect(await call()).toBe('OK');
    world.serve([listener()], [serverRouteConfig('r', [])]);
    await becomes('UNAVAILABLE: no route of this server matches the request', call);
    world.serve([listener()], [serverRouteConfig('r')]);
    await becomes('OK', call);
    expect(world.peers.size).toBe(1);
    expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
  });

  it('replace none of a call that has begun', async () => {
    world.serve([listener()], [serverRouteConfig('r')]);
    await world.bind(world.server());
    const client = world.client();
    const stream = openStream(client);
    const echo = () =>
      new Promise<void>((resolve) => {
        stream.once('data', () => resolve());
        stream.write(Buffer.from('x'));
      });
    await echo();
    const forward = { match: { prefix: '' }, route: { cluster: 'c' } };
    world.serve([listener()], [serverRouteConfig('r', [forward])]);
    await becomes('UNAVAILABLE: the route of the request is not one that a server handles', () =>
      callServer(client),
    );
    await echo();
    stream.end();
    stream.resume();
    await new Promise((resolve) => stream.once('end', resolve));
  });
});

describe('overrides of HTTP filters', () => {
  const perRoute = (rbac?: Json): Json => ({
    '@type': `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBACPerRoute`,
    ...(rbac && { rbac }),
  });
  const deny = {
    rules: {
      action: 'DENY',
      policies: { p: { permissions: [{ any: true }], principals: [{ any: true }] } },
    },
  };
  const off = perRoute();
  const on = perRoute(deny);
  const filters = ['one', 'two'].map((name) => ({ ...rbacFilter('DENY', [{ any: true }]), name }));

  it('that come and go by RDS apply to the next calls', async () => {
    const manager = { ...rdsRoutes('r'), http_filters: [filters[0], routerFilter] };
    const listener = world.listener([serverChain(manager)]);
    const routes = (override?: Json) =>
      serverRouteConfig('r', [
        { ...ownRoute, ...(override && { typed_per_filter_config: { one: override } }) },
      ]);
    world.serve([listener], [routes()]);
    await world.bind(world.server());
    const client = world.client();
    const call = () => callServer(client);
    expect(await call()).toMatch(/^PERMISSION_DENIED/);
    world.serve([listener], [routes(off)]);
    await becomes('OK', call);
    world.serve([listener], [routes(on)]);
    await becomes(/^PERMISSION_DENIED/, call);
    world.serve(
      [listener],
      [routes({ '@type': `${TYPE}/envoy.config.route.v3.FilterConfig`, disabled: true })],
    );
    await becomes('OK', call);
    world.serve([listener], [routes()]);
    await becomes(/^PERMISSION_DENIED/, call);
  });

  it('of another type than the filter fail the calls', async () => {
    const fault = { '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault` };
    const routes = [{ ...ownRoute, typed_per_filter_config: { one: fault } }];
    const manager = { ...inlineRoutes(routes), http_filters: [filters[0], routerFilter] };
    world.serve([world.listener([serverChain(manager)])]);
    await world.bind(world.server());
    expect(await callServer(world.client())).toMatch(
      /^UNAVAILABLE: the request cannot be evaluated$/,
    );
  });
});

it('the virtual host is that of the authority, whatever its case, and no other one', async () => {
  const virtual_hosts = [
    { name: 'a', domains: ['Shop.example', 'shop.example:80'], routes: [ownRoute] },
    { name: 'b', domains: ['*.example'], routes: [] },
  ];
  world.serve([world.listener([serverChain({ route_config: { virtual_hosts } })])]);
  await world.bind(world.server());
  const call = async (authority: string) => {
    const client = world.client(undefined, undefined, { 'grpc.default_authority': authority });
    return (await callServer(client)).slice(0, 40);
  };
  expect(await call('sHOP.Example')).toBe('OK');
  expect(await call('shop.example:80')).toBe('OK');
  expect(await call('shop.example:81')).toMatch(/^UNAVAILABLE: no virtual host/);
  expect(await call('shop.example.')).toMatch(/^UNAVAILABLE: no virtual host/);
  expect(await call('x.example')).toMatch(/^UNAVAILABLE: no route/);
  expect(await call('other')).toMatch(/^UNAVAILABLE: no virtual host/);
});
