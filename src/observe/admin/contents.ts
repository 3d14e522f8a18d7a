import { diffJson, type Difference } from '../../wire/proto-json/json-diff';
import type * as ResourceJson from './resource-json';
import { late } from '../../util/late';

/** Loaded late: the descriptors of all messages take longer to load than everything else here. */
export const loadResourceJson = late<typeof ResourceJson>(() => require('./resource-json'));

const DEFAULT_MAX_BYTES = 8 * 2 ** 20;
/** The number of differences of one change. */
const MAX_DIFFERENCES = 100;

/** The contents of resources, up to a size. */
export class Contents {
  private left: number;

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.left = maxBytes;
  }

  of(typeUrl: string, bytes: Uint8Array): unknown {
    if (bytes.length > this.left)
      return `left out: ${bytes.length} bytes, more than maxBytes allows`;
    this.left -= bytes.length;
    return loadResourceJson().resourceToJson(typeUrl, bytes);
  }

  /** Returns `undefined` if the values are too large. */
  diff(typeUrl: string, before: Uint8Array, after: Uint8Array): readonly Difference[] | undefined {
    const size = before.length + after.length;
    if (size > this.left) return undefined;
    this.left -= size;
    return diffValues(typeUrl, before, after);
  }
}

/** Compares two values of a resource as JSON, without what may be a secret. */
export function diffValues(
  typeUrl: string,
  before: Uint8Array,
  after: Uint8Array,
): readonly Difference[] {
  const { resourceToJson } = loadResourceJson();
  const differences = diffJson(resourceToJson(typeUrl, before), resourceToJson(typeUrl, after));
  return differences.slice(0, MAX_DIFFERENCES);
}
