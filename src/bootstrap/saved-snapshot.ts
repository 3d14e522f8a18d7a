import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { AuthorityConfig, Bootstrap, ServerConfig } from './bootstrap';

/** What the URI of a saved snapshot begins with. Nobody can write it into a bootstrap. */
const SCHEME = 'grpc-xds-snapshot:';

/**
 * Puts the snapshot of an earlier run behind the servers of every authority, as one more server that is asked
 * when no other can be (gRFC A71).
 * @param path Of the file.
 */
export function withSavedSnapshot(bootstrap: Bootstrap, path: string): Bootstrap {
  const saved = savedServer(path, bootstrapIdentity(bootstrap));
  const authorities = new Map<string, AuthorityConfig>();
  for (const [name, authority] of bootstrap.authorities) {
    authorities.set(name, { ...authority, servers: [...authority.servers, saved] });
  }
  return { ...bootstrap, servers: [...bootstrap.servers, saved], authorities };
}

function savedServer(path: string, identity: string): ServerConfig {
  const serverUri = `${SCHEME}${pathToFileURL(path).pathname}`;
  return {
    serverUri,
    channelCreds: { type: 'insecure', config: undefined },
    callCreds: [],
    features: new Set(),
    snapshot: { path, identity },
    key: `${serverUri} ${identity}`,
  };
}

/** Equal for two bootstraps exactly when the same node asks the same servers. */
function bootstrapIdentity({ node, servers, authorities }: Bootstrap): string {
  const keys = (list: readonly ServerConfig[]) => list.map(({ key }) => key);
  const named = [...authorities].map(([name, authority]) => [name, keys(authority.servers)]);
  const content = JSON.stringify([node.id, node.cluster, keys(servers), named]);
  return createHash('sha256').update(content).digest('hex');
}
