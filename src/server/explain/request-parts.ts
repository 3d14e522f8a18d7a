import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import type { IpPort } from '../../util/host-port';
import { joinHostPort } from '../../util/text';

/** The address of a server, unless another is given. */
export const DEFAULT_ADDRESS: IpPort = { address: '127.0.0.1', port: 50_051 };

/** The address of a client, unless another is given. */
export const DEFAULT_REMOTE: IpPort = { address: '127.0.0.1', port: 40_000 };

const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Returns where a client connects to that is on the same machine as a server at an address, which may be that of a Listener. */
export function connectedTo({ host, port }: SocketAddress): IpPort {
  return { address: LOOPBACK.get(host) ?? host, port: port === 0 ? DEFAULT_ADDRESS.port : port };
}

const CONTENT_TYPE = 'application/grpc';

/**
 * Returns the headers of a request as a server receives them: repeated ones are joined, and the authority is the address of the server
 * unless it is given.
 */
export function headersOf(
  path: string,
  local: IpPort,
  given: Iterable<readonly [name: string, value: string]>,
): AuthorizationRequest['header'] {
  const values = new Map<string, string>();
  for (const [name, value] of given) {
    const key = name.toLowerCase();
    const before = values.get(key);
    // Node.js joins those of text; grpc-js takes binary ones apart.
    const isBinary = key.endsWith('-bin');
    const seen = isBinary ? value.replace(/={1,2}(?=,|$)/g, '') : value;
    const separator = isBinary ? ',' : ', ';
    values.set(key, before === undefined ? seen : `${before}${separator}${seen}`);
  }
  // As grpc-js has them, whatever the caller sends.
  values.set('content-type', CONTENT_TYPE).delete('accept-encoding');
  if (!values.has(':authority') && !values.has('host')) {
    values.set(':authority', joinHostPort(local.address, local.port));
  }
  values.set(':path', path);
  return (name) => values.get(name);
}
