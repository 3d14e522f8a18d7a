import type { XdsEndpoint } from '../../resources/endpoints';
import { hashText } from '../../util/text-hash';

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

/** So that it has nothing to do with other uses of the hash. */
const DRAW_SEED = 0x72696e67;

/**
 * A number between 0 and 1 that depends on the place of an endpoint alone, and so is the same in every process.
 *
 * @param usesHashKeys See {@link ringKey}.
 */
export function drawOf(endpoint: XdsEndpoint, usesHashKeys: boolean): number {
  const { hashKey, addresses } = endpoint;
  const [first] = addresses;
  const hash =
    usesHashKeys && hashKey !== undefined
      ? hashText(hashKey, DRAW_SEED)
      : hashText(first?.host ?? '', DRAW_SEED ^ (first?.port ?? 0));
  return (hash + 0.5) / 2 ** 32;
}
