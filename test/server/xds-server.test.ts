import { eventually } from '../support/eventually';
import {
  callServer,
  openStream,
  rbacFilter,
  rdsRoutes,
  serverChain,
  serverRouteConfig,
  inlineRoutes,
  XdsServerWorld,
} from '../support/xds-server-world';
import { routerFilter } from '../support/xds-json';

let world: XdsServerWorld;

beforeEach(async () => {
  world = await XdsServerWorld.start();
});

afterEach(() => world.stop());

const lastState = () => world.states.at(-1)?.state;

it('listens once there is a Listener, and says so', async () => {
  const server = world.server();
  const bound = world.bind(server);
  expect(await world.connects()).toBe('refused');
  world.serve([world.listener()]);
  expect(await bound).toEqual({ error: null, port: world.port });
  expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
  expect(await callServer(world.client())).toBe('OK');
});

it('takes new routes on the connections that there are', async () => {
  const listener = world.listener([serverChain(rdsRoutes('r'))]);
  world.serve([listener], [serverRouteConfig('r')]);
  await world.bind(world.server());
  const client = world.client();
  expect(await callServer(client)).toBe('OK');
  world.serve([listener], [serverRouteConfig('r', [])]);
  const after = await eventually(
    () => callServer(client),
    (status) => status !== 'OK',
  );
  expect(after).toMatch(/^UNAVAILABLE: No route/);
  expect(world.peers.size).toBe(1);
});
