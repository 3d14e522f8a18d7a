import {
  RingHash,
  RingHash_HashFunction,
} from '../../wire/generated/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash';
import type { LbConfig } from '../../resources/extension-points';
import { enumName } from '../../util/enum-name';
import { decodeMessage } from '../../resources/shared/any';
import { quoteText } from '../../util/text';
import { parseObject, readInteger, readString, type JsonFields } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';

export const RING_HASH = 'ring_hash_experimental';

/** The bounds of configured sizes, in entries. `Limits.maxRingSize` limits the size in use. */
const RING_SIZE_BOUNDS = { min: 1, max: 8_388_608 } as const;

const DEFAULT_MIN_RING_SIZE = 1024;
const DEFAULT_MAX_RING_SIZE = 4096;

/** The settings of `ring_hash_experimental`. */
export interface RingHashOptions {
  /** The minimum number of entries, at most `maxRingSize`. */
  readonly minRingSize: number;
  /** The maximum number of entries. */
  readonly maxRingSize: number;
  /** The header that is hashed instead of using the hash of the route, in lower case; empty if none. */
  readonly requestHashHeader: string;
}

/** The config of `ring_hash_experimental` (gRFCs A42, A76), and of `maglev_experimental`, whose table has one size. */
export class RingHashConfig implements LbConfig, RingHashOptions {
  readonly minRingSize: number;
  readonly maxRingSize: number;
  readonly requestHashHeader: string;

  constructor(
    options: RingHashOptions,
    readonly policyName: string = RING_HASH,
  ) {
    this.minRingSize = options.minRingSize;
    this.maxRingSize = options.maxRingSize;
    this.requestHashHeader = options.requestHashHeader;
  }
}

/** Validates the JSON config `{ minRingSize, maxRingSize, requestHashHeader }`, all of which are optional. */
export function parseRingHashConfig(
  json: unknown,
  violations: Violations,
): RingHashConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const minRingSize = readRingSize(fields, 'minRingSize', DEFAULT_MIN_RING_SIZE, violations);
    const maxRingSize = readRingSize(fields, 'maxRingSize', DEFAULT_MAX_RING_SIZE, violations);
    const requestHashHeader = readHashHeader(fields, violations);
    if (minRingSize === undefined || maxRingSize === undefined) return undefined;
    if (minRingSize > maxRingSize) {
      violations.at('minRingSize').add(`must not exceed maxRingSize, which is ${maxRingSize}`);
    }
    return new RingHashConfig({ minRingSize, maxRingSize, requestHashHeader });
  });
}

function readRingSize(
  fields: JsonFields,
  name: string,
  fallback: number,
  violations: Violations,
): number | undefined {
  return readInteger(fields.get(name) ?? fallback, RING_SIZE_BOUNDS, violations.at(name));
}

/** Reads the field `requestHashHeader`; empty if it is absent (gRFC A76). */
export function readHashHeader(fields: JsonFields, violations: Violations): string {
  const name = readString(fields, 'requestHashHeader', violations)?.toLowerCase() ?? '';
  if (name === '') return name;
  const at = violations.at('requestHashHeader');
  if (!/^[0-9a-z_.-]+$/.test(name)) at.add(`must be the name of a header, not ${quoteText(name)}`);
  else if (name.endsWith('-bin')) at.add('must not be the name of a binary header');
  return name;
}

const DEFAULT_MINIMUM = 1024n;
const DEFAULT_MAXIMUM = BigInt(RING_SIZE_BOUNDS.max);

/** Converts the xDS config of `ring_hash_experimental` (gRFCs A42, A52). */
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
