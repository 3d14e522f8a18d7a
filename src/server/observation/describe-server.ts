import { processServers } from '../../observe/admin/process-servers';
import type { ServerConnectionsReport, ServerReport } from '../../observe/admin/server-report';
import type { FilterChain } from '../../resources/listener/listener';
import { toIso } from '../../util/since';
import type { ListenerSnapshot } from '../connections/listener-snapshot';
import type { ServerConnection } from '../connections/server-connection';
import type { ServedChain } from '../connections/served-chain';
import { describeChain } from './describe-chain';
import { nameOfClient } from './recent-calls';
import type { ServerEvents } from './server-events';

/** The number of entries of a list. */
const MAX_ENTRIES = 100;
/** The entries of the calls of the last minutes. */
const MAX_RECENT = 1000;

/** What is reported of a snapshot, which reports call a generation. */
export interface ReportedSnapshot extends Pick<ListenerSnapshot, 'sinceMs'> {
  readonly openConnections: ReadonlySet<ReportedConnection>;
  readonly served: ReadonlyMap<FilterChain, ReportedChain>;
}

type ReportedConnection = Pick<ServerConnection, 'accepts' | 'described'>;
type ReportedChain = Pick<ServedChain, 'isSecure' | 'routeFailure'>;

/** An address as of now. */
export interface ServerState {
  readonly address: string;
  readonly nodeId: string;
  /** Why it is not served; `undefined` if it is. */
  readonly notServing: string | undefined;
  readonly sinceMs: number;
  readonly listenerName: string;
  readonly listenerVersion: string | undefined;
  readonly waitingFor: readonly string[];
  readonly current: ReportedSnapshot | undefined;
  /** In the order in which they came into use. */
  readonly snapshots: ReadonlySet<ReportedSnapshot>;
  readonly events: ServerEvents;
  /** Whether the credentials of the application are used whatever TLS a chain has. */
  readonly isTlsUnused: boolean;
}

/** Reports the state of an address. */
export function describeServer(state: ServerState): ServerReport {
  const { address, nodeId, notServing, sinceMs, current, events } = state;
  const { started, ended, succeeded } = events.calls;
  const chains = [...(current?.served ?? [])];
  return {
    address,
    nodeId,
    state: notServing === undefined ? 'SERVING' : 'NOT_SERVING',
    ...(notServing !== undefined && { reason: notServing }),
    since: toIso(sinceMs),
    listener: describeListener(state),
    waitingFor: state.waitingFor.slice(0, MAX_ENTRIES),
    filterChains: chains.slice(0, MAX_ENTRIES).map((each) => describeServed(each, state)),
    otherFilterChains: Math.max(0, chains.length - MAX_ENTRIES),
    connections: describeConnections(state),
    calls: {
      started,
      inProgress: started - ended,
      succeeded,
      // One that is about to end has its status already.
      failed: Math.max(0, ended - succeeded),
    },
    ...describeEvents(events),
    ...(processServers.isCounting && { recentCalls: describeRecent(events) }),
  };
}

function describeRecent({ recent: calls }: ServerEvents): NonNullable<ServerReport['recentCalls']> {
  const recent = calls.all().toSorted((a, b) => b.calls - a.calls);
  return recent.slice(0, MAX_RECENT).map(({ chain, identity, calls, refusals }) => ({
    identity,
    filterChain: chain,
    calls,
    refusals,
  }));
}

function describeListener(state: ServerState): ServerReport['listener'] {
  const { listenerName: name, listenerVersion: version, current } = state;
  return {
    name,
    ...(version !== undefined && { version }),
    ...(current !== undefined && { inUseSince: toIso(current.sinceMs) }),
  };
}

function describeServed(
  [chain, served]: readonly [FilterChain, ReportedChain],
  { isTlsUnused }: ServerState,
): ServerReport['filterChains'][number] {
  const { isSecure, routeFailure } = served;
  return describeChain(chain, { isSecuredByApplication: isSecure, isTlsUnused, routeFailure });
}

function describeEvents({
  refusals,
  handshakes,
}: ServerEvents): Pick<ServerReport, 'refusals' | 'handshakes'> {
  const ended = handshakes.all();
  const failed = ended.filter(({ kind }) => kind.cause !== '');
  return {
    refusals: refusals
      .all()
      .slice(0, MAX_ENTRIES)
      .map(({ kind, count, lastAtMs }) => ({ ...kind, calls: count, lastAt: toIso(lastAtMs) })),
    handshakes: {
      succeeded: ended.find(({ kind }) => kind.cause === '')?.count ?? 0,
      failures: failed.slice(0, MAX_ENTRIES).map(({ kind, count, lastAtMs }) => ({
        cause: kind.cause,
        handshakes: count,
        lastAt: toIso(lastAtMs),
      })),
    },
  };
}

function describeConnections({ snapshots, current }: ServerState): ServerConnectionsReport {
  const byIdentity = new Map<string, number>();
  let open = 0;
  for (const { openConnections } of snapshots) {
    open += openConnections.size;
    for (const connection of openConnections) {
      const identity = identityOf(connection);
      byIdentity.set(identity, (byIdentity.get(identity) ?? 0) + 1);
    }
  }
  const identities = [...byIdentity].sort(([, a], [, b]) => b - a);
  return {
    open,
    generations: [...snapshots].slice(-MAX_ENTRIES).map((each) => describeSnapshot(each, current)),
    identities: identities
      .slice(0, MAX_ENTRIES)
      .map(([identity, connections]) => ({ identity, connections })),
    otherIdentities: Math.max(0, identities.length - MAX_ENTRIES),
  };
}

function describeSnapshot(
  snapshot: ReportedSnapshot,
  current: ReportedSnapshot | undefined,
): ServerConnectionsReport['generations'][number] {
  const { sinceMs, openConnections } = snapshot;
  let draining = 0;
  for (const { accepts } of openConnections) if (!accepts) draining++;
  return {
    since: toIso(sinceMs),
    isInUse: snapshot === current,
    connections: openConnections.size,
    draining,
  };
}

/** Returns the first name of the certificate of a client, or why there is none. */
function identityOf({ described }: ReportedConnection): string {
  if (described === undefined) return 'in handshake';
  if (!described.ok) return `unreadable certificate: ${described.error}`;
  return nameOfClient(described.value.tls);
}
