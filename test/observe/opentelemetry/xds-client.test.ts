import { ClientStats } from '../../../src/runtime/client-stats';
import { processStats } from '../../../src/observe/stats/stats-registry';
import type { ResourceSnapshot, ResourceStatus } from '../../../src/xds-client/client-snapshot';
import { parseResourceName } from '../../../src/xds-client/resource-name';
import { silentLogger } from '../../../src/util/logger';
import { eventually } from '../../support/eventually';
import { Mesh, simpleResources, SERVICE } from '../../support/mesh';
import { MetricsReader, WAYS } from '../../support/metrics-reader';
import { edsClusterJson } from '../../support/xds-json';

jest.setTimeout(60_000);

const PREFIX = 'grpc.xds_client';
const NAMES = [
  'connected',
  'server_failure',
  'resource_updates_valid',
  'resource_updates_invalid',
  'resources',
];
const target = `xds:///${SERVICE}`;
const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const TYPES = [
  CLUSTER,
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.config.listener.v3.Listener',
  'envoy.config.route.v3.RouteConfiguration',
];

describe.each(WAYS)('metrics of the xDS client with a %s', (way) => {
  let mesh: Mesh;
  let reader: MetricsReader;
  beforeEach(async () => {
    mesh = await Mesh.start();
    reader = new MetricsReader(way, {
      disableAllMetrics: true,
      enableMetrics: NAMES.map((name) => `${PREFIX}.${name}`),
    });
  });
  afterEach(async () => {
    mesh.stop();
    await reader.stop();
  });

  const series = async (name: string) =>
    (await reader.series(`${PREFIX}.${name}`)).map((one) => [one.labels, one.value]);
  /** The SDK goes on to export a series that is not observed any more: it is 0 then. */
  const states = async () => (await series('resources')).filter(([, count]) => count !== 0);
  const updates = (type: string) => {
    return {
      'grpc.target': target,
      'grpc.xds.server': mesh.address,
      'grpc.xds.resource_type': type,
    };
  };
  const cached = (type: string, state: string) => {
    return {
      'grpc.target': target,
      'grpc.xds.authority': '#old',
      'grpc.xds.cache_state': state,
      'grpc.xds.resource_type': type,
    };
  };

  it('counts the resources of each type, valid and not, and their states', async () => {
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    expect(await series('connected')).toEqual([
      [{ 'grpc.target': target, 'grpc.xds.server': mesh.address }, 1],
    ]);
    expect(await series('resource_updates_valid')).toEqual(TYPES.map((type) => [updates(type), 1]));
    expect(await series('resource_updates_invalid')).toEqual([]);
    expect(await states()).toEqual(TYPES.map((type) => [cached(type, 'acked'), 1]));
    const bad = edsClusterJson('echo', { lb_policy: 'MAGLEV' });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [bad] });
    await eventually(
      () => series('resource_updates_invalid'),
      (all) => all.length > 0,
    );
    expect(await series('resource_updates_invalid')).toEqual([[updates(CLUSTER), 1]]);
    const nacked = await states();
    expect(nacked).toEqual([
      ...TYPES.slice(1).map((type) => [cached(type, 'acked'), 1]),
      [cached(CLUSTER, 'nacked_but_cached'), 1],
    ]);
  });

  it('counts a failure of the server once, until it answers again', async () => {
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port]);
    mesh.serve(resources);
    await mesh.client().say();
    const server = { 'grpc.target': target, 'grpc.xds.server': mesh.address };
    expect(await series('server_failure')).toEqual([]);
    mesh.killControlPlane();
    await eventually(
      () => series('connected'),
      ([first]) => first?.[1] === 0,
    );
    expect(await series('server_failure')).toEqual([[server, 1]]);
    await mesh.restartControlPlane(resources);
    await eventually(
      () => series('connected'),
      ([first]) => first?.[1] === 1,
    );
    expect(await series('server_failure')).toEqual([[server, 1]]);
  });

  it('reports nothing about a target without channels', async () => {
    const backend = await mesh.backend('one');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    await client.say();
    expect((await states()).length).toBe(4);
    client.close();
    await mesh.untilNoClients();
    expect((await series('connected')).filter(([, value]) => value !== 0)).toEqual([]);
    expect(await states()).toEqual([]);
  });

  it('names the state of a resource that was removed', async () => {
    const backend = await mesh.backend('one');
    const resources = simpleResources([backend.port]);
    mesh.serve(resources);
    await mesh.client().say();
    mesh.serve({ ...resources, listeners: [] });
    const removed = await eventually(
      () => states(),
      (all) => all.length === 1,
    );
    const LISTENER = 'envoy.config.listener.v3.Listener';
    expect(removed).toEqual([[cached(LISTENER, 'does_not_exist'), 1]]);
  });

  it.each<[ResourceStatus, boolean, string]>([
    ['REQUESTED', false, 'requested'],
    ['ACKED', true, 'acked'],
    ['DOES_NOT_EXIST', false, 'does_not_exist'],
    ['DOES_NOT_EXIST', true, 'does_not_exist_but_cached'],
    ['NACKED', false, 'nacked'],
    ['NACKED', true, 'nacked_but_cached'],
    ['RECEIVED_ERROR', false, 'received_error'],
    ['RECEIVED_ERROR', true, 'received_error_but_cached'],
    ['TIMEOUT', false, 'timeout'],
  ])('reports %s (cached: %s) as %s, by authority', async (status, isCached, state) => {
    const resource = (name: string): ResourceSnapshot => {
      return {
        typeUrl: 'type.googleapis.com/test.Thing',
        name,
        status,
        accepted: isCached ? { version: '1', bytes: Buffer.from(''), updatedAtMs: 0 } : undefined,
        failure: undefined,
        watchers: 1,
        waitingSinceMs: undefined,
      };
    };
    const all = ['a', 'b', 'xdstp://traffic/test.Thing/c'].map(resource);
    const client = {
      resources: () => all.values(),
      serverStates: () => [],
      fallbacks: () => [].values(),
    };
    new ClientStats(processStats, silentLogger).observe(client, {
      target,
      parseName: parseResourceName,
    });
    const labels = (authority: string) => {
      return { ...cached('test.Thing', state), 'grpc.xds.authority': authority };
    };
    expect(await states()).toEqual([
      [labels('#old'), 2],
      [labels('traffic'), 1],
    ]);
  });
});
