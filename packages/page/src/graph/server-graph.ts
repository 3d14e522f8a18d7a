import type { ServerReport } from 'grpc-xds';
import { getOrMake } from './group-by';
import { GraphParts } from './graph-parts';
import type { GraphEdge, MeshGraph } from './mesh-graph';
import { counted } from './words';

/** The calls of a client that a filter chain has judged. */
type RecentCalls = NonNullable<ServerReport['recentCalls']>[number];

/** Calls that were refused for the same cause. */
type Refusal = RecentCalls['refusals'][number];

/** The ways of the calls of the servers of a process: clients, addresses, filter chains, and routes or what refuses calls. */
export function buildServerGraph(servers: readonly ServerReport[]): MeshGraph {
  const builder = new ServerGraphBuilder();
  for (const server of servers) builder.add(server);
  return builder.build();
}

class ServerGraphBuilder {
  private readonly parts = new GraphParts();
  /** By identity, what its node says of each address. */
  private readonly clients = new Map<string, string[]>();

  add(server: ServerReport): void {
    const { address } = server;
    const id = `address ${address}`;
    const state = server.state === 'SERVING' ? 'ready' : 'failing';
    const text = describe(server);
    const inbound = { address };
    this.parts.add({ id, column: 'address', name: address, state, text, inbound });
    this.addClients(server);
    for (const chain of server.filterChains) this.addChain(server, chain);
    this.addRefusals(server);
    for (const failure of server.handshakes.failures) {
      const name = `handshake failed: ${failure.cause}`;
      const text = `${counted(failure.handshakes, 'handshake')}, last ${failure.lastAt}`;
      const to = `outcome ${address} ${name}`;
      this.parts.add({ id: to, column: 'outcome', name, state: 'unused', text });
      this.parts.connect(id, to, { isUsed: false, text });
    }
  }

  build(): MeshGraph {
    for (const [identity, texts] of this.clients) {
      const id = `client ${identity}`;
      const text = texts.join('; ');
      this.parts.add({ id, column: 'client', name: identity, state: 'ready', text });
    }
    return this.parts.graph('#server');
  }

  private addClients({ address, connections, recentCalls = [] }: ServerReport): void {
    const { identities, otherIdentities } = connections;
    const open = new Map(identities.map((each) => [each.identity, each.connections]));
    const names = new Set([...open.keys(), ...recentCalls.map(({ identity }) => identity)]);
    for (const identity of names) {
      const own = recentCalls.filter((each) => each.identity === identity);
      const text = describeClient(open.get(identity) ?? 0, own);
      getOrMake(this.clients, identity, (): string[] => []).push(`${address}: ${text}`);
      this.parts.connect(`client ${identity}`, `address ${address}`, {
        isUsed: open.has(identity),
        text,
        inbound: { address, client: identity },
      });
    }
    if (otherIdentities === 0) return;
    const id = `other clients ${address}`;
    const name = `${otherIdentities} other clients`;
    this.parts.add({
      id,
      column: 'client',
      name,
      state: 'ready',
      text: 'with fewer connections',
      count: otherIdentities,
    });
    this.parts.connect(id, `address ${address}`, { isUsed: true, text: '' });
  }

  private addChain(
    { address, recentCalls }: ServerReport,
    { name, match, tls, rbac, routes }: ServerReport['filterChains'][number],
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
    this.parts.add({ id, column: 'chain', name: label, state, text: facts.join('; ') });
    const all = sum(recentCalls ?? []);
    this.parts.connect(`address ${address}`, id, {
      isUsed: failure === undefined,
      text: described(calls, recentCalls),
      ...measured(calls, all),
    });
    const source = routes.name === undefined ? 'routes of the Listener' : routes.name;
    const to = `outcome ${address} routes ${routes.name ?? ''}`;
    this.parts.add({ id: to, column: 'outcome', name: source, state, text: failure ?? '' });
    this.parts.connect(id, to, {
      isUsed: failure === undefined,
      text: described(calls - refused, recentCalls),
      ...measured(calls - refused, calls),
    });
  }

  /** Those of the last minutes lead from their chain; of earlier ones only the address is known. */
  private addRefusals({ address, refusals, recentCalls = [] }: ServerReport): void {
    const byChain = refusalsByChain(recentCalls);
    for (const refusal of refusals) {
      const name = nameOfRefusal(refusal);
      const id = `outcome ${address} refused ${name}`;
      const chains = [...byChain].filter(([, known]) => known.has(name));
      const text = `${refusal.status}: ${counted(refusal.calls, 'call')} since the start, last ${refusal.lastAt}`;
      const state = chains.length > 0 ? 'failing' : 'unused';
      this.parts.add({ id, column: 'outcome', name, state, text });
      if (chains.length === 0)
        this.parts.connect(`address ${address}`, id, { isUsed: false, text });
      for (const [chain, known] of chains) {
        const from = chainId(address, chain);
        // A chain of an earlier Listener has no node.
        const start = this.parts.nodes.has(from) ? from : `address ${address}`;
        const calls = known.get(name)?.calls ?? 0;
        const all = sum(recentCalls.filter(({ filterChain }) => filterChain === chain));
        const share = start === from ? measured(calls, all) : {};
        this.parts.connect(start, id, {
          isUsed: true,
          text: described(calls, recentCalls),
          ...share,
        });
      }
    }
  }
}

function refusalsByChain(recentCalls: readonly RecentCalls[]) {
  const byChain = new Map<string, Map<string, Refusal>>();
  for (const { filterChain, refusals } of recentCalls) {
    const known = getOrMake(byChain, filterChain, () => new Map<string, Refusal>());
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
function nameOfRefusal({ status, filter, policy }: Refusal): string {
  if (filter === '') return `refused: ${status}`;
  return policy === '' ? `refused by ${filter}` : `refused by ${filter}, policy ${policy}`;
}

function describeClient(connections: number, own: readonly RecentCalls[]): string {
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
function described(calls: number, counts: readonly RecentCalls[] | undefined): string {
  return counts === undefined ? '' : `${counted(calls, 'call')} in the last 5 minutes`;
}

/** Says why an address is not served, or by which Listener it is. */
function describe({ state, reason, since, listener, waitingFor }: ServerReport): string {
  const version = listener.version === undefined ? '' : ` version ${listener.version}`;
  return [
    ...(state === 'SERVING' || reason === undefined ? [] : [reason]),
    `Listener ${listener.name}${version}`,
    `since ${since}`,
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
