import { isIP } from 'node:net';
import { channelTarget, serverProtocol } from '../../../bootstrap/server-uri';

/** Where a management server is. */
export type ServerAddress =
  /** `host` is a name or an IP address. */
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string }
  /** Of a scheme whose addresses only grpc-js resolves. */
  | { readonly kind: 'other' };

/** The port of a name without one, as in grpc-js and URLs. */
const DEFAULT_PORT = 443;

/** Finds the address in a valid server URI. */
export function addressOf(serverUri: string): ServerAddress {
  const protocol = serverProtocol(serverUri);
  if (protocol === 'file') return { kind: 'file', path: new URL(serverUri).pathname };
  if (protocol === 'http' || protocol === 'https') {
    const { hostname, port } = new URL(serverUri);
    const usual = protocol === 'http' ? 80 : DEFAULT_PORT;
    return tcp(hostname.replace(/^\[(.*)\]$/, '$1'), port === '' ? usual : Number(port));
  }
  const target = channelTarget(serverUri);
  const unix = /^unix:(?:\/\/)?(.+)$/.exec(target)?.[1];
  if (unix !== undefined) return { kind: 'unix', path: unix };
  const scheme = /^([a-z][a-z0-9+.-]*):(?:\/\/[^/]*\/|(?!\d+$))(.*)$/i.exec(target);
  if (scheme === null) return parseHostPort(target);
  const [, name = '', rest = ''] = scheme;
  return ['dns', 'ipv4', 'ipv6'].includes(name.toLowerCase())
    ? parseHostPort(rest.split(',', 1).join())
    : { kind: 'other' };
}

function parseHostPort(text: string): ServerAddress {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  if (bracketed !== null) return tcp(bracketed[1] ?? '', Number(bracketed[2] ?? DEFAULT_PORT));
  if (isIP(text) === 6) return tcp(text, DEFAULT_PORT);
  const [host = '', port] = text.split(':', 2);
  return tcp(host, port === undefined ? DEFAULT_PORT : Number(port));
}

function tcp(host: string, port: number): ServerAddress {
  return { kind: 'tcp', host, port };
}
