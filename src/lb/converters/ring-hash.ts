import {
  RingHash,
  RingHash_HashFunction,
} from '../../generated/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash';
import { decodeMessage, enumName } from '../../resources/shared/any';
import type { Violations } from '../../util/violations';
import { RING_SIZE_BOUNDS, RingHashConfig } from '../ring-hash/config';
import type { LbConfigConverter } from './lb-config-converter';

const DEFAULT_MINIMUM = 1024n;
const DEFAULT_MAXIMUM = BigInt(RING_SIZE_BOUNDS.max);

/** `ring_hash_experimental` (gRFCs A42, A52). */
export const ringHashConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash',
  convert(value, { violations }) {
    const before = violations.count;
    const message = decodeMessage(RingHash, value, violations);
    if (message === undefined) return undefined;
    const { minimumRingSize: min = DEFAULT_MINIMUM, maximumRingSize: max = DEFAULT_MAXIMUM } =
      message;
    checkHashFunction(message.hashFunction, violations.at('hash_function'));
    checkRingSize(min, violations.at('minimum_ring_size'));
    checkRingSize(max, violations.at('maximum_ring_size'));
    if (min > max) {
      const reason = `must not exceed maximum_ring_size, which is ${max.toString()}, but is ${min.toString()}`;
      violations.at('minimum_ring_size').add(reason);
    }
    if (violations.count > before) return undefined;
    return new RingHashConfig({
      minRingSize: Number(min),
      maxRingSize: Number(max),
      requestHashHeader: '',
    });
  },
};

function checkHashFunction(hashFunction: RingHash_HashFunction, violations: Violations): void {
  const { DEFAULT_HASH, XX_HASH } = RingHash_HashFunction;
  if (hashFunction === DEFAULT_HASH || hashFunction === XX_HASH) return;
  violations.add(`must be XX_HASH, not ${enumName(RingHash_HashFunction, hashFunction)}`);
}

function checkRingSize(size: bigint, violations: Violations): void {
  if (size >= 1n && size <= DEFAULT_MAXIMUM) return;
  violations.add(`must be from 1 to ${DEFAULT_MAXIMUM.toString()}, not ${size.toString()}`);
}
