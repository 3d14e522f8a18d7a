import type { SocketAddress, XdsEndpoint } from '../resources/endpoints';

/** The identity of an endpoint: its addresses, in whatever order (gRFC A61). */
export function endpointKey(endpoint: XdsEndpoint): string {
  const [first, ...others] = endpoint.addresses;
  if (first === undefined) return '';
  if (others.length === 0) return addressKey(first);
  return [...new Set(endpoint.addresses.map(addressKey))].sort().join(' ');
}

/** Whether two lists hold the same addresses in the same order. */
export function sameAddresses(a: readonly SocketAddress[], b: readonly SocketAddress[]): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every((address, i) => address.host === b[i]?.host && address.port === b[i].port)
  );
}

/** The identity of an address. That of an endpoint with no other is the same. */
export function addressKey(address: SocketAddress): string {
  return `${address.host}:${address.port}`;
}
