import {
  buildControlPlaneGraph,
  buildRelayGraph,
  type GraphManagementServer,
  type GraphProcess,
} from '../../../packages/page/src/graph/control-plane-graph';
import { cutColumns } from '../../../packages/page/src/graph/cut-columns';
import { toTree } from '../../../packages/page/src/graph/graph-text';
import { layOut } from '../../../packages/page/src/graph/layout';
import { readProcess } from '../../../packages/page/src/graph/read-report';

const server: GraphManagementServer = { serverUri: 'xds.example:443', state: 'open' };
const socket = 'unix:/run/xds.sock';
const plain: GraphProcess = {
  pid: 12,
  nodeId: 'n1',
  version: '1.0.0',
  servers: [server],
  shares: [],
};
const shared: GraphProcess = {
  ...plain,
  servers: [{ serverUri: socket, state: 'open' }],
  shares: [
    {
      address: socket,
      upstream: 'xds.example:443',
      state: 'ready',
      role: 'relay',
      pid: 7,
      since: '2026-11-24T09:31:57.120Z',
      takeovers: 1,
      clients: 3,
    },
  ],
};
const linesOf = (process: GraphProcess) => toTree(buildControlPlaneGraph(process)).split('\n');

describe('the graph of what a process has its resources from', () => {
  it('leads to the management servers, those that fail with the error', () => {
    const lastError = 'connect ECONNREFUSED';
    const failing = { serverUri: 'b:443', state: 'backoff', lastError, retryInMs: 1500 };
    expect(linesOf({ ...plain, servers: [failing, server] })).toEqual([
      'pid 12  [ready; node n1, grpc-xds 1.0.0]',
      '  b:443  [backoff; failing; connect ECONNREFUSED, next attempt in 2 s]',
      '  xds.example:443  [ready; connected]',
    ]);
  });

  it('leads over the relay, with its clients if the process is the relay', () => {
    expect(linesOf(shared)).toEqual([
      'pid 12  [ready; node n1, grpc-xds 1.0.0, is the relay of its host]',
      `  ${socket}  [ready; pid 7, this process, used since 2026-11-24T09:31:57.120Z, 1 takeover, 3 clients, connected]`,
      '    xds.example:443  [unused; used by the relay]',
    ]);
  });

  it('names the management servers of a relay that does not answer', () => {
    const share = { ...shared.shares[0], state: 'unavailable', reason: 'EACCES', role: 'none' };
    const servers = [{ serverUri: socket, state: 'connecting' }];
    const [, relay, upstream] = linesOf({
      ...shared,
      servers,
      shares: [{ ...plainShare, ...share }],
    });
    expect(relay).toContain(`${socket}  [connecting; failing; pid 7, EACCES`);
    expect(upstream).toContain(
      'xds.example:443  [not known while the relay does not answer; unused',
    );
  });

  it('has at most 32 servers', () => {
    const many = Array.from({ length: 99 }, (_, i) => ({ serverUri: `s${i}`, state: 'open' }));
    expect(buildControlPlaneGraph({ ...plain, servers: many }).nodes).toHaveLength(33);
  });

  it('is drawn below the calls', () => {
    const target = {
      id: 'target a',
      column: 'target',
      name: 'a',
      state: 'ready',
      text: '',
    } as const;
    const control = buildControlPlaneGraph(shared);
    const alone = layOut({ target: 'a', nodes: [target], edges: [] });
    const both = layOut({ ...control, nodes: [target, ...control.nodes] });
    expect(both.nodes[0]?.y).toBe(alone.nodes[0]?.y);
    expect(both.height).toBeGreaterThan(alone.height);
    expect(both.nodes.slice(1).every(({ y }) => y >= alone.height)).toBe(true);
  });

  it('groups the clients of a relay beyond those that are drawn one by one, rejected ones first', () => {
    const clients = Array.from({ length: 1000 }, (_, index) => ({
      name: `client (stream ${index})`,
      text: '',
      state: index === 999 ? ('failing' as const) : ('ready' as const),
    }));
    const relay = { address: socket, pid: 7, version: '1.0.0', servers: [server], clients };
    const { nodes } = cutColumns(buildRelayGraph(relay), () => 40);
    expect(nodes.map(({ name }) => name)).toContain('client (stream 999)');
    expect(nodes.map(({ name }) => name)).toContain('960 more');
    expect(nodes.find(({ column }) => column === 'relay')?.text).toBe(
      'pid 7, grpc-xds 1.0.0, 1000 clients',
    );
  });

  it('is the same of a report, of which anything may be wrong', () => {
    const { pid, nodeId, version, servers, shares } = shared;
    const report = { pid, version, shares, targets: [{ target: 'a', nodeId, servers }] };
    const read = readProcess(JSON.parse(JSON.stringify(report)), 'a');
    expect(read && linesOf(read)).toEqual(linesOf(shared));
    expect(readProcess(report, 'b')).toBeUndefined();
    const wrong = {
      pid: 1,
      shares: 7,
      targets: [null, { target: 'a', servers: [3, { relay: [] }] }],
    };
    expect(readProcess(wrong, 'a')?.servers).toHaveLength(2);
  });
});

const plainShare = { address: socket, upstream: 'xds.example:443', takeovers: 0 };
