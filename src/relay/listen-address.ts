import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { ListenAddress, ListeningSocket } from '../control-plane/grpc-listener';
import type { Rule } from '../util/check-arguments';

const UNIX = /^unix:(?:\/\/(?=\/))?(.+)$/s;
const HOST_PORT = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;

/** Where a relay listens: a port of TCP, or a Unix socket. */
export type RelayAddress = Exclude<ListenAddress, ListeningSocket>;

/** What `listen` of a relay must be. */
export const LISTEN: Rule = {
  legal: '"unix:" with a path, or a loopback address and a port, such as "127.0.0.1:18000"',
  accepts: (value) => typeof value === 'string' && parseListenAddress(value) !== undefined,
};

/**
 * Parses where a relay listens: `unix:/path`, or an address of this machine alone with a port, because clients are not
 * authenticated. Returns `undefined` for another text.
 */
export function parseListenAddress(text: string): RelayAddress | undefined {
  const [, path] = UNIX.exec(text) ?? [];
  if (path !== undefined) return { path: resolve(path) };
  const [, ipv6, name = '', digits] = HOST_PORT.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  const isLoopback =
    host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  return isLoopback && port <= 65_535 ? { host, port } : undefined;
}
