import { RandomSubsettingConfig } from '../../../src/lb/random-subsetting/config';
import type { ChildState, EndpointState, StateName } from '../../../src/lb/tree/policy-state';
import { WrrLocalityConfig } from '../../../src/lb/wrr-locality/config';
import { findWay, type CallWay } from '../../../packages/page/src/process/call-way';
import {
  DrawnGraph,
  drawnNodes,
  graphOptions,
} from '../../../packages/page/src/process/graph-rows';
import { endpointChoice } from '../../../src/lb/endpoints/endpoint-choice';
import {
  buildWholeGraph,
  type GraphInput,
} from '../../../packages/page/src/graph/build-mesh-graph';
import type { Row } from '../../../packages/page/src/live-page/view';
import type { RoutedCall } from '../../../src/resolver/explain-call';
import { countWork } from '../../support/count-work';
import type { LbConfig } from '../../../src/resources/extension-points';
import {
  endpointState,
  graphConfig,
  GRAPH_TARGET,
  nodesOf,
  policiesWith,
} from '../../support/graphs';
import { leafOf } from '../../support/lb-xds-config';
import {
  edsCluster,
  endpoints,
  forwardTo,
  route,
  virtualHost,
  virtualHostTo,
  type Weighted,
} from '../../support/xds-builders';

/** A target with a route for each cluster, each with endpoints. */
function largeInput(clusters: number, size = 10): GraphInput {
  const names = Array.from({ length: clusters }, (_, index) => `cluster-${index}`);
  const routes = names.map((name) =>
    route(forwardTo(name), { path: { kind: 'prefix', text: `/${name}/`, caseSensitive: true } }),
  );
  const config = graphConfig(
    virtualHost(routes),
    new Map(
      names.map((name, i) => [name, leafOf(edsCluster(name), endpoints('', ...hosts(i, size)))]),
    ),
  );
  return { target: GRAPH_TARGET, config, policies: undefined };
}

function hosts(index: number, size: number): readonly string[] {
  return Array.from({ length: size }, (_, i) => `10.${index >> 8}.${index & 255}.${i}`);
}

function rowsOf(
  input: GraphInput,
  request: { filter?: string; opened?: readonly string[] } = {},
): readonly Row[] {
  const { filter = '', opened = [] } = request;
  return new DrawnGraph({ filter, opened: new Set(opened) }).view(input).rows;
}

const textOf = (cell: Row[string]) => (typeof cell === 'string' ? cell : '');
const ofKind = (rows: readonly Row[], kind: string) => rows.filter((row) => row.kind === kind);
const inColumn = (rows: readonly Row[], column: string) =>
  ofKind(rows, 'node').filter((row) => row.column === column);

describe('the rows of a graph', () => {
  const input = largeInput(100);

  it('have 40 nodes of a column, and one for the others', () => {
    const rows = rowsOf(input);
    expect(inColumn(rows, 'cluster')).toHaveLength(41);
    expect(inColumn(rows, 'cluster').at(-1)).toMatchObject({
      name: '60 more',
      count: 60,
      isOpen: false,
    });
    const ids = new Set(ofKind(rows, 'node').map(({ id }) => id));
    for (const { from, to } of ofKind(rows, 'edge')) {
      expect([ids.has(textOf(from)), ids.has(textOf(to))]).toEqual([true, true]);
    }
  });

  it('have 100 nodes of a column that is opened', () => {
    const rest = inColumn(rowsOf(largeInput(300)), 'cluster').at(-1);
    const rows = rowsOf(largeInput(300), { opened: [textOf(rest?.opens)] });
    expect(inColumn(rows, 'cluster')).toHaveLength(101);
    expect(inColumn(rows, 'route')).toHaveLength(41);
    expect(inColumn(rows, 'cluster').at(-1)).toMatchObject({ name: '200 more', isOpen: true });
  });

  it('have the endpoints of a locality once it is opened', () => {
    const small = largeInput(1);
    const [group] = inColumn(rowsOf(small), 'endpoint');
    expect(group).toMatchObject({ name: '10 endpoints', count: 10, isOpen: false });
    const rows = rowsOf(small, { opened: [textOf(group?.opens)] });
    expect(inColumn(rows, 'endpoint')).toHaveLength(10);
    expect(inColumn(rows, 'locality')).toMatchObject([{ opens: group?.opens, isOpen: true }]);
  });

  it('have what contains the filter, with what leads to it and what it leads to', () => {
    const byAddress = rowsOf(input, { filter: '10.0.7.3' });
    expect(ofKind(byAddress, 'node').map(({ name }) => name)).toEqual([
      'xds:///shop',
      '7: prefix /cluster-7/',
      'cluster-7',
      'r/z',
      '10.0.7.3:80',
    ]);
    const byCluster = rowsOf(input, { filter: 'cluster-77' });
    expect(inColumn(byCluster, 'endpoint')).toHaveLength(10);
    expect(rowsOf(input, { filter: 'nothing' })).toEqual([]);
  });

  it('are at most 41 in a column and one for each pair of neighbours, whatever routes there are', () => {
    const weighted = Array.from({ length: 120 }, (_, i): Weighted => [`cluster-${i}`, 1]);
    const { config } = largeInput(120, 1);
    const routes = Array.from({ length: 120 }, () => route(forwardTo(weighted)));
    const rows = rowsOf({
      target: GRAPH_TARGET,
      policies: undefined,
      config: graphConfig(virtualHost(routes), config.clusters),
    });
    expect(ofKind(rows, 'node')).toHaveLength(1 + 4 * 41);
    expect(ofKind(rows, 'edge').length).toBeLessThanOrEqual(41 * 41 + 3 * 82);
  });

  it('have no more than a cell has of a name', () => {
    const name = 'x'.repeat(100_000);
    const config = graphConfig(virtualHost([route(forwardTo(name))]), new Map());
    const rows = rowsOf({ target: GRAPH_TARGET, config, policies: undefined });
    expect(JSON.stringify(rows).length).toBeLessThan(8192);
  });

  it('are made in a time that grows with the number of endpoints', () => {
    const work = countWork(() => rowsOf(largeInput(1000)));
    expect(work).toBeLessThan(2.2 * countWork(() => rowsOf(largeInput(500))));
  });
});

describe('the graph that a reader has open', () => {
  it('has the same rows without work for each cluster while nothing changes', () => {
    const input = largeInput(1000);
    const drawn = new DrawnGraph({ filter: '', opened: new Set() });
    const { rows } = drawn.view(input);
    let again: readonly Row[] = [];
    const work = countWork(() => ({ rows: again } = drawn.view(input)));
    expect(again.every((row, index) => row === rows[index])).toBe(true);
    expect(work).toBeLessThan(2 * rows.length);
  });

  it('has the rates of the moment in the rows of what is counted, and the others as they were', () => {
    const drawn = new DrawnGraph({ filter: '', opened: new Set() });
    const input = largeInput(3);
    const { rows } = drawn.view(input);
    const isCounted = (part: object) => 'name' in part && part.name === 'cluster-1';
    const counted = drawn.view(input, (part) => (isCounted(part) ? { rate: 5 } : {}));
    const changed = counted.rows.filter((row, index) => row !== rows[index]);
    expect(changed).toMatchObject([{ name: 'cluster-1', rate: 5 }]);
  });
});

describe('the way of a call', () => {
  const REQUEST = { filter: '', opened: new Set<string>() };

  /** The call takes the last of so many routes, and of that the clusters with these shares. */
  function routed(routes: number, clusters: Readonly<Record<string, number>>): RoutedCall {
    const last = routes - 1;
    const trials = Array.from({ length: routes }, (_, index) => ({
      index,
      name: '',
      share: 1,
      mismatch: index < last ? 'path differs' : undefined,
    }));
    const drawn = Object.entries(clusters).map(([name, share]) => ({
      name,
      share,
      weight: 100 * share,
      filters: [],
    }));
    const forward = { kind: 'forward', clusters: drawn, timeoutMs: undefined } as const;
    const outcome = { ...forward, retry: undefined, hashInputs: [] };
    return {
      kind: 'routed',
      virtualHost: 'all',
      routes: trials,
      decisions: [{ index: last, name: '', share: 1, outcome }],
      unmatchedShare: 0,
      unusedFields: [],
      heldBack: [],
    };
  }

  function wayOf(input: GraphInput, explained: RoutedCall): CallWay {
    const graph = buildWholeGraph(input, graphOptions(REQUEST));
    return findWay(graph, explained, drawnNodes(graph, REQUEST));
  }

  /** The ways of the picture that lead to a column. */
  function into({ nodes, edges }: CallWay, column: string): CallWay['edges'] {
    const ids = new Set(nodes.filter((node) => node.column === column).map(({ id }) => id));
    return edges.filter(({ to }) => ids.has(to));
  }

  it('has the parts of the picture, and lists 40 forks with what the call takes among them', () => {
    const input = largeInput(2000, 1);
    const { nodes, edges, forks, moreForks } = wayOf(input, routed(2000, { 'cluster-1999': 1 }));
    const drawn = new Set(rowsOf(input).map(({ id }) => id));
    expect([...nodes, ...edges].filter(({ id }) => !drawn.has(id))).toEqual([]);
    const taken = edges.filter(({ share }) => share > 0);
    expect(taken.map(({ name, share }) => [name, share])).toEqual([
      ...['1960 more', '1960 more', '1960 more', '1960 more'].map((name) => [name, 1]),
    ]);
    expect(forks).toHaveLength(40);
    expect(moreForks).toBe(1960);
    // The routes right before the one that takes the call.
    expect(forks.slice(-2)).toEqual([
      { name: '1998: prefix /cluster-1998/', share: 0, text: 'path differs' },
      { name: '1999: prefix /cluster-1999/', share: 1, text: 'matches' },
    ]);
  });

  it('adds the shares of all that one node stands for', () => {
    const names = Array.from({ length: 200 }, (_, index) => `c${index}`);
    const config = graphConfig(
      virtualHostTo(names.map((name, index) => [name, index + 1])),
      new Map(
        names.map((name, i) => [name, leafOf(edsCluster(name), endpoints('', ...hosts(i, 1)))]),
      ),
    );
    const total = (200 * 201) / 2;
    const shares = Object.fromEntries(names.map((name, index) => [name, (index + 1) / total]));
    const way = wayOf({ target: GRAPH_TARGET, config, policies: undefined }, routed(1, shares));
    for (const column of ['cluster', 'locality', 'endpoint']) {
      const sum = into(way, column).reduce((all, { share }) => all + share, 0);
      expect([column, sum]).toEqual([column, expect.closeTo(1, 9)]);
    }
    // Those with the largest weights are drawn, and listed.
    const drawn = inColumn(
      rowsOf({ target: GRAPH_TARGET, config, policies: undefined }),
      'cluster',
    );
    expect(drawn.map(({ name }) => name)).toEqual([...names.slice(160), '160 more']);
    const [name, least] = [way.forks.at(1)?.name, way.forks.at(1)?.share];
    expect([name, least]).toEqual(['c161', 162 / total]);
  });

  const { RING_HASH, ROUND_ROBIN, PICK_FIRST, LEAST_REQUEST } = {
    RING_HASH: 'ring_hash_experimental',
    ROUND_ROBIN: 'round_robin',
    PICK_FIRST: 'pick_first',
    LEAST_REQUEST: 'least_request_experimental',
  };
  const states = (...each: readonly StateName[]) => each;
  const wrr = (policyName: string) => new WrrLocalityConfig({ policyName });

  // Of the endpoints that the way comes to: not of a locality that gets no calls.
  it.each<readonly [string, LbConfig, readonly StateName[], readonly number[]]>([
    ['round_robin', wrr(ROUND_ROBIN), states('READY', 'READY', 'READY'), [0.25, 0.25, 0.5]],
    ['one is connecting', wrr(ROUND_ROBIN), states('READY', 'CONNECTING', 'READY'), [0.5, 0, 0.5]],
    ['a lost zone', wrr(ROUND_ROBIN), states('READY', 'READY', 'TRANSIENT_FAILURE'), [0.5, 0.5]],
    ['all connect', wrr(ROUND_ROBIN), states('IDLE', 'CONNECTING', 'IDLE'), [0.25, 0.25, 0.5]],
    ['least_request', wrr(LEAST_REQUEST), states('READY', 'READY', 'READY'), [0.25, 0.25, 0.5]],
    ['pick_first', { policyName: PICK_FIRST }, states('IDLE', 'READY', 'IDLE'), [0, 1]],
    [
      'round_robin of all localities',
      ...([{ policyName: ROUND_ROBIN }, states('READY', 'READY', 'READY')] as const),
      [1 / 3, 1 / 3, 1 / 3],
    ],
    [
      'a ring, which connects when calls need it',
      ...([{ policyName: RING_HASH }, states('READY', 'IDLE', 'IDLE')] as const),
      [0.125, 0.375, 0.5],
    ],
    [
      'a ring whose endpoint fails',
      ...([{ policyName: RING_HASH }, states('READY', 'TRANSIENT_FAILURE', 'IDLE')] as const),
      [0.5, 0, 0.5],
    ],
  ])('has the shares that the policy gives: %s', (_case, lbConfig, connections, shares) => {
    const { input } = clusterWith(lbConfig, connections);
    const ends = into(wayOf(input, routed(1, { a: 1 })), 'endpoint');
    expect(ends.map(({ share }) => Number(share.toFixed(9)))).toEqual(
      shares.map((share) => Number(share.toFixed(9))),
    );
  });

  it('says which policy chooses where no weight does, and how much is dropped', () => {
    const { input } = clusterWith(wrr(ROUND_ROBIN), states('READY', 'READY', 'READY'), 0.4);
    const way = wayOf(input, routed(1, { a: 1 }));
    expect(way.forks.map(({ name, text }) => `${name}: ${text}`)).toEqual([
      '0: every path: matches',
      'r/z1: 50 % by weight of 60 % that are not dropped',
      'r/z2: 50 % by weight of 60 % that are not dropped',
      '127.0.0.1:80: 50 %, chosen by round_robin',
      '127.0.0.2:80: 50 %, chosen by round_robin',
    ]);
    expect(into(way, 'endpoint').reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(0.6);
  });

  it('does not blame the priority for what a policy leaves out of its subset', () => {
    const subset = new RandomSubsettingConfig(1, { policyName: ROUND_ROBIN });
    const { input } = clusterWith(subset, states('READY'));
    const graph = buildWholeGraph(input, graphOptions(REQUEST));
    expect(nodesOf(graph)).toContain(
      'endpoint 127.0.0.2:80: unused (not connected: the policy does not use it)',
    );
  });

  /** A cluster with weights 1 and 3 in one locality and one endpoint in another; policies of it have those that have states. */
  function clusterWith(
    lbConfig: LbConfig,
    connections: readonly StateName[],
    dropped = 0,
  ): { readonly input: GraphInput } {
    const given = endpoints('a', '127.0.0.1', '127.0.0.2', '127.0.0.3').priorities[0]
      ?.localities[0];
    if (given === undefined) throw new Error('there is no locality');
    const locality = (zone: string, from: number, to: number) => ({
      ...given,
      locality: { ...given.locality, zone },
      weight: 1,
      endpoints: given.endpoints
        .map((endpoint, index) => ({ ...endpoint, weight: index === 1 ? 3 : 1 }))
        .slice(from, to),
    });
    const localities = [locality('z1', 0, 2), locality('z2', 2, 3)];
    const config = graphConfig(virtualHostTo('a'), {
      a: leafOf(
        { ...edsCluster('a'), lbConfig },
        {
          priorities: [{ localities }],
          drops: dropped === 0 ? [] : [{ category: 'load', perMillion: 1e6 * dropped }],
        },
      ),
    });
    const policy =
      endpointChoice(lbConfig).policy === 'ring_hash' ? 'ring_hash_experimental' : 'round_robin';
    const states = connections.map((state, index) =>
      endpointState(`127.0.0.${index + 1}:80`, { state }),
    );
    const child = (name: string, endpoints: readonly EndpointState[]): ChildState => ({
      name,
      policy,
      endpoints,
      state: endpoints.some(({ state }) => state === 'READY')
        ? 'READY'
        : (endpoints[0]?.state ?? 'IDLE'),
    });
    const children =
      lbConfig instanceof WrrLocalityConfig
        ? [child('z1', states.slice(0, 2)), child('z2', states.slice(2))]
        : [child('', states)];
    const tree: ChildState = {
      policy: 'xds_cluster_impl_experimental',
      state: 'READY',
      details: { cluster: 'a' },
      children: [{ policy: 'weighted_target_experimental', state: 'READY', children }],
    };
    return { input: { target: GRAPH_TARGET, config, policies: policiesWith(tree) } };
  }
});
