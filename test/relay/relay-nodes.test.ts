import { status } from '@grpc/grpc-js';
import {
  Snapshot,
  type ClientEvent,
  type ClientNode,
  type ControlPlaneOptions,
  type SnapshotInput,
} from '../../src/control-plane';
import { NODE_LINGER_MS } from '../../packages/relay/src/limits';
import { AdsClient } from '../control-plane/ads-client';
import { DeltaClient } from '../control-plane/delta-client';
import { OfficialClient } from '../control-plane/official-client';
import { CDS, cluster, echo } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { TimerSwitch } from '../support/fast-clock';
import { DISTANT_VARIANTS } from '../support/mesh';
import { openRawWorld, type RawWorld } from './raw-world';
import { RelayScene } from './relay-scene';

const LRS = 'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';

/** A node with metadata, whose members can be in any order. */
function nodeOf(id: string, order: readonly string[] = ['A', 'B']): object {
  const fields = order.map((key) => [key, { stringValue: `${id}-${key}` }] as const);
  const nested = { structValue: { fields: Object.fromEntries(fields) } };
  return {
    id,
    cluster: `cluster-${id}`,
    locality: { region: 'r', zone: 'z', sub_zone: id },
    metadata: { fields: { nested, NAMES: { listValue: { values: [{ numberValue: 1.5 }] } } } },
  };
}

describe.each(DISTANT_VARIANTS)('a relay with the nodes of its clients: %s', (_name, features) => {
  let scene: RelayScene;
  let worlds: RawWorld[];
  let nodes: ClientNode[];
  /** The node and the calls of each report. */
  let loads: Set<string>;

  beforeEach(async () => {
    worlds = [];
    nodes = [];
    loads = new Set();
    const options: ControlPlaneOptions = {
      groupOf: (node) => {
        nodes.push(node);
        return node.id;
      },
      loadReporting: { intervalMs: 50 },
      onLoadReport: ({ nodeId }, { clusters }) => {
        for (const { localities } of clusters) {
          for (const { issued } of localities) if (issued > 0) loads.add(`${nodeId} ${issued}`);
        }
      },
    };
    scene = await RelayScene.start(options, features, { node: 'clients', maxNodes: 2 });
  });
  afterEach(() => {
    for (const world of worlds) world.close();
    scene.stop();
  });

  function open(node: object, names: readonly string[], isDelta = false): RawWorld {
    const world = openRawWorld(isDelta, scene.listen, node);
    worlds.push(world);
    world.subscribe(names);
    return world;
  }

  const serveNode = (group: string, input: SnapshotInput) =>
    scene.controlPlane.setSnapshot(Snapshot.from(input), { group, allowInconsistent: true });
  /** Streams of one type have the node each. */
  const distinct = (all: readonly ClientNode[]) => [
    ...new Map(all.map((node) => [node.id, node])).values(),
  ];
  const has = (world: RawWorld, ...names: readonly string[]) =>
    eventually(
      () => [...world.describe().matchAll(/\["([^"]*)"/g)].map(([, name]) => name),
      (found) => found.join() === names.join(),
    );
  const connected = () => scene.controlPlane.clients().map(({ nodeId }) => nodeId);

  it('has a stream for each distinct node, with the identity of the client', async () => {
    scene.serve({ clusters: [cluster('a'), cluster('b')] });
    await has(open(nodeOf('n'), ['a']), 'a');
    await has(open(nodeOf('n', ['B', 'A']), ['b'], true), 'b');
    await has(open(nodeOf('m'), ['a', 'b'], true), 'a', 'b');
    expect(connected()).toEqual(['n', 'm']);
    expect(distinct(nodes)).toEqual(
      ['n', 'm'].map((id) =>
        expect.objectContaining({
          id,
          cluster: `cluster-${id}`,
          locality: { region: 'r', zone: 'z', subZone: id },
          metadata: { nested: { A: `${id}-A`, B: `${id}-B` }, NAMES: [1.5] },
          userAgentName: 'grpc-xds (relay)',
        }),
      ),
    );
    const { nodes: reported, servers } = scene.relay.inspect();
    expect(reported.map(({ nodeId, clients }) => [nodeId, clients])).toEqual([
      ['n', 2],
      ['m', 1],
    ]);
    expect(servers).toHaveLength(1);
  });

  it('keeps the resources and the rejections of nodes apart', async () => {
    serveNode('n', { clusters: [cluster('x')] });
    const changed = { ...cluster('x'), lb_policy: 'RING_HASH' as const };
    serveNode('m', { clusters: [changed, cluster('y')] });
    const picky = open(nodeOf('n'), ['x']);
    const other = open(nodeOf('m'), ['x', 'y'], true);
    await Promise.all([has(picky, 'x'), has(other, 'x', 'y')]);
    expect(picky.describe()).not.toBe(other.describe());
    picky.rejectNext('the field x is bad');
    serveNode('n', { clusters: [{ ...cluster('x'), lb_policy: 'RANDOM' as const }] });
    const nacked = () => scene.events.filter(({ kind }) => kind === 'nacked');
    await eventually(nacked, ({ length }) => length > 0);
    expect(nacked().map(({ client }) => client.nodeId)).toEqual(['n']);
  });

  it('refuses further nodes, until one has had no client for a minute or is the oldest without', async () => {
    scene.serve(echo);
    const first = open(nodeOf('a'), ['echo']);
    const second = open(nodeOf('b'), ['echo']);
    await Promise.all([has(first, 'echo'), has(second, 'echo')]);
    const sotw = new AdsClient(scene.listen);
    const delta = new DeltaClient(scene.listen);
    const lrs = new OfficialClient(scene.listen);
    const [ads, incremental] = [sotw.open(), delta.open()];
    const loads = lrs.call<object>(LRS);
    ads.subscribe(CDS, ['echo'], { node: nodeOf('c') });
    incremental.send(CDS, { node: nodeOf('c'), sub: ['echo'] });
    loads.send({ node: nodeOf('c') });
    for (const { ended } of [ads, incremental, loads]) {
      expect(await ended).toMatchObject({
        code: status.RESOURCE_EXHAUSTED,
        details: 'the relay has 2 nodes of clients already, and node "c" is another one',
      });
    }
    for (const client of [sotw, delta, lrs]) client.close();
    first.close();
    await eventually(
      () => scene.relay.inspect().clients,
      ({ length }) => length === 1,
    );
    expect(connected()).toEqual(['a', 'b']);
    await has(open(nodeOf('c'), ['echo']), 'echo');
    await eventually(connected, (ids) => [...ids].sort().join() === 'b,c');
    const timers = new TimerSwitch();
    second.close();
    await eventually(
      () => scene.relay.inspect().clients,
      ({ length }) => length === 1,
    );
    timers.expire(NODE_LINGER_MS);
    timers.stop();
    await eventually(connected, (ids) => ids.join() === 'c');
  });

  it('reports the loads of each node by a stream of its own', async () => {
    scene.serve({ clusters: [cluster('a')] });
    const lrs = new OfficialClient(scene.listen);
    for (const [index, id] of ['n', 'm'].entries()) {
      await has(open(nodeOf(id), ['a']), 'a');
      const stream = lrs.call<object>(LRS);
      stream.send({ node: nodeOf(id) });
      await stream.next();
      const upstream_locality_stats = [{ total_issued_requests: String(index + 1) }];
      stream.send({ cluster_stats: [{ cluster_name: 'a', upstream_locality_stats }] });
    }
    await eventually(
      () => [...loads].sort().join(),
      (found) => found === 'm 2,n 1',
    );
    lrs.close();
  });
});

describe('a relay with its own node', () => {
  it('has one stream whatever the nodes of its clients are', async () => {
    const scene = await RelayScene.start();
    scene.serve({ clusters: [cluster('a')] });
    const worlds = ['n', 'm', 'o'].map((id) => openRawWorld(false, scene.listen, nodeOf(id)));
    for (const world of worlds) world.subscribe(['a']);
    await eventually(
      () => worlds.map((world) => world.describe()),
      (texts) => texts.every((text) => text.includes('"a"')),
    );
    const connected = ({ kind }: ClientEvent) => kind === 'connected';
    expect(scene.events.filter(connected).map(({ client }) => client.nodeId)).toEqual(['relay']);
    for (const world of worlds) world.close();
    scene.stop();
  });
});
