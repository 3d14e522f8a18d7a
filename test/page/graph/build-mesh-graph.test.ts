import { sharePolicies } from '../../../packages/page/src/graph/endpoint-states';
import { toTree } from '../../../packages/page/src/graph/graph-text';
import {
  buildMeshGraph,
  buildWholeGraph,
  DEFAULT_GRAPH_OPTIONS,
  LiveGraph,
} from '../../../packages/page/src/graph/build-mesh-graph';
import type { ChildState, EndpointState, PolicyState } from '../../../src/lb/tree/policy-state';
import type { GraphState, MeshGraph } from '../../../packages/page/src/graph/mesh-graph';
import type { LocalityEndpoints } from '../../../src/resources/endpoints/endpoints';
import type { VirtualHost } from '../../../src/resources/route-config/route-config';
import { countWork } from '../../support/count-work';
import {
  clusterPolicies,
  edgesOf,
  endpointState,
  graphConfig,
  graphOf,
  GRAPH_TARGET,
  nodesOf,
  policiesWith,
} from '../../support/graphs';
import { aggregateOf, failedCluster, leafOf } from '../../support/lb-xds-config';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  route,
  virtualHost,
  virtualHostTo,
} from '../../support/xds-builders';

/** Localities as `zone`, with the endpoints at these hosts. */
function locality(zone: string, weight: number, ...hosts: readonly string[]): LocalityEndpoints {
  const [first] = endpoints('', ...hosts).priorities[0]?.localities ?? [];
  if (first === undefined) throw new Error('there is no locality');
  return { ...first, weight, locality: { region: 'eu', zone, subZone: '' } };
}

const leaf = (name: string, ...priorities: readonly (readonly LocalityEndpoints[])[]) =>
  leafOf(edsCluster(name), { priorities: priorities.map((localities) => ({ localities })) });

describe('the graph of an earlier time', () => {
  const said = (state: GraphState, text: string) => ({ state, text });
  it.each([
    ['unknown where no event says more', 1, undefined, 'unknown'],
    ['degraded', 1, said('degraded', '1 of 2 fail'), 'degraded (1 of 2 fail)'],
    ['ready', 1, said('ready', 'connected'), 'ready (connected)'],
    // What its resources say is worse than that it had recovered before.
    ['failing without endpoints', 0, said('ready', 'connected'), 'failing (connected)'],
  ])('has a cluster that is %s', (_case, zones, then, expected) => {
    const localities = zones === 0 ? [] : [locality('1', 1, '10.0.0.1', '10.0.0.2')];
    const config = graphConfig(virtualHostTo('web'), { web: leaf('web', localities) });
    const past = { ejected: () => undefined, cluster: () => then };
    const graph = buildWholeGraph(
      { target: GRAPH_TARGET, config, policies: undefined, past },
      DEFAULT_GRAPH_OPTIONS,
    );
    expect(nodesOf(graph)).toContainEqual(`cluster web: ${expected}`);
    const states = graph.nodes.filter(({ column }) => column === 'endpoint');
    expect(states.every(({ state }) => state === 'unknown')).toBe(true);
  });
});

describe('the graph of resources', () => {
  it('has weighted clusters with their shares, and one without weight as not used', () => {
    const config = graphConfig(
      virtualHostTo([
        ['a', 75],
        ['b', 25],
        ['c', 0],
      ]),
      {
        a: leaf('a', [locality('1', 1, '127.0.0.1')]),
        b: failedCluster('b is missing'),
      },
    );
    const graph = graphOf(config);
    expect(nodesOf(graph)).toEqual([
      'target xds:///shop: degraded',
      'route 0: every path: degraded',
      'cluster a: ready',
      'cluster b: failing (b is missing)',
      'cluster c: unused (weight 0: its resources are not requested)',
      'locality eu/1: ready (priority 0; 1 ready)',
      'endpoint 127.0.0.1:80: ready',
    ]);
    expect(edgesOf(graph)).toEqual(
      expect.arrayContaining([
        '0: every path -> a 75 %',
        '0: every path -> b 25 %',
        '0: every path ..> c 0 % (weight 0)',
      ]),
    );
  });

  const one = locality('1', 1, '127.0.0.1');

  it('has a route that fails, and one that takes a fraction of the calls', () => {
    const rejecting = route({ kind: 'unsupported', action: 'redirect' });
    const fraction = route(forwardTo('a'), { fractionPerMillion: 250_000 });
    const graph = graphOf(
      graphConfig(virtualHost([rejecting, fraction, fraction]), { a: leaf('a', [one]) }),
    );
    expect(nodesOf(graph).slice(1, 4)).toEqual([
      'route 0: every path: failing (fails: redirect is not supported)',
      'route 1: every path; 25 % of calls: ready',
      'route 2: every path; 25 % of calls: ready',
    ]);
    expect(edgesOf(graph)[0]).toBe('xds:///shop ..> 0: every path (calls of it fail)');
    expect(edgesOf(graph)).toContain(
      'xds:///shop -> 1: every path; 25 % of calls (25 % of the calls that match)',
    );
  });

  it('numbers routes as their resource does, in which one before them may be left out', () => {
    const { routes, ...host } = virtualHostTo('a');
    const config = graphConfig(
      { ...host, routes: routes.map((each) => ({ ...each, index: 2 })) },
      { a: leaf('a', [one]) },
    );
    expect(nodesOf(graphOf(config))).toContain('route 2: every path: ready');
  });

  it('waits for a cluster that has weight 0 in one route and takes the calls of another', () => {
    const off = forwardTo([
      ['a', 1],
      ['b', 0],
    ]);
    const host = virtualHost([route(off), route(forwardTo('b'))]);
    const nodes = nodesOf(graphOf(graphConfig(host, { a: failedCluster('no a') })));
    expect(nodes).toContain('cluster b: waiting (waits for its resources)');
  });

  it('fails as a whole without a route, and if each route fails', () => {
    const targetOf = (host: VirtualHost) => {
      const [target] = graphOf(graphConfig(host, { a: failedCluster('no a') })).nodes;
      return `${target?.state}: ${target?.text}`;
    };
    expect(targetOf(virtualHost([]))).toMatch(/^failing: .*; no route, every call fails$/);
    expect(targetOf(virtualHostTo('a'))).toMatch(/^failing: .*; each route fails$/);
    const redirect = route({ kind: 'unsupported', action: 'redirect' });
    expect(targetOf(virtualHost([redirect]))).toMatch(/^failing: /);
    expect(targetOf(virtualHost([redirect, route(forwardTo('b'))]))).toMatch(/^waiting: /);
  });

  it('says that states are those of the configuration, if there is no channel', () => {
    const config = graphConfig(virtualHostTo('a'), { a: leaf('a', [one]) });
    const textOf = (graph: ReturnType<typeof graphOf>) => graph.nodes[0]?.text;
    expect(textOf(graphOf(config))).toBe(
      'virtual host all of shop-routes; states are those of the configuration, without connections',
    );
    expect(textOf(graphOf(config, policiesWith()))).toBe('virtual host all of shop-routes');
  });

  it.each([
    ['a cluster that waits', {}, 'a: waiting (waits for its resources)'],
    ['a missing cluster', { a: failedCluster('not received') }, 'a: failing (not received)'],
    [
      'a cluster without endpoints',
      { a: leafOf(edsCluster('a'), { resolutionNote: 'EDS: none' }) },
      'a: failing (EDS: none)',
    ],
    [
      'EDS without localities',
      { a: leafOf(edsCluster('a'), { priorities: [], resolutionNote: 'n1' }) },
      'a: failing (n1)',
    ],
    [
      'a locality without endpoints',
      { a: leafOf(edsCluster('a'), { priorities: [{ localities: [locality('1', 1)] }] }) },
      'a: failing',
    ],
    [
      'a name for DNS',
      { a: leafOf(dnsCluster('a', 'db.local', 443)) },
      'a: idle (resolved by DNS: db.local:443)',
    ],
    [
      'drops',
      {
        a: leafOf(edsCluster('a'), {
          priorities: [{ localities: [one] }],
          drops: [{ category: 'test', perMillion: 125_000 }],
        }),
      },
      'a: ready (drops 12.5 % (test))',
    ],
  ])('has %s', (_name, clusters, expected) => {
    const graph = graphOf(graphConfig(virtualHostTo('a'), clusters));
    expect(nodesOf(graph)[2]).toBe(`cluster ${expected}`);
  });

  it('has the first leaf of an aggregate as the one in use, and what a fallback is for', () => {
    const config = graphConfig(virtualHostTo('all'), {
      all: aggregateOf(aggregateCluster('all', 'a', 'b'), 'a', 'b'),
      a: leaf('a', [one]),
      b: leaf('b', [locality('2', 1, '127.0.0.2')]),
    });
    const graph = graphOf(config);
    expect(nodesOf(graph).filter((text) => text.startsWith('cluster'))).toEqual([
      'cluster all: ready (aggregate of 2)',
      'cluster a: ready',
      'cluster b: unused',
    ]);
    expect(edgesOf(graph)).toEqual(
      expect.arrayContaining([
        'all -> a (priority 0, in use)',
        'all ..> b (priority 1: not needed while an earlier one can be reached)',
      ]),
    );
  });

  it('keeps the ids of routes when one is added before them', () => {
    const named = (name: string) => ({ ...route(forwardTo('a')), name });
    const idsOf = (...names: readonly string[]) =>
      graphOf(graphConfig(virtualHost(names.map(named)), { a: leaf('a', [one]) }))
        .nodes.filter(({ column }) => column === 'route')
        .map(({ id }) => id);
    const before = idsOf('x', 'x', 'y');
    expect(new Set(before).size).toBe(3);
    expect(idsOf('new', 'x', 'x', 'y').slice(1)).toEqual(before);
  });
});

describe('the graph of a channel', () => {
  const config = graphConfig(virtualHostTo('a'), {
    a: leaf(
      'a',
      [locality('1', 1, '127.0.0.1', '127.0.0.2', '127.0.0.3'), locality('2', 3, '127.0.0.4')],
      [locality('3', 1, '127.0.0.5')],
    ),
  });
  const [e1, e2, e3, e4] = [1, 2, 3, 4].map((index) => `127.0.0.${index}:80`) as [
    ...[string, string, string, string],
  ];

  it('has endpoints that fail, are ejected or drain, with the reasons', () => {
    const since = '2026-01-01T00:00:00.000Z';
    const failing = { state: 'TRANSIENT_FAILURE', error: 'refused', failingSince: since } as const;
    const policies = clusterPolicies('a', [
      [
        endpointState(e1, failing),
        endpointState(e2, { ...failing, ejected: true }),
        endpointState(e3, { health: 'DRAINING' }),
        endpointState(e4, { state: 'CONNECTING' }),
      ],
    ]);
    const graph = graphOf(config, policiesWith(policies));
    expect(nodesOf(graph).slice(2)).toEqual([
      'cluster a: waiting (2 of 3 endpoints fail)',
      'locality eu/1: failing (priority 0; 1 draining, 1 ejected, 1 failing)',
      'locality eu/2: waiting (priority 0; 1 waiting)',
      'locality eu/3: unused (priority 1; 1 unused)',
      `endpoint ${e1}: failing (refused)`,
      `endpoint ${e2}: ejected (ejected by outlier detection)`,
      `endpoint ${e3}: draining (takes no new calls)`,
      `endpoint ${e4}: waiting (connecting)`,
      'endpoint 127.0.0.5:80: unused (not connected: its priority is not needed)',
    ]);
    expect(graph.nodes.find(({ name }) => name === e1)?.since).toBe(since);
    expect(toTree(graph)).toContain(`${e1}  [failing; refused (since ${since})]`);
    expect(edgesOf(graph)).toEqual(
      expect.arrayContaining([
        'a ..> eu/1 25 % (no calls while another locality takes them)',
        'a -> eu/2 75 %',
        'a ..> eu/3 100 % (priority 1: not in use)',
        `eu/1 ..> ${e1}`,
        `eu/2 -> ${e4}`,
      ]),
    );
  });

  it('has a priority that takes the calls of one that cannot be reached', () => {
    const failed = [e1, e2, e3, e4].map((address) =>
      endpointState(address, { state: 'TRANSIENT_FAILURE' }),
    );
    const policies = clusterPolicies('a', [failed, [endpointState('127.0.0.5:80')]], { inUse: 1 });
    const graph = graphOf(config, policiesWith(policies));
    expect(nodesOf(graph)).toEqual(
      expect.arrayContaining([
        'cluster a: degraded (4 of 5 endpoints fail)',
        'locality eu/1: failing (priority 0; 3 failing)',
        'locality eu/3: ready (priority 1; 1 ready)',
      ]),
    );
    expect(edgesOf(graph)).toContain('a -> eu/3 100 %');
    expect(edgesOf(graph)).toContain('a ..> eu/1 25 % (priority 0: not in use)');
  });

  it('has a cluster at its limit, and one that fails with the error of its calls', () => {
    const limit = { callsInFlight: 8, maxRequests: 8 };
    const full = clusterPolicies('a', [[endpointState(e1)]], { details: limit });
    expect(nodesOf(graphOf(config, policiesWith(full)))[2]).toBe(
      'cluster a: over-limit (8 calls in flight of at most 8)',
    );
    const failed = { ...full, state: 'TRANSIENT_FAILURE' as const, error: 'no endpoint' };
    expect(nodesOf(graphOf(config, policiesWith(failed)))[2]).toBe(
      'cluster a: failing (no endpoint)',
    );
  });

  it('has the leaf that an aggregate uses, also if a route uses the one before it', () => {
    const shared = graphConfig(virtualHostTo(['all', 'a']), {
      all: aggregateOf(aggregateCluster('all', 'a', 'b'), 'a', 'b'),
      a: leaf('a', [locality('1', 1, '127.0.0.1')]),
      b: leaf('b', [locality('2', 1, '127.0.0.2')]),
    });
    const [a, b] = [
      clusterPolicies('a', [[endpointState(e1)]]),
      clusterPolicies('b', [[endpointState(e2)]]),
    ];
    const all: ChildState = {
      policy: 'cds_experimental',
      state: 'READY',
      details: { cluster: 'all' },
      children: [
        { ...a, name: 'a', role: { inUse: false } },
        { ...b, name: 'b', role: { inUse: true } },
      ],
    };
    const graph = graphOf(shared, policiesWith(all, a));
    expect(edgesOf(graph)).toEqual(
      expect.arrayContaining([
        'all ..> a (priority 0: cannot be reached)',
        'all -> b (priority 1, in use)',
      ]),
    );
  });

  it('has what DNS resolved a name to', () => {
    const dns = graphConfig(virtualHostTo('a'), { a: leafOf(dnsCluster('a', 'db.local', 443)) });
    const policies = clusterPolicies('a', [[endpointState('[::1]:443'), endpointState(e1)]]);
    const graph = graphOf(dns, policiesWith(policies));
    expect(nodesOf(graph).slice(2)).toEqual([
      'cluster a: ready',
      'locality (no locality): ready (priority 0; 2 ready)',
      'endpoint [::1]:443: ready',
      `endpoint ${e1}: ready`,
    ]);
  });
});

describe('a large graph', () => {
  const CLUSTERS = 1000;
  const names = Array.from({ length: CLUSTERS }, (_, index) => `c${index}`);
  const hostsOf = (index: number) =>
    Array.from({ length: 10 }, (_, i) => `10.${index >> 8}.${index & 255}.${i}`);
  const config = graphConfig(
    virtualHostTo(names.map((name) => [name, 1])),
    new Map(
      names.map((name, index) => [
        name,
        index === 777
          ? failedCluster('missing')
          : leaf(name, [locality('1', 1, ...hostsOf(index))]),
      ]),
    ),
  );

  it('is readable: one node for what there is no room for, and what fails is seen', () => {
    const graph = graphOf(config);
    const { maxNodes } = DEFAULT_GRAPH_OPTIONS;
    expect(graph.nodes.length).toBeLessThanOrEqual(5 * (maxNodes + 1));
    expect(nodesOf(graph)).toEqual(
      expect.arrayContaining([
        'cluster c777: failing (missing)',
        `cluster ${CLUSTERS - maxNodes} more: ready (${CLUSTERS - maxNodes} ready)`,
        `endpoint ${10 * (CLUSTERS - 1 - maxNodes)} more: ready (${CLUSTERS - 1 - maxNodes} ready)`,
      ]),
    );
    const share = graph.edges
      .filter(({ from }) => from.startsWith('route'))
      .reduce((sum, edge) => sum + (edge.share ?? 0), 0);
    expect(share).toBeCloseTo(1);
  });

  it('is built with work that grows as it does', () => {
    const half = graphConfig(
      virtualHostTo(names.slice(0, CLUSTERS / 2).map((name) => [name, 1])),
      config.clusters,
    );
    const work = countWork(() => graphOf(config));
    expect(work).toBeLessThan(2.2 * countWork(() => graphOf(half)));
    expect(work).toBeLessThan(30 * 10 * CLUSTERS);
  });

  it('has every endpoint of a locality that is opened', () => {
    const id = graphOf(config).nodes.find(({ column }) => column === 'locality')?.id ?? '';
    const options = { ...DEFAULT_GRAPH_OPTIONS, opened: new Set([id]) };
    const graph = buildMeshGraph({ target: GRAPH_TARGET, config, policies: undefined }, options);
    const shown = graph.edges.filter(({ from, to }) => from === id && to.startsWith('endpoint '));
    expect(shown).toHaveLength(10);
  });
});

describe('a graph that goes on', () => {
  const names = Array.from({ length: 100 }, (_, index) => `cluster-${index}`);
  const weighted = names.map((name) => [name, 1] as const);
  const clusterAt = (index: number) => {
    const name = `cluster-${index}`;
    return leaf(name, [locality(name, 1, `127.0.0.${index}`)]);
  };
  const configWith = (clusters = new Map(names.map((name, index) => [name, clusterAt(index)]))) =>
    graphConfig(virtualHostTo(weighted), clusters);
  const config = configWith();

  let known: PolicyState | undefined;
  /** A state in which one endpoint is in another one than the others. */
  const inputWith = (change: Partial<EndpointState> = {}) => {
    const policies = policiesWith(
      ...names.map((name, index) =>
        clusterPolicies(name, [[endpointState(`127.0.0.${index}:80`, index === 7 ? change : {})]]),
      ),
    );
    known = sharePolicies(known, policies);
    return { target: GRAPH_TARGET, config, policies: known };
  };
  const failing = inputWith({ state: 'TRANSIENT_FAILURE', error: 'refused' });

  /** The names of the localities and endpoints that were built for a graph. */
  function builtFor(graph: MeshGraph, before: MeshGraph): readonly string[] {
    const known = new Set(before.nodes);
    const isBelow = (column: string) => column === 'locality' || column === 'endpoint';
    return graph.nodes
      .filter((node) => isBelow(node.column) && !known.has(node))
      .map(({ name }) => name);
  }

  it('is built once while the config and all states are the same', () => {
    const live = new LiveGraph(DEFAULT_GRAPH_OPTIONS);
    const first = live.update(failing);
    const same = { state: 'TRANSIENT_FAILURE', error: 'refused' } as const;
    expect(live.update(inputWith(same))).toBe(first);
    // Its calls are not in the graph.
    expect(live.update(inputWith({ ...same, callsInFlight: 3, latencyMs: 5 }))).toBe(first);
  });

  it('has new nodes only below the cluster one of whose endpoints has changed', () => {
    const live = new LiveGraph(DEFAULT_GRAPH_OPTIONS);
    const first = live.update(inputWith());
    const second = live.update(failing);
    expect(builtFor(second, first)).toEqual(['eu/cluster-7', '127.0.0.7:80']);
    expect(second).toEqual(buildWholeGraph(failing, DEFAULT_GRAPH_OPTIONS));
    // There and back again.
    expect(live.update(inputWith())).toEqual(first);
  });

  it('has new nodes only below a cluster with another config', () => {
    const live = new LiveGraph(DEFAULT_GRAPH_OPTIONS);
    const first = live.update(inputWith());
    const clusters = new Map([...config.clusters, ['cluster-3', clusterAt(3)] as const]);
    const changed = { ...inputWith(), config: configWith(clusters) };
    expect(builtFor(live.update(changed), first)).toEqual(['eu/cluster-3', '127.0.0.3:80']);
  });

  it('follows a cluster that is no longer in use, and one whose endpoint is known to be ejected', () => {
    const live = new LiveGraph(DEFAULT_GRAPH_OPTIONS);
    live.update({ target: GRAPH_TARGET, config, policies: undefined });
    const unused = {
      target: GRAPH_TARGET,
      policies: undefined,
      config: graphConfig(virtualHostTo('cluster-0'), config.clusters),
    };
    const ejecting = {
      ...unused,
      past: {
        ejected: (cluster: string) => (cluster === 'cluster-0' ? 'five failures' : undefined),
        cluster: () => undefined,
      },
    };
    for (const input of [unused, ejecting, unused]) {
      expect(live.update(input)).toEqual(buildWholeGraph(input, DEFAULT_GRAPH_OPTIONS));
    }
  });
});
