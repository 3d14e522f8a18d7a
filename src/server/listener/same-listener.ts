import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import { isSame } from '../../util/same-value';

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
