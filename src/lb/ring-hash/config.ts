import type { LbConfig } from '../../resources/extension-points';
import { readInteger, readObject, readString, type JsonFields } from '../../util/json-fields';
import type { Violations } from '../../util/violations';

/** The gRPC name of the policy. */
export const RING_HASH = 'ring_hash_experimental';

/** Bounds of what may be configured, in entries. What is used is bounded by `Limits.maxRingSize`, too. */
export const RING_SIZE_BOUNDS = { min: 1, max: 8_388_608 } as const;

const DEFAULT_MIN_RING_SIZE = 1024;
const DEFAULT_MAX_RING_SIZE = 4096;

/** What `ring_hash_experimental` can be told. */
export interface RingHashOptions {
  /** In entries; not more than `maxRingSize`. */
  readonly minRingSize: number;
  /** In entries. */
  readonly maxRingSize: number;
  /** The metadata key whose value decides where a call goes, in lower case; empty: the hash of the route does. */
  readonly requestHashHeader: string;
}

/** The config of `ring_hash_experimental` (gRFCs A42, A76). */
export class RingHashConfig implements LbConfig, RingHashOptions {
  readonly policyName = RING_HASH;
  readonly minRingSize: number;
  readonly maxRingSize: number;
  readonly requestHashHeader: string;

  constructor(options: RingHashOptions) {
    this.minRingSize = options.minRingSize;
    this.maxRingSize = options.maxRingSize;
    this.requestHashHeader = options.requestHashHeader;
  }

  toJson(): object {
    const { minRingSize, maxRingSize, requestHashHeader } = this;
    return { minRingSize, maxRingSize, requestHashHeader };
  }
}

/** Validates the JSON config `{ minRingSize, maxRingSize, requestHashHeader }`, all of which may be absent. */
export function parseRingHashConfig(
  json: unknown,
  violations: Violations,
): RingHashConfig | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const before = violations.count;
  const minRingSize = readRingSize(fields, 'minRingSize', DEFAULT_MIN_RING_SIZE, violations);
  const maxRingSize = readRingSize(fields, 'maxRingSize', DEFAULT_MAX_RING_SIZE, violations);
  const requestHashHeader = readHeaderName(fields, violations);
  if (minRingSize === undefined || maxRingSize === undefined) return undefined;
  if (minRingSize > maxRingSize) {
    violations.at('minRingSize').add(`must not exceed maxRingSize, which is ${maxRingSize}`);
  }
  if (violations.count > before) return undefined;
  return new RingHashConfig({ minRingSize, maxRingSize, requestHashHeader });
}

function readRingSize(
  fields: JsonFields,
  name: string,
  fallback: number,
  violations: Violations,
): number | undefined {
  return readInteger(fields.get(name) ?? fallback, RING_SIZE_BOUNDS, violations.at(name));
}

function readHeaderName(fields: JsonFields, violations: Violations): string {
  const name = readString(fields, 'requestHashHeader', violations)?.toLowerCase() ?? '';
  if (name === '') return name;
  const at = violations.at('requestHashHeader');
  if (!/^[0-9a-z_.-]+$/.test(name))
    at.add(`must be the name of a header, not ${JSON.stringify(name)}`);
  else if (name.endsWith('-bin')) at.add('must not be the name of a binary header');
  return name;
}
