import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';

/** What is drawn of an address of a server: a `ServerReport` is one. */
export interface GraphServer {
  readonly address: string;
  readonly state: 'SERVING' | 'NOT_SERVING';
  readonly reason?: string;
  /** When the state began. */
  readonly since?: string;
  readonly listener?: { readonly name: string; readonly version?: string };
  /** One line for each pending resource. */
  readonly waitingFor?: readonly string[];
  readonly handshakes?: {
    readonly failures: readonly {
      readonly cause: string;
      readonly handshakes: number;
      readonly lastAt: string;
    }[];
  };
  readonly filterChains: readonly {
    readonly name: string;
    readonly match: string;
    readonly tls: string;
    readonly rbac?: readonly {
      readonly filter: string;
      readonly action: string;
      readonly policies: number;
    }[];
    readonly routes: { readonly name?: string; readonly failure?: string };
  }[];
  readonly connections: {
    readonly identities: readonly { readonly identity: string; readonly connections: number }[];
    readonly otherIdentities: number;
  };
  readonly refusals: readonly GraphRefusal[];
  /** The calls of the last minutes; absent if they are not counted. */
  readonly recentCalls?: readonly GraphCalls[];
}

/** Calls that were refused for the same cause. */
export interface GraphRefusal {
  readonly status: string;
  readonly filter: string;
  readonly policy: string;
  readonly calls: number;
  readonly lastAt?: string;
}

/** The calls of a client that a filter chain has judged. */
export interface GraphCalls {
  readonly identity: string;
  /** The name of the chain, or what it matches. */
  readonly filterChain: string;
  readonly calls: number;
  readonly refusals: readonly GraphRefusal[];
}

/** The ways of the calls of the servers of a process: clients, addresses, filter chains, and routes or what refuses calls. */
export function buildServerGraph(servers: readonly GraphServer[]): MeshGraph {
  const builder = new ServerGraphBuilder();
  for (const server of servers) builder.add(server);
  return builder.build();
}

class ServerGraphBuilder {
  private readonly nodes = new Map<string, GraphNode>();
  private readonly edges: GraphEdge[] = [];
  /** By identity, what its node says of each address. */
  private readonly clients = new Map<string, string[]>();

  add(server: GraphServer): void {
    const { address } = server;
    const id = `address ${address}`;
    const state = server.state === 'SERVING' ? 'ready' : 'failing';
    this.nodes.set(id, { id, column: 'address', name: address, state, text: describe(server) });
    this.addClients(server);
    for (const chain of server.filterChains) this.addChain(server, chain);
    this.addRefusals(server);
    for (const failure of server.handshakes?.failures ?? []) {
      const name = `handshake failed: ${failure.cause}`;
      const text = `${counted(failure.handshakes, 'handshake')}, last ${failure.lastAt}`;
      const to = `outcome ${address} ${name}`;
      this.nodes.set(to, { id: to, column: 'outcome', name, state: 'unused', text });
      this.connect(id, to, { isUsed: false, text });
    }
  }

  build(): MeshGraph {
    for (const [identity, texts] of this.clients) {
      const id = `client ${identity}`;
      this.nodes.set(id, {
        id,
        column: 'client',
        name: identity,
        state: 'ready',
        text: texts.join('; '),
      });
    }
    return { target: '#server', nodes: [...this.nodes.values()], edges: this.edges };
  }

  private addClients({ address, connections, recentCalls = [] }: GraphServer): void {
    const { identities, otherIdentities } = connections;
    const open = new Map(identities.map((each) => [each.identity, each.connections]));
    const names = new Set([...open.keys(), ...recentCalls.map(({ identity }) => identity)]);
    for (const identity of names) {
      const own = recentCalls.filter((each) => each.identity === identity);
      const text = describeClient(open.get(identity) ?? 0, own);
      this.clients.set(identity, [...(this.clients.get(identity) ?? []), `${address}: ${text}`]);
      this.connect(`client ${identity}`, `address ${address}`, {
        isUsed: open.has(identity),
        text,
      });
    }
    if (otherIdentities === 0) return;
    const id = `other clients ${address}`;
    const name = `${otherIdentities} other clients`;
    this.nodes.set(id, {
      id,
      column: 'client',
      name,
      state: 'ready',
      text: 'with fewer connections',
      count: otherIdentities,
    });
    this.connect(id, `address ${address}`, { isUsed: true, text: '' });
  }

  private addChain(
    { address, recentCalls }: GraphServer,
    { name, match, tls, rbac = [], routes }: GraphServer['filterChains'][number],
  ): void {
    const label = name || match;
    const id = chainId(address, label);
    const own = (recentCalls ?? []).filter(({ filterChain }) => filterChain === label);
    const calls = sum(own);
    const refused = sum(own.flatMap(({ refusals }) => refusals));
    const { failure } = routes;
    const state = failure === undefined ? 'ready' : 'failing';
    const facts = [
      ...(name === '' ? [tls] : [match, tls]),
      ...rbac.map(
        ({ filter, action, policies }) =>
          `${filter}: ${action}, ${policies === 1 ? '1 policy' : `${policies} policies`}`,
      ),
    ];
    this.nodes.set(id, { id, column: 'chain', name: label, state, text: facts.join('; ') });
    const all = sum(recentCalls ?? []);
    this.connect(`address ${address}`, id, {
      isUsed: failure === undefined,
      text: described(calls, recentCalls),
      ...measured(calls, all),
    });
    const source = routes.name === undefined ? 'routes of the Listener' : routes.name;
    const to = `outcome ${address} routes ${routes.name ?? ''}`;
    this.nodes.set(to, { id: to, column: 'outcome', name: source, state, text: failure ?? '' });
    this.connect(id, to, {
      isUsed: failure === undefined,
      text: described(calls - refused, recentCalls),
      ...measured(calls - refused, calls),
    });
  }

  /** Those of the last minutes lead from their chain; of earlier ones only the address is known. */
  private addRefusals({ address, refusals, recentCalls = [] }: GraphServer): void {
    const byChain = refusalsByChain(recentCalls);
    for (const refusal of refusals) {
      const name = nameOfRefusal(refusal);
      const id = `outcome ${address} refused ${name}`;
      const chains = [...byChain].filter(([, known]) => known.has(name));
      const last = refusal.lastAt === undefined ? '' : `, last ${refusal.lastAt}`;
      const text = `${refusal.status}: ${counted(refusal.calls, 'call')} since the start${last}`;
      const state = chains.length > 0 ? 'failing' : 'unused';
      this.nodes.set(id, { id, column: 'outcome', name, state, text });
      if (chains.length === 0) this.connect(`address ${address}`, id, { isUsed: false, text });
      for (const [chain, known] of chains) {
        const from = chainId(address, chain);
        // A chain of an earlier Listener has no node.
        const start = this.nodes.has(from) ? from : `address ${address}`;
        const calls = known.get(name)?.calls ?? 0;
        const all = sum(recentCalls.filter(({ filterChain }) => filterChain === chain));
        const share = start === from ? measured(calls, all) : {};
        this.connect(start, id, { isUsed: true, text: described(calls, recentCalls), ...share });
      }
    }
  }

  private connect(from: string, to: string, edge: Omit<GraphEdge, 'from' | 'to'>): void {
    this.edges.push({ from, to, ...edge });
  }
}

function refusalsByChain(recentCalls: readonly GraphCalls[]) {
  const byChain = new Map<string, Map<string, GraphRefusal>>();
  for (const { filterChain, refusals } of recentCalls) {
    const known = byChain.get(filterChain) ?? new Map<string, GraphRefusal>();
    byChain.set(filterChain, known);
    for (const each of refusals) {
      const key = nameOfRefusal(each);
      known.set(key, { ...each, calls: each.calls + (known.get(key)?.calls ?? 0) });
    }
  }
  return byChain;
}

function chainId(address: string, label: string): string {
  return `chain ${address} ${label}`;
}

/** Returns what refuses calls: the filter with the policy, as far as there are any. */
function nameOfRefusal({ status, filter, policy }: GraphRefusal): string {
  if (filter === '') return `refused: ${status}`;
  return policy === '' ? `refused by ${filter}` : `refused by ${filter}, policy ${policy}`;
}

function describeClient(connections: number, own: readonly GraphCalls[]): string {
  const refusals = own.flatMap((each) => each.refusals);
  const byName = new Map<string, number>();
  for (const each of refusals) {
    const name = nameOfRefusal(each);
    byName.set(name, (byName.get(name) ?? 0) + each.calls);
  }
  return [
    counted(connections, 'connection'),
    ...(own.length === 0 ? [] : [described(sum(own), own)]),
    ...[...byName].map(([name, calls]) => `${calls} ${name}`),
  ].join(', ');
}

/** Describes calls; empty if none are counted. */
function described(calls: number, counts: readonly GraphCalls[] | undefined): string {
  return counts === undefined ? '' : `${counted(calls, 'call')} in the last 5 minutes`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** Says why an address is not served, or by which Listener it is. */
function describe({ state, reason, since, listener, waitingFor = [] }: GraphServer): string {
  const version = listener?.version === undefined ? '' : ` version ${listener.version}`;
  return [
    ...(state === 'SERVING' || reason === undefined ? [] : [reason]),
    ...(listener === undefined ? [] : [`Listener ${listener.name}${version}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
    ...waitingFor,
  ].join('; ');
}

/** Returns the share of calls; nothing without any. */
function measured(calls: number, all: number): Pick<GraphEdge, 'share' | 'isMeasured'> {
  return all > 0 ? { share: calls / all, isMeasured: true } : {};
}

function sum(counts: readonly { readonly calls: number }[]): number {
  return counts.reduce((total, { calls }) => total + calls, 0);
}
