import type { SocketListener } from '../../resources/listener/listener';
import { addressBytes } from '../../resources/shared/address-parser';
import type { ResourceTypes } from '../../resources/resource-types';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import { GIVEN_SERVER, type GivenResource } from '../../runtime/explain';
import { err, ok, type Result } from '../../util/result';
import { joinHostPort, quoteName } from '../../util/text';
import { decodeWhole, type ResourceType } from '../../xds-client/resource-type';
import { joinBounded } from '../../util/violations';
import type { ConnectionEnd } from '../filter-chains/find-filter-chain';
import type { AuthorizationRequest } from '../../authorization/request';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import { type IpPort, parseIpPort } from '../../util/host-port';
import { explainRequest, UNEXPLAINED } from './explain-request';
import { formatRequestExplanation, type RequestExplanation } from './request-explanation';
import { createClientParts, type ClientSurroundings } from '../../runtime/examine/client-parts';

/** Listeners of servers that are shown of more. */
const MAX_SHOWN = 10;

/** Resources of servers, read as a server reads them. */
export class GivenServers {
  constructor(
    private readonly resources: readonly GivenResource[],
    private readonly types: Pick<ResourceTypes, 'listener' | 'routeConfig'>,
  ) {}

  /**
   * Returns the Listener of the server at an address, or why there is none.
   *
   * @param address Default: that of the only Listener for a server.
   */
  find(address: ConnectionEnd | undefined): Result<SocketListener, string> {
    const { listener: type } = this.types;
    const found: SocketListener[] = [];
    const problems: string[] = [];
    for (const each of this.resources) {
      if (each.typeUrl !== type.typeUrl) continue;
      const listener = read(type, each);
      if (!listener.ok) problems.push(listener.error);
      else if (listener.value.kind === 'socket') found.push(listener.value);
    }
    const fitting = found.filter((each) => isFor(each, address));
    const [first, second] = fitting.toSorted((x, y) => specificity(y) - specificity(x));
    if (first === undefined) return err(describeMissing(address, found, problems));
    if (address === undefined && second !== undefined) {
      return err(
        `there are ${fitting.length} Listeners for servers: give the address of one: ${addressesOf(fitting)}`,
      );
    }
    return ok(first);
  }

  /** Returns a route configuration, or why there is none. */
  routesOf(name: string): Result<RouteConfigResource, string> {
    const { routeConfig: type } = this.types;
    const given = this.resources.find(
      (each) => each.typeUrl === type.typeUrl && each.name === name,
    );
    if (given !== undefined) return read(type, given);
    return err(`RouteConfiguration ${quoteName(name)}: not among the resources`);
  }
}

function read<T>(type: ResourceType<T>, { name, value }: GivenResource): Result<T, string> {
  const context = {
    server: GIVEN_SERVER,
    // Those of the bootstrap, which is not given.
    certificateProviders: { has: () => true },
    previous: () => undefined,
  };
  const { result } = decodeWhole(type, value, context);
  if (result.ok) return ok(result.value);
  return err(`${type.typeName} ${quoteName(name)}: rejected (NACK): ${joinBounded(result.error)}`);
}

/** Whether connections to an address are those of the server of a Listener: of that, port 0 is every port. */
function isFor({ address, isTcp }: SocketListener, wanted: ConnectionEnd | undefined): boolean {
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
  address: ConnectionEnd | undefined,
  found: readonly SocketListener[],
  problems: readonly string[],
): string {
  const rejected = problems.length === 0 ? '' : `; ${joinBounded(problems)}`;
  const others = found.length === 0 ? '' : `; there are those of ${addressesOf(found)}`;
  const wanted = address === undefined ? 'a server' : joinHostPort(address.address, address.port);
  return `there is no Listener for ${wanted} over TCP${others}${rejected}`;
}

function addressesOf(listeners: readonly SocketListener[]): string {
  const texts = listeners.map(({ address }) => joinHostPort(address.host, address.port));
  const left = texts.length - MAX_SHOWN;
  return `${texts.slice(0, MAX_SHOWN).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

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

/** A request to a server that is not made. */
export interface ServerRequest {
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  /** The identity in the certificate of the client. */
  readonly from: string | undefined;
  /** Where the client has connected to, `IP:port`. */
  readonly address: string | undefined;
  readonly remote: string | undefined;
  readonly authority: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An explanation, and its text for people. */
interface PrintedRequest {
  readonly explanation: RequestExplanation;
  readonly text: string;
}

/** Explains what the server of given resources does with a request. */
export function explainGivenRequest(
  resources: readonly GivenResource[],
  request: ServerRequest,
  surroundings: ClientSurroundings,
): PrintedRequest {
  const explanation = explain(resources, request, surroundings);
  return { explanation, text: formatRequestExplanation(explanation) };
}

function explain(
  resources: readonly GivenResource[],
  { path, from, address, remote, authority, headers }: ServerRequest,
  surroundings: ClientSurroundings,
): RequestExplanation {
  const { types, httpFilters: registry, meter } = createClientParts(surroundings);
  const servers = new GivenServers(resources, types);
  const wanted = address === undefined ? undefined : parseIpPort(address);
  const found = servers.find(wanted);
  if (!found.ok) return { ...UNEXPLAINED, outcome: 'closed', reason: found.error };
  const listener = found.value;
  const local = wanted ?? connectedTo(listener.address);
  const own = authority === undefined ? [] : ([[':authority', authority]] as const);
  const request: Pick<AuthorizationRequest, 'path' | 'header' | 'local' | 'remote'> = {
    path,
    local,
    remote: (remote && parseIpPort(remote)) || DEFAULT_REMOTE,
    header: headersOf(path, local, [...headers, ...own]),
  };
  const client = from === undefined ? undefined : { uriSans: [from], dnsSans: [], subject: '' };
  const routesOf = (name: string) => servers.routesOf(name);
  return explainRequest({ listener, routesOf, registry, meter }, { ...request, client });
}
