import type { ListenerResource, SocketListener } from '../../resources/listener/listener';
import { addressBytes } from '../../resources/shared/address-parser';
import { decodeGiven } from '../../runtime/examine/decode-given';
import type { GivenResource } from '../../runtime/explain';
import { err, ok, type Result } from '../../util/result';
import { joinFirst, joinHostPort, quoteName } from '../../util/text';
import type { ResourceType } from '../../xds-client/resource-type';
import { joinBounded } from '../../util/violations';
import type { ClientParts } from '../../runtime/built-in-parts';
import type { AuthorizationRequest, PeerNames } from '../../authorization/request';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import { type IpPort, parseIpPort } from '../../util/host-port';
import { explainRequest, UNEXPLAINED } from './explain-request';
import { formatRequestExplanation, type RequestExplanation } from './request-explanation';
import { createClientParts, type ClientSurroundings } from '../../runtime/examine/client-parts';

/** A request that is not made. */
export interface DescribedRequest {
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  /** The URI, DNS names and subject in the certificate of the client. Without any of them it shows none. */
  readonly from?: string | undefined;
  readonly dnsNames?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** The address that the client connected to, `IP:port`. Default: the address of the only Listener for a server. */
  readonly address?: string | undefined;
  readonly remote?: string | undefined;
  readonly headers: Iterable<readonly [name: string, value: string]>;
}

/** Returns the names of a client; `undefined` if it has no certificate. */
export function clientOf({
  from,
  dnsNames,
  subject,
}: Pick<DescribedRequest, 'from' | 'dnsNames' | 'subject'>): PeerNames | undefined {
  if (from === undefined && dnsNames === undefined && subject === undefined) return undefined;
  const uriSans = from === undefined ? [] : [from];
  return { uriSans, dnsSans: dnsNames ?? [], subject: subject ?? '' };
}

/** Explains what the server of resources does with a request, or why there is none. */
export function explainAmong(
  resources: readonly GivenResource[],
  { types, httpFilters: registry, meter }: Pick<ClientParts, 'types' | 'httpFilters' | 'meter'>,
  request: DescribedRequest,
): Result<RequestExplanation, string> {
  const address = addressOf(request.address);
  const client = clientOf(request);
  const listener = findListener(resources, types.listener, address);
  if (!listener.ok) return listener;
  const local = address ?? connectedTo(listener.value.address);
  const routesOf = (name: string) => {
    const { routeConfig: type } = types;
    const given = resources.find((each) => each.typeUrl === type.typeUrl && each.name === name);
    return given === undefined
      ? err(`RouteConfiguration ${quoteName(name)}: not among the resources`)
      : read(type, given);
  };
  const server = { listener: listener.value, routesOf, registry, meter };
  return ok(explainRequest(server, { ...requestAt(local, request), client }));
}

/** Returns the Listener of the server at an address, by default that of the only one, or why there is none. */
function findListener(
  resources: readonly GivenResource[],
  type: ResourceType<ListenerResource>,
  address: IpPort | undefined,
): Result<SocketListener, string> {
  const found: SocketListener[] = [];
  const problems: string[] = [];
  for (const each of resources) {
    if (each.typeUrl !== type.typeUrl) continue;
    const listener = read(type, each);
    if (!listener.ok) problems.push(listener.error);
    else if (listener.value.kind === 'socket') found.push(listener.value);
  }
  const fitting = found.filter((each) => isFor(each, address));
  const [first, second] = fitting.toSorted((x, y) => specificity(y) - specificity(x));
  if (first === undefined) return err(describeMissing(address, found, problems));
  if (address !== undefined || second === undefined) return ok(first);
  return err(
    `there are ${fitting.length} Listeners for servers: give the address of one: ${addressesOf(fitting)}`,
  );
}

function read<T>(type: ResourceType<T>, { name, value }: GivenResource): Result<T, string> {
  const result = decodeGiven(type, value);
  if (result.ok) return result;
  return err(`${type.typeName} ${quoteName(name)}: rejected (NACK): ${joinBounded(result.error)}`);
}

/** Whether connections to an address are those of the server of a Listener: of that, port 0 is every port. */
function isFor({ address, isTcp }: SocketListener, wanted: IpPort | undefined): boolean {
  if (!isTcp || wanted === undefined) return isTcp;
  if (address.port !== 0 && address.port !== wanted.port) return false;
  const [own, local] = [addressBytes(address.host), addressBytes(wanted.address)];
  if (own === undefined || local === undefined) return false;
  return Buffer.compare(own, local) === 0 || (isWildcard(own) && own.length >= local.length);
}

/** Whether a server at these bytes listens on all addresses: those of IPv4, or of both families. */
function isWildcard(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

function specificity({ address: { host, port } }: SocketListener): number {
  const bytes = addressBytes(host);
  return (bytes !== undefined && isWildcard(bytes) ? 0 : 2) + (port === 0 ? 0 : 1);
}

function describeMissing(
  address: IpPort | undefined,
  found: readonly SocketListener[],
  problems: readonly string[],
): string {
  const rejected = problems.length === 0 ? '' : `; ${joinBounded(problems)}`;
  const others = found.length === 0 ? '' : `; there are those of ${addressesOf(found)}`;
  const wanted = address === undefined ? 'a server' : joinHostPort(address.address, address.port);
  return `there is no Listener for ${wanted} over TCP${others}${rejected}`;
}

function addressesOf(listeners: readonly SocketListener[]): string {
  return joinFirst(listeners, ({ address: { host, port } }) => joinHostPort(host, port));
}

/** The address of a server, unless another is given. */
export const DEFAULT_ADDRESS: IpPort = { address: '127.0.0.1', port: 50_051 };

/** The address of a client, unless another is given. */
const DEFAULT_REMOTE: IpPort = { address: '127.0.0.1', port: 40_000 };

const LOOPBACK: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Returns where a client connects to that is on the same machine as a server at an address, which may be that of a Listener. */
function connectedTo({ host, port }: SocketAddress): IpPort {
  return { address: LOOPBACK.get(host) ?? host, port: port === 0 ? DEFAULT_ADDRESS.port : port };
}

const CONTENT_TYPE = 'application/grpc';

/**
 * Returns the headers of a request as a server receives them: repeated ones are joined, and the authority is the address of the server
 * unless it is given.
 */
function headersOf(
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

/** Returns a request as the server at an address receives it. */
export function requestAt(
  local: IpPort,
  { path, headers, remote: from }: Pick<DescribedRequest, 'path' | 'headers' | 'remote'>,
): Pick<AuthorizationRequest, 'path' | 'header' | 'local' | 'remote'> {
  const remote = addressOf(from) ?? DEFAULT_REMOTE;
  return { path, local, remote, header: headersOf(path, local, headers) };
}

/** Returns an address that is given, if it can be read. */
export function addressOf(text: string | undefined): IpPort | undefined {
  return text === undefined ? undefined : parseIpPort(text);
}

/** Explains what the server of given resources does with a request, also in a text for people. */
export function explainGivenRequest(
  resources: readonly GivenResource[],
  request: DescribedRequest,
  surroundings: ClientSurroundings,
): { readonly explanation: RequestExplanation; readonly text: string } {
  const explained = explainAmong(resources, createClientParts(surroundings), request);
  const explanation: RequestExplanation = explained.ok
    ? explained.value
    : { ...UNEXPLAINED, outcome: 'closed', reason: explained.error };
  return { explanation, text: formatRequestExplanation(explanation) };
}
