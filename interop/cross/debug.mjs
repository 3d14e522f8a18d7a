// What operators see of a process by its admin services: a client of this package and one of grpc-go, with the same
// resources of one control plane, must show the same states. The calls are those that grpcdebug makes, with its demands:
// `xds status` and `xds config` need exactly one client, and `channelz servers` an address of every socket.
import { isDeepStrictEqual } from 'node:util';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  route,
  routeConfig,
  SERVICE,
} from '../harness/resources.mjs';
import { createMaintenanceServer, listen } from '../lib/serving.mjs';
import { call, until } from './judging.mjs';

const TARGET = `xds:///${SERVICE}`;
/** Nothing listens there. */
const UNREACHABLE = '127.0.0.1:1';

const byHeader = (name) => route({ prefix: '', headers: [{ name, present_match: true }] }, name);

const routesTo = (names) => [...names.map(byHeader), anyRoute('main')];

/** All is well, but for the endpoint of one cluster. */
const goodResources = ([server, other]) => ({
  listeners: [listener()],
  routes: [routeConfig(routesTo(['broken', 'removed']))],
  clusters: ['main', 'broken', 'removed'].map((name) => cluster(name)),
  endpoints: [
    assignment('main', { servers: [server] }),
    assignment('broken', { servers: [{ port: 1 }] }),
    assignment('removed', { servers: [other] }),
  ],
});

/** One cluster is rejected, one is gone, and the endpoints of a new one are not sent. */
const badResources = ([server]) => ({
  listeners: [listener()],
  routes: [routeConfig(routesTo(['broken', 'removed', 'waiting']))],
  clusters: [cluster('main', { lb_policy: 'MAGLEV' }), cluster('broken'), cluster('waiting')],
  endpoints: [
    assignment('main', { servers: [server] }),
    assignment('broken', { servers: [{ port: 1 }] }),
  ],
});

const EXPECTED = [
  'Cluster broken ACKED',
  'Cluster main NACKED',
  'Cluster removed DOES_NOT_EXIST',
  'Cluster waiting ACKED',
  'ClusterLoadAssignment broken ACKED',
  'ClusterLoadAssignment main ACKED',
  'ClusterLoadAssignment waiting REQUESTED',
  `Listener ${SERVICE} ACKED`,
  'RouteConfiguration routes ACKED',
];

const demandEqual = (actual, expected, what) => {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(
    `${what}: ${JSON.stringify(actual, null, 1)}, not ${JSON.stringify(expected, null, 1)}`,
  );
};

const linesOf = ({ resources }) =>
  resources.map(({ type, name, status }) => `${type.split('.').at(-1)} ${name} ${status}`).sort();

/** The channels that both have: by their target, the state, and the states of subchannels by their connections. */
const channelsOf = ({ channels }, targets) =>
  channels
    .filter(({ target }) => targets.some((one) => target.endsWith(one)))
    .map(({ target, state, subchannels }) => ({
      target: targets.find((one) => target.endsWith(one)),
      state,
      subchannels: subchannels.map((one) => `${one.state} ${one.sockets.join()}`.trim()).sort(),
    }))
    .sort((a, b) => (a.target < b.target ? -1 : 1));

/** A client with its admin services, and the answers of the calls of grpcdebug. */
const startClient = async (name, { peers, address, debug }) => {
  const client = await peers.client(name, address);
  const admin = await client.ask({ do: 'admin' });
  return { name, client, ask: (what) => debug.ask({ do: what, address: admin.address }) };
};

const connect = async ({ client }) => {
  await call(client, TARGET, 3);
  const options = { do: 'call', target: TARGET, timeoutMs: 20_000, failFast: true };
  await client.ask({ ...options, count: 1, headers: { broken: '1' } });
  await client.ask({ do: 'watch', target: `dns:///${UNREACHABLE}` });
};

const compareChannels = async (clients, servers, controlPlane) => {
  const targets = [TARGET, UNREACHABLE, controlPlane];
  const expected = [
    {
      target: UNREACHABLE,
      state: 'TRANSIENT_FAILURE',
      subchannels: ['TRANSIENT_FAILURE'],
    },
    { target: controlPlane, state: 'READY', subchannels: [`READY ${controlPlane}`] },
    {
      target: TARGET,
      state: 'READY',
      subchannels: [
        ...servers.map(({ port }) => `READY 127.0.0.1:${port}`).sort(),
        'TRANSIENT_FAILURE',
      ],
    },
  ];
  for (const { name, ask } of clients) {
    const sorted = [...expected].sort((a, b) => (a.target < b.target ? -1 : 1));
    await until(
      async () => channelsOf(await ask('channels'), targets),
      (channels) => isDeepStrictEqual(channels, sorted),
      `channels of ${name} as ${JSON.stringify(sorted)}`,
    );
  }
};

const compareVersions = async (clients) => {
  const [own, other] = await Promise.all(clients.map(({ ask }) => ask('xds status')));
  const sorted = ({ resources }) =>
    [...resources].sort((a, b) => (`${a.type}${a.name}` < `${b.type}${b.name}` ? -1 : 1));
  demandEqual(sorted(own), sorted(other), 'resources and versions');
};

/** Each resource that has a value, with the content that the control plane sent. */
const compareConfigs = async (clients) => {
  const [own, other] = await Promise.all(clients.map(({ ask }) => ask('xds config')));
  const contentsOf = ({ config }) =>
    Object.fromEntries(
      config.config[0].genericXdsConfigs
        .map(({ typeUrl, name, xdsConfig = null }) => [`${typeUrl} ${name}`, xdsConfig])
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  demandEqual(contentsOf(own), contentsOf(other), 'contents');
};

/** In this process there is a control plane, too. */
const readOwnServers = async (debug) => {
  const { server } = createMaintenanceServer();
  const address = `127.0.0.1:${await listen(server, '127.0.0.1:0')}`;
  try {
    const { servers } = await debug.ask({ do: 'servers', address });
    const own = servers.filter(({ listens }) => listens.includes(address));
    demandEqual(own.length, 1, 'servers at the address of the admin services');
    demandEqual(own[0].sockets.length, 1, 'connections of the debugger');
  } finally {
    server.forceShutdown();
  }
};

const run = async ({ peers, servers, step }) => {
  const controlPlane = new ControlPlane({ snapshot: Snapshot.from(goodResources(servers)) });
  const { address } = await controlPlane.start();
  const debug = await peers.debugger();
  const started = [];
  try {
    for (const name of ['node', 'go']) {
      started.push(await startClient(name, { peers, address, debug }));
    }
    for (const client of started) await connect(client);
    await step('health', async () => {
      for (const { ask } of started)
        demandEqual(await ask('health'), { status: 'SERVING' }, 'health');
    });
    await step('channelz: channels, subchannels and sockets', () =>
      compareChannels(started, servers.slice(0, 2), address),
    );
    await step('channelz: servers', async () => {
      for (const { ask } of started) await ask('servers');
    });
    await step('channelz: servers, beside a control plane', () => readOwnServers(debug));
    await step('xds status: versions', () => compareVersions(started));
    await step('xds config', () => compareConfigs(started));
    controlPlane.setSnapshot(Snapshot.from(badResources(servers)), { allowInconsistent: true });
    await step('xds status: ACKED, NACKED, DOES_NOT_EXIST, REQUESTED', async () => {
      for (const { name, ask } of started) {
        await until(
          async () => linesOf(await ask('xds status')),
          (lines) => EXPECTED.every((line) => lines.includes(line)),
          `resources of ${name} as ${EXPECTED.join(', ')}`,
        );
      }
    });
  } finally {
    for (const { client } of started) await client.stop();
    await debug.stop();
    await controlPlane.close();
  }
};

export const debugCases = [
  { name: 'grpcdebug: the same states as grpc-go', languages: ['go'], run },
];
