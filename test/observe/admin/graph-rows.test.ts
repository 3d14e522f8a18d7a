import { findWay } from '../../../src/observe/admin/page/call-way';
import {
  DrawnGraph,
  edgeRowId,
  graphOptions,
  graphView,
  nodeRowId,
} from '../../../src/observe/admin/page/graph-rows';
import { buildWholeGraph, type GraphInput } from '../../../src/observe/graph/build-mesh-graph';
import type { Row } from '../../../src/observe/live-page/view';
import type { RoutedCall } from '../../../src/resolver/explain-call';
import { countWork } from '../../support/count-work';
import { graphConfig, GRAPH_TARGET } from '../../support/graphs';
import { leafOf } from '../../support/lb-xds-config';
import {
  edsCluster,
  endpoints,
  forwardTo,
  route,
  virtualHost,
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
  return graphView(input, { filter, opened: new Set(opened) }).rows;
}

const textOf = (cell: Row[string]) => (typeof cell === 'string' ? cell : '');
const ofKind = (rows: readonly Row[], kind: string) => rows.filter((row) => row.kind === kind);
const inColumn = (rows: readonly Row[], column: string) =>
  ofKind(rows, 'node').filter((row) => row.column === column);

describe('the rows of a graph', () => {
  const input = largeInput(100);

  it('have 40 nodes of a column, one for the others, and the number of all', () => {
    const rows = rowsOf(input);
    expect(inColumn(rows, 'cluster')).toHaveLength(41);
    expect(inColumn(rows, 'cluster').at(-1)).toMatchObject({
      name: '60 more',
      count: 60,
      isOpen: false,
    });
    expect(ofKind(rows, 'column')).toMatchObject([
      { column: 'target', total: 1, shown: 1 },
      { column: 'route', total: 100, shown: 40, isOpen: false },
      { column: 'cluster', total: 100, shown: 40, isOpen: false },
      { column: 'locality', total: 100, shown: 40, isOpen: false },
      { column: 'endpoint', total: 1000, isOpen: false },
    ]);
    const ids = new Set(ofKind(rows, 'node').map(({ id }) => id));
    for (const { from, to } of ofKind(rows, 'edge')) {
      expect([ids.has(textOf(from)), ids.has(textOf(to))]).toEqual([true, true]);
    }
  });

  it('have 100 nodes of a column that is opened', () => {
    const [, , column] = ofKind(rowsOf(largeInput(300)), 'column');
    const rows = rowsOf(largeInput(300), { opened: [textOf(column?.opens)] });
    expect(inColumn(rows, 'cluster')).toHaveLength(101);
    expect(inColumn(rows, 'route')).toHaveLength(41);
    expect(ofKind(rows, 'column')[2]).toMatchObject({ shown: 100, isOpen: true });
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
      ...['xds:///shop', '7: prefix /cluster-7/', 'cluster-7', 'r/z', '10.0.7.3:80'],
    ]);
    const byCluster = rowsOf(input, { filter: 'cluster-77' });
    expect(inColumn(byCluster, 'endpoint')).toHaveLength(10);
    expect(rowsOf(input, { filter: 'nothing' }).filter(({ kind }) => kind !== 'column')).toEqual(
      [],
    );
  });

  it('are at most 41 in a column and one for each pair of neighbours, whatever routes there are', () => {
    const weighted = Array.from({ length: 120 }, (_, i): Weighted => [`cluster-${i}`, 1]);
    const { config } = largeInput(120, 1);
    const routes = Array.from({ length: 120 }, () => route(forwardTo(weighted)));
    const rows = rowsOf({
      ...{ target: GRAPH_TARGET, policies: undefined },
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
    const counted = drawn.view(input, (part) =>
      'id' in part && part.name === 'cluster-1' ? { rate: 5 } : {},
    );
    const changed = counted.rows.filter((row, index) => row !== rows[index]);
    expect(changed).toMatchObject([{ name: 'cluster-1', rate: 5 }]);
  });
});

describe('the way of a call', () => {
  it('has 500 parts at most, those that the call takes first', () => {
    const input = largeInput(2000, 1);
    const graph = buildWholeGraph(input, graphOptions({ filter: '', opened: new Set() }));
    const trials = Array.from({ length: 2000 }, (_, index) => ({
      ...{ index, name: '', share: 1 },
      mismatch: index < 1999 ? 'path differs' : undefined,
    }));
    const cluster = { name: 'cluster-1999', weight: 1, share: 1, filters: [] };
    const explained: RoutedCall = {
      ...{ kind: 'routed', virtualHost: 'all', routes: trials },
      decisions: [
        {
          ...{ index: 1999, name: '', share: 1 },
          outcome: {
            ...{ kind: 'forward', clusters: [cluster], timeoutMs: undefined },
            ...{ retry: undefined, hashInputs: [] },
          },
        },
      ],
      ...{ unmatchedShare: 0, unusedFields: [], heldBack: [] },
    };
    const { nodes, edges } = findWay(graph, explained);
    expect(nodes).toHaveLength(500);
    expect(edges).toHaveLength(500);
    const taken = edges.filter(({ share }) => share > 0);
    expect(taken.map(({ name }) => name)).toEqual([
      ...['1999: prefix /cluster-1999/', 'cluster-1999', 'r/z', '10.7.207.0:80'],
    ]);
    // The routes right before the one that takes the call.
    expect(edges.filter(({ share }) => share === 0).at(-1)?.name).toBe(
      '1998: prefix /cluster-1998/',
    );
    const chosen = graph.edges.find(({ to }) => to.includes('/cluster-1999/'));
    expect(edges.map(({ id }) => id)).toContain(chosen && edgeRowId(chosen));
    expect(nodes).toContainEqual({
      id: nodeRowId('cluster cluster-1999'),
      column: 'cluster',
      share: 1,
    });
  });
});
