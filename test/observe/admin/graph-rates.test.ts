import { Metadata } from '../../../src/grpc-js';
import { ClusterCalls } from '../../../src/lb/cluster-impl/endpoint-calls';
import { GraphRates, sumRates } from '../../../packages/page/src/process/graph-rates';
import { graphRows } from '../../../packages/page/src/process/graph-rows';
import { routeView } from '../../../packages/page/src/process/resource-rows';
import type { Row } from '../../../packages/page/src/live-page/view';
import { ProcessRates } from '../../../src/observe/rates/process-rates';
import { ReadRates } from '../../../src/observe/rates/read-rates';
import type { LocalityEndpoints } from '../../../src/resources/endpoints/endpoints';
import { DescribedRoute } from '../../../src/routing/describe-route';
import { FakeClock } from '../../support/fake-clock';
import { graphConfig, graphOf } from '../../support/graphs';
import { FakeSubchannel } from '../../support/lb-subchannel';
import { leafOf } from '../../support/lb-xds-config';
import { edsCluster, endpoints, virtualHostTo } from '../../support/xds-builders';

const TARGET = 'xds:///shop';
const REQUEST = {
  name: 'routes',
  target: TARGET,
  filter: '',
  offset: 0,
  opened: new Set<string>(),
};

function locality(zone: string, weight: number, ...hosts: readonly string[]): LocalityEndpoints {
  const [first] = endpoints('', ...hosts).priorities[0]?.localities ?? [];
  if (first === undefined) throw new Error('there is no locality');
  return { ...first, weight, locality: { region: 'eu', zone, subZone: '' } };
}

/** A target whose route sends a quarter of its calls to `canary`. */
class Scene {
  readonly clock = new FakeClock();
  private readonly rates = new ProcessRates();
  private readonly channel = this.rates.channel(TARGET);
  private readonly counting = this.rates.acquire(this.clock);
  private readonly clusters = new Map<string, ClusterCalls>();
  readonly virtualHost = virtualHostTo([
    ['main', 75],
    ['canary', 25],
  ]);
  readonly config = graphConfig(this.virtualHost, {
    main: leafOf(edsCluster('main'), {
      priorities: [
        { localities: [locality('1', 3, '10.0.0.1', '10.0.0.2'), locality('2', 1, '10.0.0.3')] },
      ],
    }),
    canary: leafOf(edsCluster('canary'), {
      priorities: [{ localities: [locality('1', 1, '10.0.1.1')] }],
    }),
  });

  /** Makes calls that take a millisecond. */
  call(cluster: string, host: string, times: number, code = 0): this {
    const [route] = this.virtualHost.routes;
    if (route === undefined) throw new Error('there is no route');
    for (let index = 0; index < times; index++) {
      const call = this.channel.current?.startCall(this.clock);
      call?.onRouted(new DescribedRoute(route, this.virtualHost), cluster);
      const attempts = this.callsOf(cluster).of(
        new FakeSubchannel(1, { host, port: 80 }, {}, () => {}),
      );
      const tracer = attempts.startAttempt();
      tracer?.onEnded({ code, details: '', metadata: new Metadata() });
      call?.end(code);
    }
    return this;
  }

  read(): ReadRates {
    this.clock.advance(1000);
    const found = this.rates.counting?.get(TARGET);
    if (found === undefined) throw new Error('nothing is counted');
    return new ReadRates(found, this.clock.monotonicMs(), 0);
  }

  stop(): void {
    this.counting.release();
  }

  private callsOf(cluster: string): ClusterCalls {
    const callTiming = { isRequested: true, rates: this.channel };
    const measures = { clock: this.clock, callTiming };
    const calls = this.clusters.get(cluster) ?? new ClusterCalls(cluster, measures);
    this.clusters.set(cluster, calls);
    return calls;
  }
}

/** The rows of a view by the columns that are compared. */
function pick(rows: readonly Row[], ...columns: readonly string[]): readonly object[] {
  return rows.map((row) =>
    Object.fromEntries(columns.map((column) => [column, row[column]] as const)),
  );
}

describe('the rates of rows', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
    scene.clock.advance(1000);
    scene
      .call('main', '10.0.0.1', 4)
      .call('main', '10.0.0.2', 2, 14)
      .call('main', '10.0.0.3', 2)
      .call('canary', '10.0.1.1', 2);
  });
  afterEach(() => scene.stop());

  it('of a node without calls of its own are the sum of the lines to it, or else from it', () => {
    const node = (id: string, column: 'service' | 'target' | 'locality') =>
      ({ id, column, name: id, state: 'ready', text: '' }) as const;
    const lines = ['web a', 'web b', 'a z', 'b z'].map((line) => line.split(' '));
    const graph = {
      target: TARGET,
      nodes: [
        node('web', 'service'),
        node('a', 'target'),
        node('b', 'target'),
        node('z', 'locality'),
      ],
      edges: lines.map(([from = '', to = '']) => ({ from, to, text: '', isUsed: true })),
    };
    const { rows } = graphRows(graph, REQUEST, (part) =>
      'id' in part
        ? {}
        : { counts: 'calls', rate: 2, errorRate: 0, p99: part.from === 'a' ? 9 : 4 },
    );
    expect(pick(rows.slice(0, 4), 'name', 'rate', 'p99')).toEqual([
      { name: 'web', rate: 4, p99: 4 },
      { name: 'a', rate: 2, p99: 4 },
      { name: 'b', rate: 2, p99: 4 },
      { name: 'z', rate: 4, p99: 9 },
    ]);
  });

  it('say what there was where no call goes any more', () => {
    scene.clock.advance(9000);
    for (let second = 0; second < 20; second++) {
      scene.call('main', '10.0.0.1', second < 15 ? 8 : 0).call('canary', '10.0.1.1', 1);
      scene.clock.advance(1000);
    }
    scene.clock.advance(10_000);
    const rates = new GraphRates(scene.read());
    const { rows } = graphRows(graphOf(scene.config), REQUEST, (part) => rates.describe(part));
    const shown = pick(
      rows.filter(({ kind }) => kind === 'node'),
      'name',
      'rate',
      'lostRate',
    );
    expect(shown).toContainEqual({ name: '10.0.0.1:80', rate: 0, lostRate: 8 });
    expect(shown).toContainEqual({ name: '10.0.0.2:80', rate: 0, lostRate: 0.2 });
    const edges = [
      { rate: 0, lostRate: 8, failingSince: '2026-01-01T00:00:02.000Z' },
      { rate: 0, lostRate: 2, failingSince: '2026-01-01T00:00:01.000Z' },
      { rate: 0 },
    ];
    expect(sumRates(edges)).toMatchObject({
      lostRate: 10,
      failingSince: '2026-01-01T00:00:01.000Z',
    });
  });

  it('are 0 for what has had no calls', () => {
    const idle = new Scene();
    const rates = new GraphRates(idle.call('main', '10.0.0.1', 1).read());
    const { nodes } = graphOf(idle.config);
    const canary = nodes.find(({ name }) => name === 'canary');
    expect(canary && rates.describe(canary)).toMatchObject({ counts: 'attempts', rate: 0 });
    idle.stop();
  });

  it('are found for each node of the graph', () => {
    const rates = new GraphRates(scene.read());
    const { nodes } = graphOf(scene.config);
    const shown = nodes.map(({ calls, name, column }) => {
      const { rate, counts, errors } = rates.of(calls) ?? {};
      return [column, name, rate, counts, ...(errors ?? [])];
    });
    expect(shown).toEqual([
      ['target', TARGET, 5, 'calls', 'UNAVAILABLE 2'],
      ['route', '0: every path', 5, 'calls', 'UNAVAILABLE 2'],
      ['cluster', 'main', 4, 'attempts', 'UNAVAILABLE 2'],
      ['cluster', 'canary', 1, 'attempts'],
      ['locality', 'eu/1', 3, 'attempts', 'UNAVAILABLE 2'],
      ['locality', 'eu/2', 1, 'attempts'],
      ['locality', 'eu/1', 1, 'attempts'],
      ['endpoint', '10.0.0.1:80', 2, 'attempts'],
      ['endpoint', '10.0.0.2:80', 1, 'attempts', 'UNAVAILABLE 2'],
      ['endpoint', '10.0.0.3:80', 1, 'attempts'],
      ['endpoint', '10.0.1.1:80', 1, 'attempts'],
    ]);
  });

  it('have the share that an edge got beside the one that it is given', () => {
    const rates = new GraphRates(scene.read());
    const { nodes, edges } = graphOf(scene.config);
    const names = new Map(nodes.map(({ id, name }) => [id, name]));
    const got = edges.flatMap((edge) => {
      const { got: part, gotCalls, gotOf } = rates.describe(edge);
      return part === undefined
        ? []
        : [[names.get(edge.from), names.get(edge.to), edge.share, part, gotCalls, gotOf]];
    });
    expect(got).toEqual([
      ['main', 'eu/1', 0.75, 0.75, 6, 8],
      ['main', 'eu/2', 0.25, 0.25, 2, 8],
      ['canary', 'eu/1', 1, 1, 2, 2],
      ['0: every path', 'main', 0.75, 0.8, 8, 10],
      ['0: every path', 'canary', 0.25, 0.2, 2, 10],
    ]);
    const canary = edges.find(({ to }) => to === 'cluster canary');
    expect(canary && rates.describe(canary)).toMatchObject({
      counts: 'calls',
      rate: 1,
      errors: [],
      got: 0.2,
      gotCalls: 2,
      gotOf: 10,
    });
  });

  it('are not known of what is not counted', () => {
    const rates = new GraphRates(scene.read());
    expect(rates.of(undefined)).toBeUndefined();
    expect(rates.of({ cluster: 'x' })).toBeUndefined();
    const edge = { from: 'a', to: 'b', isUsed: true, text: '', share: 1 };
    expect(rates.describe(edge)).toEqual({});
    const calls = { cluster: 'main', endpoints: [], among: [] };
    expect(rates.describe({ ...edge, calls })).toMatchObject({ rate: 0, got: undefined });
  });

  it('are beside routes, with the shares of their clusters', () => {
    const { rows } = routeView(scene.config, { ...REQUEST, name: 'routes' }, scene.read());
    expect(pick(rows, 'rate', 'errorRate', 'shares')).toEqual([
      {
        rate: 5,
        errorRate: 1,
        shares: [
          'main: asked 75 %, got 80 % (8 of 10 calls)',
          'canary: asked 25 %, got 20 % (2 of 10 calls)',
        ],
      },
    ]);
    const [row] = routeView(scene.config, { ...REQUEST, name: 'routes' }).rows;
    expect(row).not.toHaveProperty('rate');
  });
});
