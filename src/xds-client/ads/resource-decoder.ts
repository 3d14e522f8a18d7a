import type { ServerConfig } from '../../bootstrap/bootstrap';
import { ReadBudget } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import type { Steps } from '../../util/steps';
import { RESPONSE_LIMIT } from '../limits';
import type { Accepted, ResourceEvent } from '../resource-state';
import type {
  CertificateProviders,
  DecodeContext,
  DecodeResult,
  ElementLimit,
  PreviousVersion,
  ResourceType,
} from '../resource-type';

/** A decoded resource, and the value that its change starts from. */
export interface DecodedResource {
  readonly result: DecodeResult<unknown>;
  readonly from: unknown;
}

/** Constructor options of a decoder. */
export interface ResourceDecoderOptions {
  readonly type: ResourceType<unknown>;
  readonly server: ServerConfig;
  readonly certificateProviders: CertificateProviders;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Returns the value cached under a name. */
  readonly previous: (name: string) => PreviousVersion<unknown> | undefined;
  /** Returns how many elements of the cached resources count against a limit. */
  readonly elementsOf: (limit: ElementLimit) => number;
}

/** Decodes the resources of one response, and counts their elements. */
export class ResourceDecoder {
  /** How many elements the resources accepted so far have more than those they replace. */
  private addedElements = 0;
  /** How many fields the resources of the response may still have. */
  private readonly budget = new ReadBudget(RESPONSE_LIMIT);

  constructor(private readonly options: ResourceDecoderOptions) {}

  /** Decodes a resource. */
  *decode(bytes: Uint8Array): Steps<DecodedResource> {
    const { type, server, certificateProviders } = this.options;
    let from: unknown;
    const context: DecodeContext<unknown> = {
      server,
      certificateProviders,
      budget: this.budget,
      previous: (name) => {
        const previous = this.options.previous(name);
        from = previous?.value;
        return previous;
      },
    };
    const { result } =
      type.decodeInSteps === undefined
        ? type.decode(bytes, context)
        : yield* type.decodeInSteps(bytes, context);
    return { result, from };
  }

  /**
   * Accepts a decoded resource, unless it exceeds the limit of its elements.
   * @param replaced The version that is cached.
   * @returns the event; else the violations.
   */
  accept(
    { result, from }: DecodedResource,
    replaced: Accepted<unknown> | undefined,
    content: {
      readonly bytes: Uint8Array;
      readonly version: string;
      readonly ttlMs: number | undefined;
    },
  ): Result<ResourceEvent<unknown>, readonly string[]> {
    if (!result.ok) return result;
    const { value, record, change } = result;
    const { type, server, nowMs } = this.options;
    const { bytes, version, ttlMs } = content;
    const elements = type.countElements?.(value) ?? 0;
    const excess = this.count(elements, elements - (replaced?.elements ?? 0));
    if (excess !== undefined) return err([excess]);
    const serverKey = server.key;
    const updatedAtMs = nowMs;
    // No spread: V8 makes a hidden class for each object with one.
    const accepted = { value, record, bytes, version, serverKey, updatedAtMs, elements };
    const valueChange = change === undefined ? undefined : { from, change };
    return ok({ kind: 'accepted', accepted, change: valueChange, ttlMs });
  }

  /** Counts the elements of a resource. @returns how they exceed the limit; `undefined` if they do not. */
  private count(elements: number, added: number): string | undefined {
    const { type, elementsOf } = this.options;
    const { elementLimit: limit } = type;
    if (limit !== undefined && added > 0) {
      const total = elementsOf(limit) + this.addedElements + added;
      if (total > limit.max) {
        return (
          `${elements} ${limit.noun}, with those of other resources ${total}, ` +
          `exceed the limit ${limit.name} of ${limit.max}`
        );
      }
    }
    this.addedElements += added;
    return undefined;
  }
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
