import type { SocketListener } from '../../resources/listener/listener';
import { addressBytes } from '../../resources/shared/address-parser';
import type { ResourceTypes } from '../../resources/resource-types';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import { GIVEN_SERVER, type GivenResource } from '../../runtime/explain';
import { err, ok, type Result } from '../../util/result';
import { joinHostPort, quoteName } from '../../util/text';
import { decodeWhole, type ResourceType } from '../../xds-client/resource-type';
import { joinBounded } from '../../util/violations';
import type { ConnectionEnd } from '../filter-chains/filter-chain-index';

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
