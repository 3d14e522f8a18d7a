import { processServers } from '../../observe/admin/process-servers';
import type { ServerConnectionsReport, ServerReport } from '../../observe/admin/server-report';
import { toIso } from '../../util/since';
import type { ListenerSnapshot } from '../connections/listener-snapshot';
import type { ServerEnvironment } from '../connections/served-chain';
import type { ServerConnection } from '../connections/server-connection';
import type { ServingStatus } from '../serving-status';
import { describeChain } from './describe-chain';
import { nameOfClient } from './recent-calls';
import { SUCCEEDED, type ServerEvents } from './server-events';

/** The number of entries of a list. */
const MAX_ENTRIES = 100;
/** The entries of the calls of the last minutes. */
const MAX_RECENT = 1000;

/** An address as of now. */
export interface ServerState extends Pick<ServerEnvironment, 'client' | 'events' | 'fallback'> {
  readonly address: { readonly text: string };
  readonly listenerName: string;
  readonly status: ServingStatus;
  readonly current: ListenerSnapshot | undefined;
  /** In the order in which they were accepted. */
  readonly connections: ReadonlySet<ServerConnection>;
}

/** Reports the state of an address. */
export function describeServer(state: ServerState): ServerReport {
  const { address, client, status, current, events, fallback } = state;
  const { notServing, sinceMs } = status;
  const { started, ended, succeeded } = events.calls;
  const chains = [...(current?.chains ?? [])];
  return {
    address: address.text,
    nodeId: client.bootstrap.node.id,
    state: notServing === undefined ? 'SERVING' : 'NOT_SERVING',
    ...(notServing !== undefined && { reason: notServing }),
    since: toIso(sinceMs),
    listener: describeListener(state),
    waitingFor: client.client.waitingFor(MAX_ENTRIES).slice(0, MAX_ENTRIES),
    filterChains: chains
      .slice(0, MAX_ENTRIES)
      .map(([chain, served]) => describeChain(chain, served, fallback === undefined)),
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
    ...(processServers.isCounting && { recentCalls: events.recent.all().slice(0, MAX_RECENT) }),
  };
}

function describeListener(state: ServerState): ServerReport['listener'] {
  const { listenerName: name, current } = state;
  const version = acceptedVersion(state);
  return {
    name,
    ...(version !== undefined && { version }),
    ...(current !== undefined && { inUseSince: toIso(current.sinceMs) }),
  };
}

/** Returns the version of the Listener that was accepted last. */
function acceptedVersion({ listenerName, client }: ServerState): string | undefined {
  const { typeUrl } = client.types.listener;
  for (const { name, accepted, ...resource } of client.client.resources()) {
    if (name === listenerName && resource.typeUrl === typeUrl) return accepted?.version;
  }
  return undefined;
}

function describeEvents({
  refusals,
  handshakes,
}: ServerEvents): Pick<ServerReport, 'refusals' | 'handshakes'> {
  const ended = handshakes.all();
  const failed = ended.filter(({ kind }) => kind !== SUCCEEDED);
  return {
    refusals: refusals
      .all()
      .slice(0, MAX_ENTRIES)
      .map(({ kind, count, lastAtMs }) => ({ ...kind, calls: count, lastAt: toIso(lastAtMs) })),
    handshakes: {
      succeeded: ended.find(({ kind }) => kind === SUCCEEDED)?.count ?? 0,
      failures: failed.slice(0, MAX_ENTRIES).map(({ kind: cause, count, lastAtMs }) => ({
        cause,
        handshakes: count,
        lastAt: toIso(lastAtMs),
      })),
    },
  };
}

function describeConnections({ connections, current }: ServerState): ServerConnectionsReport {
  const byIdentity = new Map<string, number>();
  const bySnapshot = new Map<ListenerSnapshot, ServerConnection[]>();
  for (const connection of connections) {
    const identity = identityOf(connection);
    byIdentity.set(identity, (byIdentity.get(identity) ?? 0) + 1);
    const own = bySnapshot.get(connection.snapshot) ?? [];
    own.push(connection);
    bySnapshot.set(connection.snapshot, own);
  }
  // Also without connections.
  if (current !== undefined && !bySnapshot.has(current)) bySnapshot.set(current, []);
  const identities = [...byIdentity].sort(([, a], [, b]) => b - a);
  return {
    open: connections.size,
    generations: [...bySnapshot].slice(-MAX_ENTRIES).map(([snapshot, own]) => ({
      since: toIso(snapshot.sinceMs),
      isInUse: snapshot === current,
      connections: own.length,
      draining: own.filter(({ accepts }) => !accepts).length,
    })),
    identities: identities
      .slice(0, MAX_ENTRIES)
      .map(([identity, connections]) => ({ identity, connections })),
    otherIdentities: Math.max(0, identities.length - MAX_ENTRIES),
  };
}

/** Returns the first name of the certificate of a client, or why there is none. */
function identityOf({ described }: ServerConnection): string {
  if (described === undefined) return 'in handshake';
  if (!described.ok) return `unreadable certificate: ${described.error}`;
  return nameOfClient(described.value.tls);
}
