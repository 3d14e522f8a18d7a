import { PickResultType, type PickArgs, type PickResult } from '../../grpc-js';
import type { XxHash64 } from '../../util/xx-hash';

/** The hash of one call. */
interface KnownHash {
  readonly header: string;
  /** `undefined` if the call lacks the header. */
  readonly hash: bigint | undefined;
}

/**
 * Hashes calls by a header (gRFC A76). A call that waits is picked with every new picker, whose number the control plane and
 * the endpoints determine: its header, which can be long, is hashed once. A call that is picked at once leaves nothing behind.
 */
export class HeaderHashes {
  /** Of the calls that wait: the host library passes the same metadata to each pick of an attempt. Created for the first. */
  private waiting: WeakMap<PickArgs['metadata'], KnownHash> | undefined;

  constructor(private readonly engine: Pick<XxHash64, 'hash'>) {}

  /**
   * Picks by the hash of a call.
   * @param pick Receives the hash; `undefined` if the call lacks the header.
   */
  pick(
    header: string,
    args: PickArgs,
    pick: (hash: bigint | undefined, args: PickArgs) => PickResult,
  ): PickResult {
    const { metadata } = args;
    const known = this.waiting?.get(metadata);
    if (known?.header === header) return pick(known.hash, args);
    const hash = this.hash(metadata.get(header).join(','));
    const result = pick(hash, args);
    if (result.pickResultType !== PickResultType.COMPLETE) {
      (this.waiting ??= new WeakMap()).set(metadata, { header, hash });
    }
    return result;
  }

  private hash(value: string): bigint | undefined {
    return value === '' ? undefined : this.engine.hash(value);
  }
}
