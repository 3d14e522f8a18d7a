import type { Bootstrap, ServerConfig } from 'grpc-xds/internal';
import { quoteText } from '../../../src/util/text';

/** Characters that are shown of the servers of a relay. */
const MAX_SHOWN = 500;

/**
 * Returns the management servers of a bootstrap as a text, which is equal for two bootstraps with the same servers and authorities
 * and is shown to people. Credentials are not compared, because two containers may have them in different places, nor is the
 * node: that of a relay is in force for its clients.
 */
export function describeUpstream({ servers, authorities }: Bootstrap): string {
  const top = listUris(servers);
  const others = [...authorities]
    .map(([name, authority]) => ({ name, uris: listUris(authority.servers) }))
    .filter(({ uris }) => uris !== top)
    .map(({ name, uris }) => `; of the authority ${name}: ${uris}`)
    .sort();
  return top + others.join('');
}

/** Returns a text that is equal for two bootstraps of which one relay can serve both: of the same servers and the same node. */
export function upstreamKey(bootstrap: Bootstrap): string {
  const { servers, authorities, node } = bootstrap;
  const keys = (list: readonly ServerConfig[]) => list.map(({ key }) => key);
  const named = [...authorities].map(([name, authority]) => [name, keys(authority.servers)]);
  const { metadata = new Map(), ...rest } = node;
  return JSON.stringify([keys(servers), named, rest, [...metadata]]);
}

/** Describes how the management servers of a relay differ from those of a process, to follow the name of the relay. */
export function describeOtherUpstream(theirs: string, ours: string): string {
  const [quotedTheirs, quotedOurs] = [theirs, ours].map((text) => quoteText(text, MAX_SHOWN));
  return `has the management servers ${quotedTheirs}, and the bootstrap of this process has ${quotedOurs}`;
}

function listUris(servers: readonly ServerConfig[]): string {
  return servers.map(({ serverUri }) => serverUri).join(', ');
}
