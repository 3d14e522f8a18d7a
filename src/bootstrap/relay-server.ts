import { isRecord } from '../util/check-arguments';
import { quoteText } from '../util/text';
import { err, ok, type Result } from '../util/result';
import { RELAY_FEATURE } from '../util/relay-names';

/** The variable with the address of the relay of this host. */
const RELAY_VARIABLE = 'GRPC_XDS_RELAY';

/** A socket of a path, or a port of this host: what is sent is not encrypted. */
const ADDRESS = /^(?:unix:(?:\/\/)?\/(?!\/).+|(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+)$/;

/** Returns the relay that the variable names; `undefined` if there is none. */
export function relayOfEnvironment(env: NodeJS.ProcessEnv): Result<string | undefined, string> {
  const relay = env[RELAY_VARIABLE] ?? '';
  if (relay === '') return ok(undefined);
  if (ADDRESS.test(relay)) return ok(relay);
  return err(
    `${RELAY_VARIABLE} must be unix:/path, or an address of this host such as 127.0.0.1:18001, not ${quoteText(relay)}`,
  );
}

/**
 * Puts the relay of this host before the servers of a bootstrap, of each authority as well, as a server of higher priority (gRFC A71):
 * they are used while it cannot be reached. It has the `server_features` of the first of them, whose resources it hands on.
 *
 * @param json A bootstrap that has not been parsed. What is no bootstrap is returned as it is.
 */
export function withRelay(json: unknown, relay: string): unknown {
  if (!isObject(json)) return json;
  const { authorities } = json;
  return {
    ...withServer(json, relay),
    ...(isObject(authorities) && {
      authorities: Object.fromEntries(
        Object.entries(authorities).map(([name, authority]) => [
          name,
          isObject(authority) ? withServer(authority, relay) : authority,
        ]),
      ),
    }),
  };
}

/** An authority without servers has those at the top. */
function withServer(
  owner: Readonly<Record<string, unknown>>,
  relay: string,
): Readonly<Record<string, unknown>> {
  const { xds_servers: servers } = owner;
  if (!isList(servers) || servers.length === 0) return owner;
  const [first] = servers;
  const features = isObject(first) ? first['server_features'] : undefined;
  const server = {
    server_uri: relay,
    channel_creds: [{ type: 'insecure' }],
    server_features: [...(isList(features) ? features : []), RELAY_FEATURE],
  };
  return { ...owner, xds_servers: [server, ...servers] };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
