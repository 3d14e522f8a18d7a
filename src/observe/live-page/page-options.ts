import { checkOptionNames } from '../../util/check-arguments';
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';

/** How a page is served. */
export interface AdminPageOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** The address or name to listen on. One that is not loopback needs a token. Default: `127.0.0.1`. */
  readonly host?: string;
  /**
   * What readers must know: 16 to 256 letters, digits or `-._~`. It is part of the URL. Default: 128 random bits, only for
   * loopback.
   */
  readonly token?: string;
  /**
   * Names in the `Host` header of requests that are answered besides `localhost`, IP addresses and `host`, such as that
   * of a proxy. Default: none.
   */
  readonly allowedHosts?: readonly string[];
}

/** Options with their defaults. */
export interface Access {
  readonly port: number;
  readonly host: string;
  readonly token: string;
  /** In lower case. */
  readonly hosts: ReadonlySet<string>;
}

/**
 * Checks the options.
 *
 * @throws TypeError if one is invalid, or if there is no token for an address that is not loopback.
 */
export function parseOptions(options: AdminPageOptions): Access {
  checkOptionNames('serveAdminPage', options, ['port', 'host', 'token', 'allowedHosts']);
  const { port, host = '127.0.0.1', allowedHosts = [] } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`grpc-xds: admin page: port must be a number from 0 to 65535, not ${port}`);
  }
  if (options.token === undefined && !isLoopback(host)) {
    throw new TypeError(`grpc-xds: admin page: the host ${host} is not loopback and needs a token`);
  }
  const { token = randomBytes(16).toString('base64url') } = options;
  if (!/^[\w.~-]{16,256}$/.test(token)) {
    throw new TypeError(
      'grpc-xds: admin page: the token must be 16 to 256 letters, digits or characters of "-._~"',
    );
  }
  const hosts = ['localhost', host, ...allowedHosts].map((name) => name.toLowerCase());
  return { port, host, token, hosts: new Set(hosts) };
}

/** Returns `host:port`. */
export function joinAddress(host: string, port: number): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
