import { isIP, isIPv6 } from 'node:net';
import { InvalidArgumentError } from 'commander';
import type { ServiceAccount } from 'grpc-xds-kubernetes';
import type { Services } from 'grpc-xds/control-plane';
import { parseIpPort, type IpPort } from '../../../src/util/host-port';
import { findSelectorProblem } from '../../../src/util/label-selector';

/** Adds `name=host:port,host:port` to the services of the options before. */
export function addService(text: string, before: Services = {}): Services {
  const separator = text.indexOf('=');
  if (separator < 1) throw new InvalidArgumentError('Expected NAME=HOST:PORT.');
  const name = text.slice(0, separator);
  const addresses = text.slice(separator + 1).split(',');
  return { ...before, [name]: [...(before[name] ?? []), ...addresses] };
}

/** Checks that an option or argument has a form, and returns it as it is. */
function expectForm(pattern: RegExp, expected: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  };
}

/** A header of a call. */
export type CallHeader = readonly [name: string, value: string];

/** The name of a header (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Custom-Metadata), and its value. */
const HEADER = /^([\w.-]+)[:=](.*)$/s;

/** Adds a header, `name:value` or `name=value`, to those of the options before. */
export function addHeader(text: string, before: readonly CallHeader[]): readonly CallHeader[] {
  const [, name, value] = HEADER.exec(text.trim()) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value.trim()]];
  throw new InvalidArgumentError('Expected NAME:VALUE or NAME=VALUE.');
}

/** Checks the path of a method: its service and its name. */
export const parseMethod = expectForm(/^\/?[^/\s]+\/[^/\s]+$/, '/package.Service/Method');

/** Checks the target of a channel. */
export const parseTarget = expectForm(/^xds:./, 'an xds: target, such as xds:///shop');

/** Checks the target of a report, which also has what servers share (gRFC A71). */
export const parseReportedTarget = expectForm(
  /^(?:xds:.|#server$|#relay$|#client-\d+$)/,
  'an xds: target, such as xds:///shop, or #server, #relay, #client-1',
);

/** Checks a project number of Google Cloud. */
export const parseProjectNumber = expectForm(/^\d+$/, 'a number');

/** Checks the address of a server, which may be any target: a port alone is none. */
export const parseAddress = expectForm(/^(?!:?\d+$)\S+$/, 'an address, such as 127.0.0.1:50052');

/** Checks an address with a port. */
export function parseHostPort(text: string): string {
  const [, host, bracketed, port] = /^(?:([^\s:/[\]]+)|\[([^\]]+)\]):(\d{1,5})$/.exec(text) ?? [];
  const isHost = host !== undefined || isIPv6(bracketed ?? '');
  if (isHost && Number(port) >= 1 && Number(port) <= 65_535) return text;
  throw new InvalidArgumentError('Expected HOST:PORT.');
}

/** Checks an IP address. */
export function parseIp(text: string): string {
  if (isIP(text) !== 0) return text;
  throw new InvalidArgumentError('Expected an IP address.');
}

/** Parses the address of a server. */
export function parseServerAddress(text: string): IpPort {
  const parsed = parseIpPort(text);
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError('Expected IP:PORT, such as 10.0.0.2:50051 or [::1]:50051.');
}

/** Checks an IP address with a port. */
export function parseIpPortText(text: string): string {
  parseServerAddress(text);
  return text;
}

/** Checks where a relay listens. */
export const parseListen = expectForm(
  /^(?:unix:.+|systemd(?::[^:]+)?|(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d{1,5})$/,
  'unix:/path, or a loopback address and a port, such as 127.0.0.1:18000, or systemd',
);

/** An address to listen on. */
export interface SocketAddress {
  /** An IP address or a name. */
  readonly host: string;
  /** 0 takes any that is free. */
  readonly port: number;
}

/** Parses an address to listen on. */
export function parseListenAddress(text: string): SocketAddress {
  const address = findAddress(text);
  if (address !== undefined) return address;
  throw new InvalidArgumentError('Expected HOST:PORT, such as 0.0.0.0:18000 or [::]:18000.');
}

function findAddress(text: string): SocketAddress | undefined {
  const [, host, bracketed, port] = /^(?:([^\s:/[\]]+)|\[([^\]]+)\]):(\d{1,5})$/.exec(text) ?? [];
  const isHost = host !== undefined || isIPv6(bracketed ?? '');
  const isAddress = isHost && Number(port) <= 65_535;
  return isAddress ? { host: host ?? bracketed ?? '', port: Number(port) } : undefined;
}

/** Parses a port of 127.0.0.1, or a host with a port. */
export function parseListenPort(text: string): SocketAddress {
  const address = findAddress(/^\d+$/.test(text) ? `127.0.0.1:${text}` : text);
  if (address !== undefined) return address;
  throw new InvalidArgumentError('Expected a port, or HOST:PORT, such as 0.0.0.0:9464.');
}

/** Adds an address to listen on to those of the options before. */
export function addListenAddress(
  text: string,
  before: readonly SocketAddress[] = [],
): readonly SocketAddress[] {
  return [...before, parseListenAddress(text)];
}

/** The name of a namespace of Kubernetes (RFC 1123). */
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Checks the name of a namespace of Kubernetes. */
export const parseNamespace = expectForm(NAMESPACE, 'the name of a namespace');

/** Checks a selector of labels of Kubernetes. */
export function parseLabelSelector(text: string): string {
  const problem = findSelectorProblem(text);
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`${problem}.`);
}

/** Parses the name of a service account. */
export function parseAccount(text: string): ServiceAccount {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (NAMESPACE.test(namespace) && name !== '' && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError('Expected NAMESPACE/NAME.');
}

/** Adds names of namespaces, separated by commas, to those of the options before. */
export function addNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text.split(',');
  if (names.every((name) => NAMESPACE.test(name))) return [...before, ...names];
  throw new InvalidArgumentError('Expected names of namespaces, separated by commas.');
}

/** Checks whose Services clients see. */
export function parseVisible(text: string): string {
  const [first, ...others] = text.split(',');
  const isOwn = first === 'own' && others.every((name) => NAMESPACE.test(name));
  if (text === 'all' || isOwn) return text;
  throw new InvalidArgumentError(
    'Expected all, or own, or own with names of namespaces: own,shared.',
  );
}

/** Checks the identity of a client. */
export const parseIdentity = expectForm(
  /^[A-Za-z][\w+.-]*:\S+$/,
  'a URI, such as spiffe://cluster.local/ns/default/sa/web',
);

/** Checks the URL of a live page. */
export function parsePageUrl(text: string): string {
  if (/^https?:/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('Expected the URL of a live page, with its token.');
}

/** Parses the id of a process. */
export function parsePid(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected the id of a process.');
}

/** Parses a number of things, at least one. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number, more than 0.');
}

/** Parses a number of seconds above zero. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds > 0) return seconds;
  throw new InvalidArgumentError('Expected a number of seconds, more than 0.');
}

/** Parses a port, or 0. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65535) return port;
  throw new InvalidArgumentError('Expected a number from 0 to 65535.');
}

/** Parses the names of the formats of a result, or of those and others. */
export function parseFormat(formats: readonly string[], hint = ''): (text: string) => string {
  return (text) => {
    if (formats.includes(text)) return text;
    throw new InvalidArgumentError(`Allowed choices are ${formats.join(', ')}.${hint}`);
  };
}
