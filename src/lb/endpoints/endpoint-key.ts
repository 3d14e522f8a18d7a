import type { SocketAddress, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { joinHostPort } from '../../util/text';

/** Returns the identity of an endpoint: its addresses in any order (gRFC A61). */
export function endpointKey(endpoint: XdsEndpoint): string {
  const [first, ...others] = endpoint.addresses;
  if (first === undefined) return '';
  if (others.length === 0) return addressKey(first);
  return [...new Set(endpoint.addresses.map(addressKey))].sort().join(' ');
}

/** Returns the previous list if it has equal addresses in the same order, otherwise the next one. */
export function shareAddresses(
  previous: readonly SocketAddress[],
  next: readonly SocketAddress[],
): readonly SocketAddress[] {
  if (previous.length !== next.length) return next;
  return previous.every((address, i) => areEqual(address, next[i])) ? previous : next;
}

function areEqual(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.port === b?.port && a?.host === b?.host;
}

/** Returns the identity of an address, which is that of an endpoint with this address only. */
export function addressKey(address: SocketAddress): string {
  return `${address.host}:${address.port}`;
}

/** Formats an address as grpc-js and session cookies do: `10.0.0.1:80` or `[::1]:80`. */
export function formatAddress({ host, port }: SocketAddress): string {
  return joinHostPort(host, port);
}

/**
 * Returns the first address of an endpoint as text, which other clients hash as well (gRFC A61); empty if it has none.
 */
export function firstAddress({ addresses: [first] }: Pick<XdsEndpoint, 'addresses'>): string {
  return first === undefined ? '' : formatAddress(first);
}
