import type { ServerSnapshot, ShareReport } from 'grpc-xds';
import { GraphParts } from './graph-parts';
import type { GraphColumn, GraphNode, GraphState, MeshGraph } from './mesh-graph';
import { counted } from './words';

/** The columns of what a process has its resources from. They are a flow of their own: no call takes it. */
const CONTROL_PLANE_COLUMNS = ['process', 'relay', 'management server'] as const;

/** Whether a column is one of the control plane. */
export function isOfControlPlane(column: GraphColumn): boolean {
  return CONTROL_PLANE_COLUMNS.some((each) => each === column);
}

/** Relays and management servers that are drawn. */
const MAX_SERVERS = 32;

/** A process, with what it has its resources from: made of a client, or of the report of one. */
export interface GraphProcess {
  readonly pid: number;
  readonly nodeId: string;
  /** That of this package. */
  readonly version: string;
  /** In the order in which they are used. */
  readonly servers: readonly GraphManagementServer[];
  readonly shares: readonly GraphShare[];
  /** The rejected updates of resources whose earlier versions are in use. Default: none is known. */
  readonly rejected?: readonly RejectedUpdate[];
}

/** An update that the client of a target has rejected. */
export interface RejectedUpdate {
  /** Such as `Cluster`. */
  readonly type: string;
  readonly name: string;
  readonly text: string;
}

/** What a node says of an update that was rejected, in a word. */
export const UPDATE_REJECTED = 'update rejected';

/** A management server, as far as a report describes it. */
export type GraphManagementServer = Partial<Omit<ServerSnapshot, 'serverUri' | 'state'>> &
  Readonly<Record<'serverUri' | 'state', string>>;

/** The relay that processes of a host share, as far as a report describes it. */
export type GraphShare = Omit<ShareReport, 'state' | 'role' | 'text'> &
  Readonly<Record<'state' | 'role', string>>;

/** A relay that is drawn with its clients. */
export interface GraphRelayServer {
  /** Where it listens. */
  readonly address: string;
  readonly pid: number;
  readonly version: string;
  readonly servers: readonly GraphManagementServer[];
  readonly clients: readonly Pick<GraphNode, 'name' | 'state' | 'text'>[];
}

/** What a process has its resources from: the relay, if there is one, and the management servers, with their states. */
export function buildControlPlaneGraph(process: GraphProcess): MeshGraph {
  return new ControlPlaneBuilder(process.shares).addProcess(process).parts.graph('');
}

/** Returns a graph with what its process has the resources from. */
export function withControlPlane(graph: MeshGraph, process: GraphProcess | undefined): MeshGraph {
  if (process === undefined) return graph;
  const { nodes, edges } = buildControlPlaneGraph(process);
  const calls = markRejected(graph.nodes, process.rejected ?? []);
  return { ...graph, nodes: [...calls, ...nodes], edges: [...graph.edges, ...edges] };
}

/** The types of resources that are of one cluster. */
const OF_CLUSTERS: ReadonlySet<string> = new Set(['Cluster', 'ClusterLoadAssignment']);

/** Marks the clusters whose updates were rejected, and the target, which any resource may be of. */
function markRejected(
  nodes: readonly GraphNode[],
  rejected: readonly RejectedUpdate[],
): readonly GraphNode[] {
  if (rejected.length === 0) return nodes;
  return nodes.map((node) => {
    const { column, name, text } = node;
    const own = rejected.filter((each) =>
      OF_CLUSTERS.has(each.type) ? column === 'cluster' && each.name === name : column === 'target',
    );
    if (column !== 'target' && own.length === 0) return node;
    const texts = [text, ...own.map((each) => each.text)].filter((each) => each !== '');
    return { ...node, flaw: UPDATE_REJECTED, text: texts.join('; ') };
  });
}

/** Who connects to a relay, and which management servers it uses. */
export function buildRelayGraph(relay: GraphRelayServer): MeshGraph {
  return new ControlPlaneBuilder([]).addRelay(relay).parts.graph('');
}

class ControlPlaneBuilder {
  readonly parts = new GraphParts();

  constructor(private readonly shares: readonly GraphShare[]) {}

  addProcess({ pid, nodeId, version, servers }: GraphProcess): this {
    const id = `process ${pid}`;
    const own = servers.map(judgeServer);
    const isServing = this.shares.some(
      (share) => share.role === 'relay' && isAmong(share, servers),
    );
    this.parts.add({
      id,
      column: 'process',
      name: `pid ${pid}`,
      state: stateOfClient(own),
      text: listed([
        `node ${nodeId}`,
        `grpc-xds ${version}`,
        ...(isServing ? ['is the relay of its host'] : []),
      ]),
    });
    this.addServers(id, servers);
    return this;
  }

  addRelay({ address, pid, version, servers, clients }: GraphRelayServer): this {
    const id = `relay ${address}`;
    const state = stateOfClient(servers.map(judgeServer));
    const text = listed([`pid ${pid}`, `grpc-xds ${version}`, counted(clients.length, 'client')]);
    clients.forEach(({ name, ...rest }) => {
      const from = `process ${name}`;
      this.parts.add({ id: from, column: 'process', name, ...rest });
      this.parts.connect(from, id, { isUsed: true });
    });
    this.parts.add({ id, column: 'relay', name: address, state, text });
    this.addServers(id, servers);
    return this;
  }

  private addServers(from: string, servers: readonly GraphManagementServer[]): void {
    for (const server of servers) {
      const share = this.shares.find(({ address }) => address === server.serverUri);
      const column = share === undefined ? 'management server' : 'relay';
      const to = `${column} ${server.serverUri}`;
      if (!this.parts.nodes.has(to) && this.countServers() >= MAX_SERVERS) return;
      const judged = judgeServer(server);
      const state = share?.state === 'unavailable' ? 'failing' : judged.state;
      const text = listed([...(share === undefined ? [] : describeShare(share)), judged.text]);
      this.parts.add({ id: to, column, name: server.serverUri, state, text });
      const isUsed = server.state === 'open';
      this.parts.connect(from, to, { isUsed, text: isUsed ? '' : server.state });
      if (share !== undefined) this.addUpstream(to, share, isUsed);
    }
  }

  /** What is above a relay, which knows its state. */
  private addUpstream(from: string, { upstream }: GraphShare, isUsed: boolean): void {
    const id = `management server above ${upstream}`;
    const text = isUsed ? 'used by the relay' : 'not known while the relay does not answer';
    this.parts.add({ id, column: 'management server', name: upstream, state: 'unused', text });
    this.parts.connect(from, id, { isUsed, text: isUsed ? '' : text });
  }

  private countServers(): number {
    let count = 0;
    for (const { column } of this.parts.nodes.values()) if (column !== 'process') count++;
    return count;
  }
}

function isAmong({ address }: GraphShare, servers: readonly GraphManagementServer[]): boolean {
  return servers.some(({ serverUri }) => serverUri === address);
}

/** The state of what uses servers: one that works is enough. */
function stateOfClient(servers: readonly Pick<GraphNode, 'state'>[]): GraphState {
  const states = servers.map(({ state }) => state);
  if (states.includes('ready')) return 'ready';
  return states.includes('failing') ? 'failing' : 'waiting';
}

/** Returns why a management server cannot be used; `undefined` if it can. */
export function serverError({
  lastError,
  shortStreams = 0,
}: Pick<GraphManagementServer, 'lastError' | 'shortStreams'>): string | undefined {
  if (lastError !== undefined || shortStreams === 0) return lastError;
  return `ended ${shortStreams} streams soon after they opened`;
}

function judgeServer(server: GraphManagementServer): Pick<GraphNode, 'state' | 'text'> {
  const { state, failingSince, retryInMs } = server;
  const error = serverError(server);
  if (error !== undefined || state === 'backoff') {
    const facts = [
      error ?? 'waits for its next attempt',
      failingSince === undefined ? '' : `failing since ${failingSince}`,
      retryInMs === undefined ? '' : `next attempt in ${Math.ceil(retryInMs / 1000)} s`,
    ];
    return { state: 'failing', text: listed(facts) };
  }
  if (state === 'open') return { state: 'ready', text: 'connected' };
  return { state: state === 'closed' ? 'unused' : 'waiting', text: state };
}

function describeShare({
  pid,
  role,
  state,
  reason,
  since,
  takeovers,
  clients,
}: GraphShare): readonly string[] {
  return [
    pid === undefined ? '' : `pid ${pid}`,
    role === 'relay' ? 'this process' : '',
    state === 'ready' ? '' : (reason ?? state),
    since === undefined ? '' : `used since ${since}`,
    takeovers > 0 ? counted(takeovers, 'takeover') : '',
    clients === undefined ? '' : counted(clients, 'client'),
  ];
}

function listed(facts: readonly string[]): string {
  return facts.filter((fact) => fact !== '').join(', ');
}
