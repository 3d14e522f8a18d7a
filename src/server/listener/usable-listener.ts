import type { Bootstrap } from '../../bootstrap/bootstrap';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import type {
  FilterChain,
  ListenerResource,
  SocketListener,
} from '../../resources/listener/listener';
import { addressBytes } from '../../resources/shared/address-parser';
import { err, ok, type Result } from '../../util/result';
import { isSame } from '../../util/same-value';
import { joinHostPort } from '../../util/text';
import { describeResource, describeServers, type ResourceId } from '../../xds-client/xds-errors';

const LISTENER_TYPE = 'type.googleapis.com/envoy.config.listener.v3.Listener';

/** What a listener is compared with. */
export interface ListenerUser {
  /** The name of the Listener resource. */
  readonly name: string;
  /** The address that the server is bound to: a literal IP address and the port. */
  readonly address: SocketAddress;
  /** For the names of the management servers and of the node in messages. */
  readonly bootstrap: Pick<Bootstrap, 'authorities' | 'node' | 'servers'>;
}

/**
 * Returns a valid listener if it can configure a server that is bound to an address (gRFC A36), else the reason. Such a
 * listener is not rejected (NACK): it may be right for another user.
 */
export function usableListener(
  listener: ListenerResource,
  user: ListenerUser,
): Result<SocketListener, string> {
  const { name, address, bootstrap } = user;
  const id: ResourceId = { typeName: 'Listener', name };
  const refuse = (cause: string, fact: string) => {
    const server = describeServers(bootstrap, name, LISTENER_TYPE);
    return err(`${describeResource(id)}: ${cause}: ${server} sent ${fact}`);
  };
  const bound = joinHostPort(address.host, address.port);
  if (listener.kind === 'api') {
    return refuse(
      'not for a server',
      `an API listener: give it the address ${bound} and filter_chains instead of api_listener`,
    );
  }
  if (!isSameAddress(listener.address, address)) {
    const found = joinHostPort(listener.address.host, listener.address.port);
    return refuse(
      'wrong address',
      `one for ${found}, but the server is bound to ${bound}: correct the address there, or server_listener_resource_name_template of the bootstrap`,
    );
  }
  if (!listener.isTcp) {
    return refuse('not for TCP', 'one for another protocol: set protocol TCP in its address');
  }
  return ok(listener);
}

/** Whether a listener is for an address. Texts of the same IP address are equal; port 0 is every port. */
function isSameAddress(listener: SocketAddress, bound: SocketAddress): boolean {
  if (listener.port !== 0 && listener.port !== bound.port) return false;
  const [expected, found] = [addressBytes(bound.host), addressBytes(listener.host)];
  return expected !== undefined && found !== undefined && Buffer.compare(expected, found) === 0;
}

/** Returns all chains of a listener. */
export function chainsOf({
  filterChains,
  defaultFilterChain,
}: SocketListener): readonly FilterChain[] {
  return defaultFilterChain === undefined ? filterChains : [...filterChains, defaultFilterChain];
}

/**
 * Compares what servers use of two listeners: connections need not be drained if that is the same, whichever fields without
 * effect differ. Both are for the same address.
 */
export function isSameListener(a: SocketListener, b: SocketListener): boolean {
  return isSame(usedOf(a), usedOf(b));
}

function usedOf({ filterChains, defaultFilterChain }: SocketListener): object {
  const chains = filterChains.map((chain) => ({ match: chain.match, ...usedOfChain(chain) }));
  return { chains, otherwise: defaultFilterChain && usedOfChain(defaultFilterChain) };
}

function usedOfChain({ name, tls, httpConnectionManager }: FilterChain): object {
  const { routes, httpFilters } = httpConnectionManager;
  return { name, tls, routes, httpFilters };
}
