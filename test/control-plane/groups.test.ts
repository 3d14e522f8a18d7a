import {
  ControlPlane,
  Snapshot,
  type ClientNode,
  type ControlPlaneOptions,
} from '../../src/control-plane';
import { AdsClient, type AdsClientStream } from './ads-client';
import { DeltaClient } from './delta-client';
import { OfficialClient } from './official-client';
import { CDS, EDS, cluster, echo, endpoints } from './resources';

/** Returns a snapshot of one cluster. */
const only = (name: string) =>
  Snapshot.from({ clusters: [cluster(name)], endpoints: [endpoints(name, 1)] });

/** Encodes metadata. */
const struct = (fields: Readonly<Record<string, object>>) => ({ fields });
const text = (stringValue: string) => ({ stringValue });

const nodeOf = (id: string, team?: string) => ({
  id,
  ...(team === undefined ? {} : { metadata: struct({ team: text(team) }) }),
});

/** Returns the group in the metadata of a node. */
const groupOf = ({ metadata }: ClientNode) =>
  typeof metadata['team'] === 'string' ? metadata['team'] : undefined;

describe('groups of clients', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(options: ControlPlaneOptions = {}) {
    const server = new ControlPlane({ snapshot: only('shared'), groupOf, ...options });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const client = new AdsClient(address);
    cleanUp.push(() => client.close());
    /** Opens a client with a wildcard subscription to clusters. */
    const open = (node?: object) => {
      const stream = client.open();
      stream.send({ type_url: CDS, node });
      return stream;
    };
    return { server, address, open };
  }

  /** Returns the clusters of the next response. */
  const clusterOf = async (stream: AdsClientStream) => {
    const { resources } = await stream.next();
    return resources.map(({ value }) => /(shared|blue|green|own)/.exec(value.toString())?.[0]);
  };

  it('are chosen by the node, whose metadata is plain JSON', async () => {
    const shown: ClientNode[] = [];
    const { server, open } = await setUp({
      groupOf: (node) => {
        shown.push(node);
        return node.locality?.zone;
      },
    });
    server.setSnapshot(only('blue'), { group: 'a' });
    const metadata = struct({
      team: text('search'),
      weight: { numberValue: 1.5 },
      canary: { boolValue: true },
      nothing: { nullValue: 0 },
      unset: {},
      labels: { structValue: struct({ app: text('shop') }) },
      zones: { listValue: { values: [text('a'), { numberValue: 2 }] } },
      ['__proto__']: text('an own property'),
    });
    const locality = { region: 'eu', zone: 'a', sub_zone: '1' };
    const stream = open({ id: 'node-1', cluster: 'shop', locality, metadata });
    expect(await clusterOf(stream)).toEqual(['blue']);
    expect(shown).toEqual([
      {
        id: 'node-1',
        cluster: 'shop',
        userAgentName: '',
        userAgentVersion: '',
        clientFeatures: [],
        locality: { region: 'eu', zone: 'a', subZone: '1' },
        metadata: Object.fromEntries([
          ['team', 'search'],
          ['weight', 1.5],
          ['canary', true],
          ['nothing', null],
          ['unset', null],
          ['labels', { app: 'shop' }],
          ['zones', ['a', 2]],
          ['__proto__', 'an own property'],
        ]),
      },
    ]);
  });

  it.each([
    [{ user_agent_version: '1.2-dev' }, '1.2-dev'],
    // As Envoy sends it.
    [{ user_agent_build_version: { version: { major_number: 1, minor_number: 30 } } }, '1.30.0'],
    [{ user_agent_build_version: {} }, '0.0.0'],
  ])('are chosen by the version of the client, such as %j', async (node, expected) => {
    const shown: string[] = [];
    const { open } = await setUp({
      groupOf: ({ userAgentVersion }) => {
        shown.push(userAgentVersion);
        return undefined;
      },
    });
    await open(node).next();
    expect(shown).toEqual([expected]);
  });

  it.each([
    ['of no group', nodeOf('any'), 'shared'],
    ['without a node', undefined, 'shared'],
    ['of a group', nodeOf('any', 'blue'), 'blue'],
    ['of a group without a snapshot', nodeOf('any', 'red'), 'shared'],
    ['of a group, with its own snapshot', nodeOf('special', 'blue'), 'own'],
  ])('serve a client %s the right snapshot', async (_, node, expected) => {
    const { server, open } = await setUp();
    server.setSnapshot(only('blue'), { group: 'blue' });
    server.setSnapshot(only('own'), { nodeId: 'special' });
    expect(await clusterOf(open(node))).toEqual([expected]);
  });

  it('receive changes of their own snapshot only', async () => {
    const { server, open } = await setUp();
    const [blue, other] = [open(nodeOf('1', 'blue')), open(nodeOf('2', 'green'))];
    expect(await Promise.all([blue, other].map(clusterOf))).toEqual([['shared'], ['shared']]);
    server.setSnapshot(only('blue'), { group: 'blue' });
    expect(await clusterOf(blue)).toEqual(['blue']);
    server.setSnapshot(only('green'), { group: 'green' });
    // Responses arrive in order: the change of the other group would come first.
    expect(await clusterOf(other)).toEqual(['green']);
    expect(blue.received).toEqual([]);
  });

  it('are computed again after each new snapshot', async () => {
    const groups: string[] = [];
    const { server, open } = await setUp({ groupOf: () => groups.at(-1) });
    const stream = open(nodeOf('1'));
    expect(await clusterOf(stream)).toEqual(['shared']);
    groups.push('blue');
    server.setSnapshot(only('blue'), { group: 'blue' });
    expect(await clusterOf(stream)).toEqual(['blue']);
  });

  it('are undefined if groupOf throws', async () => {
    const errors: string[] = [];
    const { open } = await setUp({
      logger: { trace() {}, info() {}, error: (message) => errors.push(message()) },
      groupOf: () => {
        throw new Error('oops');
      },
    });
    expect(await clusterOf(open(nodeOf('1')))).toEqual(['shared']);
    expect(errors).toEqual(['control plane: groupOf threw: oops']);
  });

  it('apply to incremental streams', async () => {
    const { server, address } = await setUp({ snapshot: Snapshot.from(echo) });
    server.setSnapshot(only('blue'), { group: 'blue' });
    const client = new DeltaClient(address);
    cleanUp.push(() => client.close());
    const stream = client.open();
    stream.send(EDS, { node: nodeOf('1', 'blue'), sub: ['blue', 'echo'] });
    const { resources, removed_resources: removed } = await stream.next();
    expect([resources.map(({ name }) => name), removed]).toEqual([['blue'], ['echo']]);
  });

  it('are requested to report the clusters in their snapshot', async () => {
    const { server, address } = await setUp();
    server.setSnapshot(only('blue'), { group: 'blue' });
    const client = new OfficialClient(address);
    cleanUp.push(() => client.close());
    const stream = client.call<{ readonly clusters: readonly string[] }>(
      'envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats',
    );
    stream.send({ node: nodeOf('1', 'blue') });
    expect((await stream.next()).clusters).toEqual(['blue']);
  });
});
