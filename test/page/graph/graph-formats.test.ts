import type { Browser } from 'playwright-core';
import { compareGraphs } from '../../../packages/page/src/graph/compare-graphs';
import { toSvg } from '../../../packages/page/src/graph/graph-svg';
import { toTree } from '../../../packages/page/src/graph/graph-text';
import { boxText, layOut, withRates } from '../../../packages/page/src/graph/layout';
import type { GraphNode, MeshGraph } from '../../../packages/page/src/graph/mesh-graph';
import { readPolicies } from '../../../packages/page/src/graph/read-report';
import { chromiumPath, launchBrowser } from '../../support/browser';
import type { Random } from '../../../src/util/random';
import { graphConfig, graphOf, nodesOf } from '../../support/graphs';
import { seededRandom } from '../../support/seeded-random';
import { aggregateOf, failedCluster, leafOf } from '../../support/lb-xds-config';
import {
  aggregateCluster,
  edsCluster,
  endpoints,
  forwardTo,
  route,
  virtualHost,
  virtualHostTo,
} from '../../support/xds-builders';

const leaf = (name: string, ...hosts: readonly string[]) =>
  leafOf(edsCluster(name), { priorities: endpoints(name, ...hosts).priorities });

/** Names that try to leave the place that a format has for them. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ['markup', '</title><script>globalThis.hacked = 1</script><img src=x onerror=hacked=1>'],
  ['quotes', `"];n0["x'\`&quot;]]>`],
  ['ends of statements', 'x"; } digraph evil { a\n  n9["click"]\nclick n9 "javascript:1"\\'],
  ['entities', '#59;&#x3c;&lt;%%{init: {}}%%'],
  ['control characters', '\0\x07\x1b[2J\r\n\t\x9b\u2028\u202e\u200b'],
  ['half of a character and no character', 'a\ud800b\udc00\ufffe\uffff'],
  ['a name of objects', '__proto__'],
  ['no characters', ''],
  ['a long text', 'long '.repeat(50_000)],
];

function graphWith(name: string): MeshGraph {
  const host = virtualHost([{ ...route(forwardTo(name)), name }, route(forwardTo('b'))], { name });
  return graphOf(
    graphConfig(
      host,
      new Map([
        [name, leaf(name, '10.0.0.1')],
        ['b', failedCluster(name)],
      ]),
    ),
  );
}

describe.each(HOSTILE)('a graph of names with %s', (_case, name) => {
  const graph = graphWith(name);
  const [routes, clusters] = [2, name === 'b' ? 1 : 2];
  const nodeCount = 1 + routes + clusters + 2;

  it('is a tree with one line for each node, without control characters', () => {
    const lines = toTree(graph).split('\n');
    expect(lines).toHaveLength(nodeCount);
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(4096);
  });
});

const describeInBrowser =
  chromiumPath === undefined && process.env.CI === undefined ? describe.skip : describe;

describeInBrowser('an SVG in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it.each(HOSTILE)('is XML without script: names with %s', async (_case, name) => {
    const page = await browser.newPage();
    const svg = toSvg(graphWith(name));
    await page.setContent(svg);
    const found: unknown = await page.evaluate(`(() => {
      const parsed = new DOMParser().parseFromString(${JSON.stringify(svg)}, 'image/svg+xml');
      const elements = [...parsed.querySelectorAll('*')];
      const attributes = elements.flatMap((element) => element.getAttributeNames());
      return {
        errors: parsed.querySelectorAll('parsererror').length,
        names: [...new Set(elements.map(({ localName }) => localName))].sort(),
        handlers: attributes.filter((attribute) => attribute.startsWith('on')),
        groups: parsed.querySelectorAll('g').length,
        isHacked: 'hacked' in globalThis,
      };
    })()`);
    await page.close();
    expect(found).toEqual({
      errors: 0,
      handlers: [],
      isHacked: false,
      groups: graphWith(name).nodes.length,
      names: ['g', 'marker', 'path', 'rect', 'svg', 'text', 'title'],
    });
  });
});

describe('the layout of a graph', () => {
  const aggregate = aggregateOf(aggregateCluster('all', 'x', 'y'), 'x', 'y');
  const cases: readonly (readonly [string, MeshGraph])[] = [
    ['no routes', graphOf(graphConfig(virtualHost([]), {}))],
    ['no clusters', graphOf(graphConfig(virtualHostTo('a'), {}))],
    [
      'an aggregate whose leaves are missing, beside a cluster',
      graphOf(
        graphConfig(virtualHostTo(['all', 'a']), {
          all: aggregate,
          x: failedCluster('missing'),
          y: failedCluster('missing'),
          a: leaf('a', '10.0.0.1'),
        }),
      ),
    ],
    [
      'a leaf that a route names before its aggregate',
      graphOf(
        graphConfig(
          virtualHostTo([
            ['x', 1],
            ['all', 3],
          ]),
          {
            all: aggregate,
            x: leaf('x', '10.0.0.1'),
            y: leaf('y', '10.0.0.2'),
          },
        ),
      ),
    ],
  ];

  it.each(cases)('has places within the picture, from left to right: %s', (_case, graph) => {
    const { width, height, nodes, edges } = layOut(graph);
    expect(nodes.map(({ id }) => id)).toEqual(graph.nodes.map(({ id }) => id));
    const places = new Map(nodes.map((node) => [node.id, node]));
    for (const node of nodes) {
      expect(node.x).toBeGreaterThanOrEqual(0);
      expect(node.x + node.width).toBeLessThanOrEqual(width);
      expect(node.y).toBeGreaterThanOrEqual(0);
      expect(node.y + node.height).toBeLessThanOrEqual(height);
    }
    for (const { from, to, path } of edges) {
      expect(places.get(from)?.x).toBeLessThan(places.get(to)?.x ?? 0);
      expect(path).toMatch(/^M[\d.,C-]+$/);
    }
  });

  const node = (name: string, column: GraphNode['column'], state: GraphNode['state'] = 'ready') =>
    ({ id: name, name, column, state, text: '' }) as const;
  const edge = (from: string, to: string) => ({ from, to, text: '', isUsed: true });
  const shared: MeshGraph = {
    target: 'web',
    nodes: [
      node('web', 'service'),
      node('catalog', 'target'),
      node('cart', 'target'),
      node('eu/a', 'locality', 'failing'),
      node('eu/b', 'locality'),
      node('us', 'locality'),
    ],
    edges: [
      edge('web', 'catalog'),
      edge('web', 'cart'),
      ...['catalog', 'cart'].flatMap((name) => [edge(name, 'eu/a'), edge(name, 'eu/b')]),
      edge('catalog', 'us'),
    ],
  };

  it('has what several boxes lead to below them all and their names, in a narrow picture', () => {
    const { nodes, headings } = layOut(shared, { room: 390 });
    const byPlace = nodes.toSorted((a, b) => a.y - b.y);
    const indents = byPlace.map(({ name, x }) => `${' '.repeat(Math.floor(x / 14))}${name}`);
    expect(indents).toEqual(['web', ' catalog', '  us', ' cart', '  eu/a', '  eu/b']);
    expect(headings.map(({ text }) => text)).toEqual(['from catalog, cart']);
    const y = headings[0]?.y ?? 0;
    const places = new Map(nodes.map((each) => [each.name, each]));
    const cart = places.get('cart');
    expect(y).toBeGreaterThan((cart?.y ?? 0) + (cart?.height ?? 0));
    expect(y).toBeLessThan(places.get('eu/a')?.y ?? 0);
  });

  it('has a number on its own line', () => {
    for (const { path, label } of layOut(shared).edges) {
      expect((label?.y ?? 0) - Number(/,([\d.]+)$/.exec(path)?.[1])).toBeCloseTo(4, 0);
    }
  });

  it.each([
    ['its rates, and no word that its mark says', {}, 200, 40, '18.6/s, p99 365 ms'],
    ['as many of them as there is room for', {}, 90, 40, '18.6/s'],
    ['its state where there is no room', {}, 40, 40, 'ready'],
    [
      'what is wrong before its rates',
      { state: 'failing', text: '4 of 4 endpoints fail' },
      240,
      40,
      'failing, 4 of 4 endpoints fail',
    ],
    [
      'the same in two lines',
      { state: 'failing', text: '4 of 4 endpoints fail' },
      135,
      56,
      'failing, 4 of 4 endpoints fail',
    ],
    [
      'a flaw before its state',
      { state: 'degraded', flaw: 'update rejected' },
      130,
      40,
      'update rejected',
    ],
    ['a flaw of what is ready', { flaw: 'update rejected' }, 120, 40, 'update rejected'],
  ] as const)('writes into a box %s', (_case, of, width, height, text) => {
    const rates = ['18.6/s', 'p99 365 ms'];
    const size = { width, height };
    const box = withRates(boxText({ ...node('a', 'locality'), ...of }, size), rates, size);
    expect(box.words + box.rates).toBe(text);
  });

  it('makes a box higher where what is wrong needs two lines', () => {
    const failing = { ...node('a', 'locality', 'failing'), text: '4 of 4 endpoints fail' };
    const heightIn = (room: number) =>
      layOut({ target: '', nodes: [node('b', 'target'), failing], edges: [] }, { room }).nodes.map(
        ({ height }) => height,
      );
    expect(heightIn(900)).toEqual([40, 40]);
    const columns = ['client', 'address', 'service', 'route', 'cluster', 'endpoint'] as const;
    const others = columns
      .map((column) => node('x'.repeat(30), column))
      .map((each, i) => ({
        ...each,
        id: `${i}`,
      }));
    const { nodes } = layOut(
      { target: '', nodes: [...others, failing], edges: [] },
      { room: 1000 },
    );
    expect(nodes.at(-1)?.height).toBe(56);
  });

  it('gives a line the width of all calls that it has, whatever comes first', () => {
    const { edges } = layOut(cases[3]?.[1] ?? graphWith('a'));
    const widthOf = (to: string) =>
      edges.find((edge) => edge.to === to && edge.from.startsWith('route'))?.width ?? 0;
    const [toLeaf, toAll] = [widthOf('cluster x'), widthOf('cluster all')];
    expect(toAll / toLeaf).toBeCloseTo(3);
    const toEndpoints = edges.find(({ from }) => from === 'cluster x')?.width ?? 0;
    expect(toEndpoints).toBeCloseTo(toLeaf + toAll);
  });
});

describe('the places of what a cluster has', () => {
  const names = ['p', 'q', 'r', 's', 't', 'u', 'v'];

  it('are in the order of priorities, the first one at the top, whatever other routes use of it', () => {
    const random = seededRandom(37);
    for (let round = 0; round < 50; round++) {
      const leaves = names.toSorted(() => random() - 0.5).slice(0, 3 + Math.floor(random() * 4));
      const used = names.toSorted(() => random() - 0.5).slice(0, 4);
      const host = virtualHost(
        [...used, 'all'].toSorted(() => random() - 0.5).map((to) => route(forwardTo(to))),
      );
      const clusters = names.map((name) => [name, leafOfPriorities(name, random)] as const);
      const all = aggregateOf(aggregateCluster('all', ...leaves), ...leaves);
      const graph = graphOf(graphConfig(host, new Map([...clusters, ['all', all]])));
      const { nodes, edges } = layOut(graph);
      const places = new Map(nodes.map(({ id, y }) => [id, y]));
      for (const { id } of nodes.filter(({ column }) => column === 'cluster')) {
        const below = edges.filter(({ from }) => from === id).map(({ to }) => places.get(to));
        expect(below).toEqual(below.toSorted((a, b) => (a ?? 0) - (b ?? 0)));
      }
    }
  });

  function leafOfPriorities(name: string, random: Random): ReturnType<typeof leaf> {
    const count = 1 + Math.floor(random() * 3);
    return leafOf(edsCluster(name), {
      priorities: Array.from({ length: count }, (_, index) =>
        endpoints(name, `127.0.0.${index + 1}`),
      ).flatMap(({ priorities }) => priorities),
    });
  }
});

describe('the comparison of two graphs', () => {
  const describeNothing = () => '';
  const before = graphOf(
    graphConfig(
      virtualHostTo([
        ['a', 75],
        ['b', 25],
      ]),
      {
        a: leaf('a', '10.0.0.1', '10.0.0.2'),
        b: leaf('b', '10.0.0.3'),
      },
    ),
  );
  const after = graphOf(
    graphConfig(
      virtualHostTo([
        ['a', 50],
        ['c', 50],
      ]),
      {
        a: leaf('a', '10.0.0.1', '10.0.0.4'),
        c: failedCluster('c is missing'),
      },
    ),
  );

  it('is the later graph, if they are the same', () => {
    expect(compareGraphs(after, after, describeNothing)).toEqual(after);
  });

  it('has a sign for each change, in every format', () => {
    const compared = compareGraphs(before, after, describeNothing);
    const tree = toTree(compared).split('\n');
    expect(tree).toEqual(
      expect.arrayContaining([
        '    a  [~ 50 %, was 75 %; ready]',
        '        + 10.0.0.4:80  [+; ready]',
        '        - 10.0.0.2:80  [-; ready]',
        '    + c  [+ 50 %; failing; c is missing]',
        '    - b  [- 25 %; ready]',
      ]),
    );
    const svg = toSvg(compared);
    expect(svg).toMatch(/>~ 50 %, was 75 %<\/text>/);
    expect(svg).toMatch(/fill="#1f2328">\+ c</);
  });

  it('names what a state was, and what is described of a resource', () => {
    const failed = graphOf(
      graphConfig(
        virtualHostTo([
          ['a', 50],
          ['c', 50],
        ]),
        {
          a: failedCluster('rejected'),
          c: leaf('c', '10.0.0.9'),
        },
      ),
    );
    const compared = compareGraphs(failed, after, ({ name }) =>
      name === 'a' ? 'changed type' : '',
    );
    expect(nodesOf(compared)).toEqual(
      expect.arrayContaining([
        'cluster a: ready (changed type; was failing: rejected)',
        'cluster c: failing (c is missing; was ready)',
      ]),
    );
  });

  it('can be drawn, also if a leaf has become the aggregate', () => {
    const host = virtualHostTo(['x', 'y']);
    const of = (aggregate: string, part: string) =>
      graphOf(
        graphConfig(host, {
          [aggregate]: aggregateOf(aggregateCluster(aggregate, part), part),
          [part]: leaf(part, '10.0.0.1'),
        }),
      );
    const compared = compareGraphs(of('x', 'y'), of('y', 'x'), describeNothing);
    const ways = compared.edges.filter(
      ({ from, to }) => from.startsWith('cluster') && to.startsWith('cluster'),
    );
    expect(ways).toHaveLength(1);
    expect(toSvg(compared)).toMatch(/<\/svg>$/);
  });
});

describe('policies of a report', () => {
  const deep = (depth: number): object => {
    let policy: object = { policy: 'x' };
    for (let level = 0; level < depth; level++) policy = { policy: 'x', children: [policy] };
    return policy;
  };

  it.each([
    ['nothing', undefined],
    ['a text', 'policies'],
    ['a list', [{}]],
    [
      'wrong types',
      { policy: 1, state: {}, error: [], details: [], role: 7, children: 'x', endpoints: {} },
    ],
    [
      'wrong children',
      { children: [null, 1, [], { children: [[]], endpoints: [null, 'x', { addresses: 5 }] }] },
    ],
    [
      'wrong endpoints',
      { details: { cluster: 'a' }, endpoints: [{ addresses: [{}, 1, null] }, {}] },
    ],
    [
      'names of objects',
      JSON.parse('{"details":{"__proto__":{"a":1},"cluster":"a","constructor":1}}'),
    ],
    ['deep policies', deep(100_000)],
    [
      'many endpoints',
      { details: { cluster: 'a' }, endpoints: Array(100_000).fill({ addresses: ['x'] }) },
    ],
  ])('are read as far as they can be: %s', (_case, json) => {
    const graph = graphOf(
      graphConfig(virtualHostTo('a'), { a: leaf('a', '10.0.0.1') }),
      readPolicies(json),
    );
    expect(toTree(graph).split('\n')).toHaveLength(5);
    expect(toSvg(graph)).toMatch(/<\/svg>$/);
  });
});
