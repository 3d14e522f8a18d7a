import { Maglev } from '../../wire/generated/envoy/extensions/load_balancing_policies/maglev/v3/maglev';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject, readNumber } from '../../util/json-fields';
import { MAX_MAGLEV_TABLE_SIZE } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { LbConfigConverter } from '../lb-policy';
import { readHashHeader, RingHashConfig } from '../ring-hash/config';

export const MAGLEV = 'maglev_experimental';

const DEFAULT_TABLE_SIZE = 65_537;

/** Validates the JSON config `{ tableSize, requestHashHeader }`, both of which are optional. */
export function parseMaglevConfig(
  json: unknown,
  violations: Violations,
): RingHashConfig | undefined {
  return parseObject(json, violations, (fields) => {
    const tableSize = readNumber(fields, 'tableSize', DEFAULT_TABLE_SIZE, violations);
    const requestHashHeader = readHashHeader(fields, violations);
    return createConfig(tableSize, requestHashHeader, violations.at('tableSize'));
  });
}

/** Converts the xDS config. Fields besides the size are ignored, as ring_hash does. */
export const maglevConverter: LbConfigConverter = {
  messageType: 'envoy.extensions.load_balancing_policies.maglev.v3.Maglev',
  convert(value, { violations }) {
    const message = decodeMessage(Maglev, value, violations);
    if (message === undefined) return undefined;
    const { tableSize = BigInt(DEFAULT_TABLE_SIZE) } = message;
    return createConfig(Number(tableSize), '', violations.at('table_size'));
  },
};

function createConfig(
  size: number,
  requestHashHeader: string,
  violations: Violations,
): RingHashConfig | undefined {
  if (size <= MAX_MAGLEV_TABLE_SIZE && isPrime(size)) {
    const options = { minRingSize: size, maxRingSize: size, requestHashHeader };
    return new RingHashConfig(options, MAGLEV);
  }
  return violations.add(`must be a prime number up to ${MAX_MAGLEV_TABLE_SIZE}, not ${size}`);
}

function isPrime(number: number): boolean {
  if (!Number.isInteger(number) || number < 2) return false;
  for (let divisor = 2; divisor * divisor <= number; divisor++) {
    if (number % divisor === 0) return false;
  }
  return true;
}
