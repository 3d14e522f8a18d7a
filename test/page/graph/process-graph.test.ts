import { buildProcessGraph } from '../../../packages/page/src/graph/process-graph';
import { buildServerGraph } from '../../../packages/page/src/graph/server-graph';
import type { GraphState, MeshGraph } from '../../../packages/page/src/graph/mesh-graph';
import { edgesOf, nodesOf, serverReport } from '../../support/graphs';

/** The graph of a target with localities, each in use unless it fails. */
function graphWith(target: string, localities: Readonly<Record<string, GraphState>>): MeshGraph {
  const names = Object.entries(localities);
  return {
    target,
    nodes: names.map(([name, state]) => ({
      id: `locality ${name}`,
      column: 'locality',
      name,
      state,
      text: '',
    })),
    edges: names.map(([name, state]) => ({
      from: 'cluster',
      to: `locality ${name}`,
      isUsed: state !== 'failing',
      text: '',
    })),
  };
}

const identities = [{ identity: 'shop', connections: 2 }];
const server = serverReport({
  address: '127.0.0.1:80',
  since: '2026-01-01T00:00:00.000Z',
  listener: { name: 'inbound' },
  connections: { open: 2, generations: [], identities, otherIdentities: 0 },
});

describe('the graph of a process', () => {
  const self = { name: 'process 7', text: '' };
  const targets = [
    {
      name: 'a',
      state: 'degraded',
      text: '',
      graph: graphWith('a', { 'eu/1': 'failing', 'eu/2': 'ready' }),
    },
    {
      name: 'b',
      state: 'ready',
      text: '',
      graph: graphWith('b', { 'eu/1': 'ready', 'eu/2': 'ready' }),
    },
    { name: 'c', state: 'waiting', text: 'Listener "c"', graph: undefined },
  ] as const;

  it('has who calls it, the targets that it calls, and the zones of these', () => {
    const places = new Map([['eu/1', '1 of 2 endpoints fails']]);
    const graph = buildProcessGraph(self, targets, buildServerGraph([server]), places);
    expect(nodesOf(graph)).toEqual([
      'address 127.0.0.1:80: ready (Listener inbound; since 2026-01-01T00:00:00.000Z)',
      'client shop: ready (127.0.0.1:80: 2 connections)',
      'service process 7: degraded',
      'target a: degraded',
      'target b: ready',
      'target c: waiting',
      'locality eu/1: degraded (1 of 2 endpoints fails)',
      'locality eu/2: ready',
    ]);
    expect(edgesOf(graph)).toEqual([
      'shop -> 127.0.0.1:80 (2 connections)',
      '127.0.0.1:80 -> process 7',
      'process 7 -> a',
      'process 7 -> b',
      'process 7 -> c',
      'a ..> eu/1',
      'b -> eu/1',
      'a -> eu/2',
      'b -> eu/2',
    ]);
  });

  it('is failing if each target is', () => {
    const all = targets.map((target) => ({ ...target, state: 'failing' as const }));
    const { nodes } = buildProcessGraph(self, all, buildServerGraph([]), new Map());
    expect(nodes[0]).toMatchObject({ column: 'service', state: 'failing' });
  });

  it('has the flaw of a target, as an update that was rejected', () => {
    const flawed = targets.map((target) => ({ ...target, flaw: 'update rejected' }));
    const { nodes } = buildProcessGraph(self, flawed, buildServerGraph([]), new Map());
    const marked = nodes.filter(({ flaw }) => flaw !== undefined).map(({ column }) => column);
    expect(marked).toEqual(['service', 'target', 'target', 'target']);
  });
});
