import type { XdsEndpoint } from '../../resources/endpoints/endpoints';

/** The first address of an endpoint as other clients write it, who hash the same text (gRFC A61). */
export function firstAddress({ addresses: [first] }: XdsEndpoint): string {
  if (first === undefined) return '';
  const { host, port } = first;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * What is hashed to place an endpoint: its hash key if it has one (gRFC A76), otherwise its first address.
 *
 * @param usesHashKeys `false` to go by the address in any case, as clients did before hash keys.
 */
export function ringKey(endpoint: XdsEndpoint, usesHashKeys: boolean): string {
  const { hashKey } = endpoint;
  return usesHashKeys && hashKey !== undefined ? hashKey : firstAddress(endpoint);
}

/** What is hashed to place one of the entries of an endpoint, counted from 0 (gRFC A42). */
export function entryKey(ringKey: string, ordinal: number): string {
  return `${ringKey}_${ordinal}`;
}

/**
 * A text whose order among others, by UTF-16 code units as in JavaScript, is the order of the ring keys by bytes of
 * UTF-8, as in Go: so all clients hand out the entries of a ring in the same order.
 */
export function ringSortKey(ringKey: string): string {
  return IS_ASCII.test(ringKey) ? ringKey : Buffer.from(ringKey).toString('latin1');
}

// eslint-disable-next-line no-control-regex -- all of ASCII
const IS_ASCII = /^[\x00-\x7f]*$/;
