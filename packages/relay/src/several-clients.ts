import type { ResourceSnapshot, XdsClient } from 'grpc-xds/internal';
import type { ServerSnapshot } from 'grpc-xds';
import { cutText } from '../../../src/util/text';
import { MAX_OWN_TEXT_LENGTH } from './limits';
import type { RelayedTypeReport, RelayReport } from './relay-report';
import type { RelayUpstream } from './relay-upstream';

type ObservedClient = Pick<XdsClient, 'resources' | 'serverStates' | 'fallbacks'>;

/** The clients that a relay has for several nodes, as one: a server and an authority have one state. */
export class SeveralClients implements ObservedClient {
  constructor(private readonly clients: () => readonly ObservedClient[]) {}

  *resources(): IterableIterator<ResourceSnapshot> {
    for (const client of this.clients()) yield* client.resources();
  }

  serverStates(): readonly ServerSnapshot[] {
    return mergeServers(this.clients().flatMap((client) => client.serverStates()));
  }

  *fallbacks(): ReturnType<ObservedClient['fallbacks']> {
    const active = new Map<string | undefined, boolean>();
    for (const client of this.clients()) {
      for (const { authority, isActive } of client.fallbacks()) {
        active.set(authority, isActive || active.get(authority) === true);
      }
    }
    for (const [authority, isActive] of active) yield { authority, isActive };
  }
}

/** Describes what a relay has for each node, and for all together. */
export function describeUpstreams(
  upstreams: readonly RelayUpstream[],
  countClients: (upstream: RelayUpstream) => number,
): Pick<RelayReport, 'servers' | 'types' | 'nodes'> {
  const nodes = upstreams.map((upstream) => {
    const { node, client, resources } = upstream;
    return {
      nodeId: cutText(node.id, MAX_OWN_TEXT_LENGTH),
      cluster: cutText(node.cluster, MAX_OWN_TEXT_LENGTH),
      clients: countClients(upstream),
      servers: client.serverStates(),
      types: resources.describe(),
    };
  });
  return {
    servers: mergeServers(nodes.flatMap(({ servers }) => servers)),
    types: mergeTypes(nodes.flatMap(({ types }) => types)),
    nodes,
  };
}

/** Returns each server once: in a state with an error, if it has one for any node. */
function mergeServers(servers: readonly ServerSnapshot[]): readonly ServerSnapshot[] {
  const byUri = new Map<string, ServerSnapshot>();
  for (const server of servers) {
    const known = byUri.get(server.serverUri);
    if (known === undefined || (known.lastError === undefined && server.lastError !== undefined)) {
      byUri.set(server.serverUri, server);
    }
  }
  return [...byUri.values()];
}

function mergeTypes(types: readonly RelayedTypeReport[]): readonly RelayedTypeReport[] {
  const byUrl = new Map<string, RelayedTypeReport>();
  for (const type of types) {
    const { typeUrl, names, resources, errors, absent } = byUrl.get(type.typeUrl) ?? {
      typeUrl: type.typeUrl,
      names: 0,
      resources: 0,
      errors: 0,
      absent: 0,
    };
    byUrl.set(typeUrl, {
      typeUrl,
      names: names + type.names,
      resources: resources + type.resources,
      errors: errors + type.errors,
      absent: absent + type.absent,
    });
  }
  return [...byUrl.values()];
}
