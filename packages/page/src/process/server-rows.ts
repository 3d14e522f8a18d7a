import {
  cellText,
  createView,
  matchesFilter,
  rowId,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import type { FilterChainReport, ServerReport } from 'grpc-xds';

/** A row before its texts are cut. */
interface Entry {
  readonly kind: 'address' | 'generation' | 'filter chain' | 'client' | 'refusal' | 'handshake';
  readonly name: string;
  readonly state: string;
  /** Of connections, calls or handshakes. */
  readonly count: string;
  readonly lastAt?: string;
  readonly details: string;
}

/** The addresses of the servers of a process, each with its chains, clients, and what was refused. */
export function serverView(servers: readonly ServerReport[], request: ViewRequest): View {
  const rows = servers.flatMap((server, index) =>
    entriesOf(server)
      .filter(({ kind, name, state, details }) =>
        matchesFilter(request.filter, server.address, kind, name, state, details),
      )
      .map((entry, position) => ({ entry, id: rowId(`${index}`, `${position}`, entry.kind) })),
  );
  return createView(rows, request, ({ entry, id }) => toRow(entry, id));
}

function toRow({ kind, name, state, count, lastAt, details }: Entry, id: string): Row {
  return {
    id,
    kind,
    name: cellText(name),
    state,
    count,
    details: cellText(details),
    ...(lastAt !== undefined && { lastAt }),
  };
}

function entriesOf(server: ServerReport): readonly Entry[] {
  return [
    addressEntry(server),
    ...generationEntries(server),
    ...server.filterChains.map(chainEntry),
    ...others('filter chain', server.otherFilterChains),
    ...server.connections.identities.map(({ identity, connections }) =>
      entry('client', identity, { count: counted(connections, 'connection') }),
    ),
    ...others('client', server.connections.otherIdentities),
    ...server.refusals.map(({ status, filter, action, policy, calls, lastAt }) =>
      entry('refusal', policy || filter || status, {
        state: status,
        count: counted(calls, 'call'),
        lastAt,
        details: describeFilter(filter, action, policy),
      }),
    ),
    ...server.handshakes.failures.map(({ cause, handshakes, lastAt }) =>
      entry('handshake', cause, {
        state: 'failed',
        count: counted(handshakes, 'handshake'),
        lastAt,
      }),
    ),
  ];
}

function entry(kind: Entry['kind'], name: string, rest: Partial<Entry>): Entry {
  return { kind, name, state: '', count: '', details: '', ...rest };
}

function addressEntry(server: ServerReport): Entry {
  const { address, state, reason, since, listener, connections, calls, handshakes } = server;
  const version = listener.version === undefined ? '' : ` version ${listener.version}`;
  const pending = server.waitingFor.map((text) => `; ${text}`).join('');
  const served =
    `${calls.inProgress} calls in progress, ${calls.succeeded} succeeded, ${calls.failed} failed; ` +
    `${handshakes.succeeded} TLS handshakes`;
  return entry('address', address, {
    state,
    count: counted(connections.open, 'connection'),
    details: `Listener ${listener.name}${version}; since ${since}: ${reason ?? served}${pending}`,
  });
}

function generationEntries({ connections: { generations } }: ServerReport): readonly Entry[] {
  // One alone is what the address says already.
  if (generations.length < 2) return [];
  return generations.map(({ since, isInUse, connections, draining }) =>
    entry('generation', since, {
      state: isInUse ? 'in use' : 'draining',
      count: counted(connections, 'connection'),
      details: `${draining} accept no more calls`,
    }),
  );
}

function chainEntry({ name, match, tls, rbac, routes }: FilterChainReport): Entry {
  const filters = rbac.map(
    ({ filter, action, policies }) => `${filter}: ${action}, ${counted(policies, 'policy')}`,
  );
  const { name: source, failure } = routes;
  return entry('filter chain', name || '(no name)', {
    state: failure === undefined ? 'in use' : 'failed',
    details: [
      match,
      tls,
      ...filters,
      source === undefined ? 'routes of the Listener' : `RouteConfiguration ${source}`,
      ...(failure === undefined ? [] : [failure]),
    ].join('; '),
  });
}

function describeFilter(filter: string, action: string, policy: string): string {
  if (filter === '') return 'by no filter';
  if (action === '') return `by the filter ${filter}`;
  return policy === ''
    ? `by the filter ${filter}: no policy allows it`
    : `by the filter ${filter}, which has a policy to ${action} it`;
}

function others(kind: Entry['kind'], count: number): readonly Entry[] {
  return count === 0 ? [] : [entry(kind, `and ${count} others`, {})];
}

const PLURALS: Readonly<Record<string, string>> = { policy: 'policies' };

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${PLURALS[noun] ?? `${noun}s`}`;
}
