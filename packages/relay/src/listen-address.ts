import { fstatSync, realpathSync } from 'node:fs';
import { isIP } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import type { ListenAddress, ListeningSocket } from 'grpc-xds/internal';
import { readRegularText } from '../../../src/util/read-regular-file';
import type { Rule } from '../../../src/util/check-arguments';
import { errorMessage } from '../../../src/util/errors';
import { channelTarget, socketPathOf } from '../../../src/util/server-uri';
import { readSocket } from '../../../src/util/unix-socket';
import { XdsError } from 'grpc-xds';

const UNIX = /^unix:(?:\/\/(?=\/))?(.+)$/s;
const HOST_PORT = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;

/** Where a relay listens: a port of TCP, or a Unix socket. */
export type RelayAddress = Exclude<ListenAddress, ListeningSocket>;

/** What `listen` of a relay must be. */
export const LISTEN: Rule = {
  legal:
    '"unix:" with a path, a loopback address and a port, such as "127.0.0.1:18000", or "systemd"',
  accepts: (value) =>
    typeof value === 'string' && (SYSTEMD.test(value) || parseListenAddress(value) !== undefined),
};

/** The socket that systemd has passed, or the one with a name (`FileDescriptorName=`). */
const SYSTEMD = /^systemd(?::([^:]+))?$/;

/** The first file descriptor that is passed (https://www.freedesktop.org/software/systemd/man/latest/sd_listen_fds.html). */
const FIRST_FD = 3;

/**
 * Finds the socket that systemd has passed to this process for `systemd` or `systemd:NAME`.
 *
 * @returns `undefined` for another text.
 * @throws XdsError if it has passed none, several without a name, or none of the name.
 */
export function findPassedSocket(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): { readonly fd: number } | undefined {
  const match = SYSTEMD.exec(text);
  if (match === null) return undefined;
  const count = Number(env['LISTEN_FDS'] ?? 0);
  if (!(count >= 1) || Number(env['LISTEN_PID']) !== process.pid) {
    throw new XdsError(
      'XDS_LISTEN_FAILED',
      `${text}: systemd has passed no socket to this process: start it by its .socket unit (LISTEN_PID ${env['LISTEN_PID'] ?? 'is not set'}, LISTEN_FDS ${env['LISTEN_FDS'] ?? 'is not set'})`,
    );
  }
  const [, name] = match;
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':');
  if (name === undefined) {
    if (count === 1) return { fd: FIRST_FD };
    throw new XdsError(
      'XDS_LISTEN_FAILED',
      `${text}: systemd has passed ${count} sockets: choose one by its FileDescriptorName=, such as systemd:${names[0] ?? 'xds'}`,
    );
  }
  const index = names.slice(0, count).indexOf(name);
  if (index === -1)
    throw new XdsError(
      'XDS_LISTEN_FAILED',
      `${text}: systemd has passed the sockets ${names.join(', ')}`,
    );
  return { fd: FIRST_FD + index };
}

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
  return isLoopback(host) && port <= 65_535 ? { host, port } : undefined;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Checks that a socket which was passed is one that `listen` could name, too.
 *
 * @param address As of `server_uri`; `undefined` for a socket whose address Node.js does not know, which is no TCP.
 * @throws XdsError for a port of TCP that other machines reach.
 */
export function checkPassedSocket(text: string, address: string | undefined): void {
  if (address === undefined || parseListenAddress(address) !== undefined) return;
  throw new XdsError(
    'XDS_LISTEN_FAILED',
    `${text}: systemd has passed a socket that listens on ${address}: expected a Unix socket or a loopback address, because clients are not authenticated`,
  );
}

/**
 * Returns why a relay must not, or should not, serve a Unix socket that was passed; `undefined` if nothing is wrong with it.
 *
 * @param path As `pathOfSocket` returns it: an abstract name begins with `@`.
 */
export function findPassedPathProblem(
  path: string,
): { readonly isFatal: boolean; readonly text: string } | undefined {
  if (path.startsWith('@')) {
    // Node.js fills a name up with NULs, which are shown so, too.
    const [name = ''] = path.split('@@', 1);
    const text = `systemd has passed the abstract socket ${name}, which has no owner and no mode, so that every user of this host may connect: give ListenStream= a path`;
    return { isFatal: true, text };
  }
  try {
    readSocket(path, 'relay');
    return undefined;
  } catch (error) {
    return { isFatal: false, text: errorMessage(error) };
  }
}

/**
 * Whether a client of a server would connect to an address that is listened on. Folders on the path may be links. Port 0 is any that is
 * free, which no bootstrap names.
 */
export function isSameAddress(serverUri: string, address: RelayAddress): boolean {
  if ('fd' in address) {
    const path = pathOfSocket(address.fd);
    return path !== undefined && isSameAddress(serverUri, { path });
  }
  const target = channelTarget(serverUri);
  if ('path' in address) {
    const path = socketPathOf(target);
    return path !== undefined && realPath(path) === realPath(address.path);
  }
  const text = target.replace(/^(?:dns:(?:\/\/[^/]*\/)?|ipv[46]:)/i, '');
  const server = parseListenAddress(text.replace(/^(::1):/, '[$1]:'));
  if (server === undefined || !('port' in server) || server.port !== address.port) return false;
  const [a, b] = [server.host, address.host];
  return address.port !== 0 && (a === b || [a, b].every((host) => LOCALHOST.includes(host)));
}

/** What `localhost` may be. */
const LOCALHOST: readonly string[] = ['localhost', '127.0.0.1', '::1'];

function realPath(path: string): string {
  const full = resolve(path);
  try {
    return join(realpathSync(dirname(full)), basename(full));
  } catch {
    return full;
  }
}

/** Bytes of the list of sockets of Linux, which has some 100 for each. */
const MAX_SOCKETS_BYTES = 16 * 2 ** 20;

/** Returns the path of a Unix socket that was passed, which Node.js does not know; `undefined` where Linux does not list it. */
export function pathOfSocket(fd: number): string | undefined {
  try {
    const inode = String(fstatSync(fd).ino);
    const sockets = readRegularText('/proc/net/unix', { maxBytes: MAX_SOCKETS_BYTES });
    if (!sockets.ok) return undefined;
    for (const line of sockets.value.split('\n')) {
      const [, , , , , , of, path] = line.trim().split(/\s+/);
      if (of === inode) return path;
    }
  } catch {
    // Not Linux, or not readable: the relay serves without knowing its path.
  }
  return undefined;
}
