import type { ServerConfig } from '../../bootstrap/bootstrap';
import { ReadBudget } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import type { ReservedElements } from '../budgets';
import { RESPONSE_LIMIT } from '../limits';
import { cachedBytes, type Accepted, type CachedSize, type ResourceEvent } from '../resource-state';
import {
  describeElementLimit,
  isPartial,
  type CertificateProviders,
  type Decoded,
  type DecodeResult,
  type ElementLimit,
  type PreviousVersion,
  type ResourceType,
} from '../resource-type';

/** A decoded resource. */
export interface DecodedResource {
  readonly result: DecodeResult<unknown>;
  /** Fields that its value may be made of; see `CachedSize`. */
  readonly fields: Pick<CachedSize, 'fields' | 'wholeFields'>;
}

/** A large resource that is being decoded: see `PartialDecoding`. */
export interface PartialResource {
  next(): DecodedResource | undefined;
}

/** The cached version of a resource that is decoded. */
type CachedVersion = PreviousVersion<unknown> & Pick<Accepted<unknown>, 'size'>;

/** Constructor options of a decoder. */
export interface ResourceDecoderOptions {
  readonly type: ResourceType<unknown>;
  readonly server: ServerConfig;
  readonly certificateProviders: CertificateProviders;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Returns the value cached under a name. */
  readonly previous: (name: string) => CachedVersion | undefined;
  /** The limit on what all cached resources take. */
  readonly cacheLimit: ElementLimit;
  /** Takes what the resources have more than those they replace. */
  readonly elements: ReservedElements;
}

/** Decodes the resources of one response, and counts their elements. */
export class ResourceDecoder {
  /** How many fields the resources of the response may still have. */
  private readonly budget = new ReadBudget(RESPONSE_LIMIT);

  constructor(private readonly options: ResourceDecoderOptions) {}

  /** Decodes a resource, before which the decoding of others must have ended. */
  decode(bytes: Uint8Array): DecodedResource | PartialResource {
    const { type, server, certificateProviders } = this.options;
    let cached: CachedVersion | undefined;
    const { left } = this.budget;
    const decoding = type.decode(bytes, {
      server,
      certificateProviders,
      budget: this.budget,
      previous: (name) => {
        cached = this.options.previous(name);
        return cached && mayDifferFrom(cached);
      },
    });
    const withFields = ({ result }: Decoded<unknown>): DecodedResource => {
      const read = left - this.budget.left;
      const known = result.ok && result.isPartial === true ? cached?.size : undefined;
      const fields = {
        fields: read + (known?.fields ?? 0),
        wholeFields: known?.wholeFields ?? read,
      };
      return { result, fields };
    };
    if (!isPartial(decoding)) return withFields(decoding);
    const next = () => {
      const decoded = decoding.next();
      return decoded && withFields(decoded);
    };
    return { next };
  }

  /**
   * Accepts a decoded resource, unless it exceeds a limit.
   * @param replaced The version that is cached.
   * @returns the event; else the violations.
   */
  accept(
    { result, fields: cachedFields }: DecodedResource,
    replaced: Accepted<unknown> | undefined,
    content: {
      readonly bytes: Uint8Array;
      readonly version: string;
      readonly ttlMs: number | undefined;
    },
  ): Result<ResourceEvent<unknown>, readonly string[]> {
    if (!result.ok) return result;
    const { value, record, fields = 0 } = result;
    const { type, server, nowMs } = this.options;
    const { bytes, version, ttlMs } = content;
    const elements = type.countElements(value, fields);
    const size = { bytes: bytes.buffer.byteLength, ...cachedFields };
    const serverKey = server.key;
    const updatedAtMs = nowMs;
    // No spread: V8 makes a hidden class for each object with one.
    const accepted = { value, record, bytes, version, serverKey, updatedAtMs, elements, size };
    const excess = this.count(accepted, replaced);
    if (excess !== undefined) return err([excess]);
    return ok({ kind: 'accepted', accepted, ttlMs });
  }

  /** Counts a resource. @returns how it exceeds a limit; `undefined` if it does not. */
  private count(
    next: Accepted<unknown>,
    replaced: Accepted<unknown> | undefined,
  ): string | undefined {
    const { cacheLimit, elements: reserved } = this.options;
    const { elementLimit } = this.options.type;
    const bytes = cachedBytes(next);
    const addedBytes = bytes - (replaced === undefined ? 0 : cachedBytes(replaced));
    const elements = next.elements ?? 0;
    const added = elements - (replaced?.elements ?? 0);
    const excess =
      this.excess(cacheLimit, bytes, addedBytes) ??
      (elementLimit && this.excess(elementLimit, elements, added));
    if (excess !== undefined) return excess;
    reserved.add(cacheLimit, addedBytes);
    if (elementLimit !== undefined) reserved.add(elementLimit, added);
    return undefined;
  }

  /** An update that has less than the version it replaces exceeds nothing. */
  private excess(limit: ElementLimit, count: number, added: number): string | undefined {
    if (added <= 0) return undefined;
    const total = this.options.elements.of(limit) + added;
    if (total <= limit.max) return undefined;
    return (
      `${count} ${limit.noun}, with those of other resources ${total}, ` +
      describeElementLimit(limit)
    );
  }
}

/**
 * What updates drop of a resource is not known where only changes are decoded, so that its fields are counted from above.
 * Once there may be a quarter less than that, it is decoded as a whole: then they are known. Small ones are so much later.
 */
const PARTIAL_FACTOR = 1.25;
const PARTIAL_FIELDS = 64;

/** Returns the version that a resource is decoded with: without its record, it is decoded as a whole. */
function mayDifferFrom(cached: CachedVersion): PreviousVersion<unknown> {
  const { value, size } = cached;
  const isExact =
    size === undefined || size.fields <= size.wholeFields * PARTIAL_FACTOR + PARTIAL_FIELDS;
  return isExact ? cached : { value };
}

/** Returns whether two resources have the same bytes. Compares natively. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/**
 * Returns bytes that do not keep a whole response in memory: a copy, unless the resource is most of its response. Large
 * endpoint assignments, which have megabytes, usually are.
 */
export function bytesToKeep(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isMost = 2 * byteLength > buffer.byteLength;
  return isMost ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes);
}
