import { randomBytes, createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import {
  checkOptions,
  optional,
  PORT,
  SIGNAL,
  TEXT,
  TEXTS,
  type MembersOf,
  type Rule,
} from '../../../../src/util/check-arguments';
import { XdsError } from 'grpc-xds';

/** The options of `serveAdminPage()`. */
export interface AdminPageOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** The address or name to listen on. One that is not loopback needs a token. Default: `127.0.0.1`. */
  readonly host?: string;
  /**
   * The token that readers need: 16 to 256 letters, digits or `-._~`. It is part of the URL. Default: 128 random bits, only for
   * loopback.
   */
  readonly token?: string;
  /**
   * Names in the `Host` header of requests to answer, besides `localhost`, IP addresses and `host`, such as the name of a proxy.
   * Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Pages of other processes, such as the services that this one calls: http(s) URLs by the names that the page shows. While the page
   * is read, it asks them for the states of their processes. Readers see the URLs, with the tokens in them. Default: none.
   */
  readonly links?: Readonly<Record<string, string>>;
  /** Gives up the start: the promise is then rejected with the reason of the signal, and nothing is served. */
  readonly signal?: AbortSignal | undefined;
}

const TOKEN: Rule = {
  legal: '16 to 256 letters, digits or characters of "-._~"',
  accepts: (value) => typeof value === 'string' && /^[\w.~-]{16,256}$/.test(value),
  isSecret: true,
};

const LINKS: Rule = {
  legal: 'an object of http:// or https:// URLs',
  accepts: (value) =>
    typeof value === 'object' && value !== null && Object.values(value).every(isWebUrl),
  isSecret: true,
};

function isWebUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value);
}

const OPTIONS: MembersOf<AdminPageOptions> = {
  port: PORT,
  host: optional(TEXT),
  token: optional(TOKEN),
  allowedHosts: optional(TEXTS),
  links: optional(LINKS),
  signal: optional(SIGNAL),
};

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
 * @throws XdsError if one is invalid, or if there is no token for an address that is not loopback.
 */
export function parseOptions(options: AdminPageOptions): Access {
  checkOptions('serveAdminPage()', options, OPTIONS);
  const { port, host = '127.0.0.1', allowedHosts = [] } = options;
  if (options.token === undefined && !isLoopback(host)) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      `admin page: the host ${host} is not loopback and needs a token`,
    );
  }
  const { token = randomBytes(16).toString('base64url') } = options;
  const hosts = ['localhost', host, ...allowedHosts].map((name) => name.toLowerCase());
  return { port, host, token, hosts: new Set(hosts) };
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** The parts of a request that decide whether it is answered. */
export interface CheckedRequest {
  readonly method: string | undefined;
  /** All values of each header, by its name in lower case. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** Why a request is not answered. */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 405;
  readonly text: string;
}

/** Returns why a request is refused, whatever it is for; `undefined` if it is not. */
export function checkRequest(
  { method, headers }: CheckedRequest,
  access: Access,
): Refusal | undefined {
  if (!isKnownHost(headers.host ?? [], access)) {
    return { status: 403, text: 'the Host of the request is not one of this page' };
  }
  if (method !== 'GET' && method !== 'HEAD') {
    return { status: 405, text: 'this page is read only: GET and HEAD' };
  }
  // Only the page itself, a person who types its address, and a link: not a script or a frame of another site.
  const [site = 'none'] = headers['sec-fetch-site'] ?? [];
  const isLink = headers['sec-fetch-dest']?.[0] === 'document';
  if (site !== 'same-origin' && site !== 'none' && !isLink) {
    return { status: 403, text: 'requests of other sites are not answered' };
  }
  const hasBody = headers['transfer-encoding'] ?? headers['content-length'];
  if (hasBody !== undefined) return { status: 400, text: 'a body is not expected' };
  return undefined;
}

/** Returns why a request for the state is refused; `undefined` if it has the token. */
export function checkToken({ headers }: CheckedRequest, { token }: Access): Refusal | undefined {
  const { authorization: [value = '', ...more] = [] } = headers;
  if (more.length === 0 && isSame(value, `Bearer ${token}`)) return undefined;
  return { status: 401, text: 'the token is missing or wrong; it is part of the URL of the page' };
}

/**
 * A site whose name was made to resolve to this address (DNS rebinding) has its name in the header. An IP address cannot
 * be made to resolve to anything else.
 */
function isKnownHost(values: readonly string[], { hosts }: Access): boolean {
  const [value = ''] = values;
  const name = value.toLowerCase().replace(/:\d{1,5}$/, '');
  return values.length === 1 && (hosts.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0);
}

/** Compares in a time that does not depend on where they differ. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
