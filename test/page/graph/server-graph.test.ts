import { cutColumns } from '../../../packages/page/src/graph/cut-columns';
import { toTree } from '../../../packages/page/src/graph/graph-text';
import { layOut } from '../../../packages/page/src/graph/layout';
import { buildServerGraph } from '../../../packages/page/src/graph/server-graph';
import { serverReport } from '../../support/graphs';

const denied = { status: 'PERMISSION_DENIED', filter: 'rbac', policy: 'no-writes' };
const earlier = { action: 'deny', lastAt: '2026-01-01T00:00:00.000Z' } as const;

const server = serverReport({
  address: '0.0.0.0:50051',
  filterChains: [
    {
      name: 'inbound',
      match: 'default',
      tls: 'plain text',
      rbac: [],
      routes: { name: 'shop-routes' },
    },
    {
      name: '',
      match: 'from EXTERNAL',
      tls: 'TLS',
      rbac: [],
      routes: { failure: 'no routes yet' },
    },
  ],
  connections: {
    open: 3,
    generations: [],
    identities: [
      { identity: 'spiffe://td/web', connections: 2 },
      { identity: 'no certificate', connections: 1 },
    ],
    otherIdentities: 0,
  },
  refusals: [
    { ...denied, ...earlier, calls: 9 },
    { ...denied, ...earlier, policy: 'old', calls: 1 },
  ],
  recentCalls: [
    {
      identity: 'spiffe://td/web',
      filterChain: 'inbound',
      calls: 6,
      refusals: [{ ...denied, calls: 2 }],
    },
    { identity: 'no certificate', filterChain: 'inbound', calls: 2, refusals: [] },
  ],
});

describe('the graph of servers', () => {
  it('leads from clients over addresses and filter chains to routes, and to what refuses calls', () => {
    expect(toTree(buildServerGraph([server])).split('\n')).toEqual([
      expect.stringContaining('spiffe://td/web  [ready; 0.0.0.0:50051: 2 connections, 6 calls'),
      expect.stringContaining('  0.0.0.0:50051  ['),
      expect.stringContaining('    inbound  ['),
      expect.stringContaining('      shop-routes  ['),
      expect.stringContaining('      refused by rbac, policy no-writes  ['),
      expect.stringContaining('    from EXTERNAL  ['),
      expect.stringContaining('      routes of the Listener  ['),
      expect.stringContaining('    refused by rbac, policy old  ['),
      expect.stringContaining('no certificate  ['),
      expect.stringContaining('  0.0.0.0:50051  ['),
    ]);
  });

  it('has the shares of the calls, and the states of what fails', () => {
    const { nodes, edges } = buildServerGraph([server]);
    const shareOf = (to: string) => edges.find((edge) => edge.to.endsWith(to))?.share;
    expect(shareOf('inbound')).toBe(1);
    expect(shareOf('shop-routes')).toBe(0.75);
    expect(shareOf('no-writes')).toBe(0.25);
    const stateOf = (name: string) => nodes.find((node) => node.name === name)?.state;
    expect(stateOf('from EXTERNAL')).toBe('failing');
    expect(stateOf('refused by rbac, policy no-writes')).toBe('failing');
    // Not in the last minutes.
    expect(stateOf('refused by rbac, policy old')).toBe('unused');
    expect(nodes.find(({ name }) => name === 'spiffe://td/web')?.text).toBe(
      '0.0.0.0:50051: 2 connections, 6 calls in the last 5 minutes, 2 refused by rbac, policy no-writes',
    );
  });

  it('is as drawn as that of a target, in columns of its own', () => {
    const graph = buildServerGraph([server]);
    const { nodes } = layOut(graph);
    expect(nodes).toHaveLength(graph.nodes.length);
    const columns = ['client', 'address', 'chain', 'outcome'].map(
      (column) => nodes.find((node) => node.column === column)?.x ?? NaN,
    );
    expect(columns).toEqual(columns.toSorted((a, b) => a - b));
    expect(new Set(columns).size).toBe(4);
  });

  it('stays within its columns, however many clients there are', () => {
    const identities = Array.from({ length: 100 }, (_, i) => ({
      identity: `spiffe://td/${i}`,
      connections: 1,
    }));
    const many = {
      ...server,
      connections: { ...server.connections, identities, otherIdentities: 900 },
    };
    const { nodes } = cutColumns(buildServerGraph([many]), () => 40);
    const clients = nodes.filter(({ column }) => column === 'client');
    expect(clients).toHaveLength(41);
    expect(clients.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(1002);
  });
});
