import { optional, PERCENT, POSITIVE_INTEGER, type Members } from '../util/check-arguments';

/**
 * Upper bounds on what a management server, a backend or a caller can make this process spend. Input beyond a bound
 * is rejected with an error that names the bound, and the last good configuration stays in use. The defaults are far
 * above what a sensible mesh needs; docs/limits.md lists them with the memory and time that each one stands for.
 */
export interface Limits {
  /**
   * Bytes of one message from a management server, be it a gRPC message, the body of an HTTP response or a file. The
   * stream ends with RESOURCE_EXHAUSTED when it is exceeded, because nothing of the message has been read. Default:
   * 64 MiB.
   */
  readonly maxMessageBytes: number;
  /**
   * Entries of one ring of `ring_hash`. Larger sizes in a config are reduced to it (gRFC A42), so that
   * with more endpoints than entries some endpoints get no calls. One entry takes about 30 bytes. Default: 4,096.
   */
  readonly maxRingSize: number;
  /**
   * Clusters of one target: the clusters that the routes of its virtual host name, and the clusters below aggregate clusters. It
   * also bounds the leaf clusters of all aggregates, counted once for each aggregate. Routes beyond it are not used, and the last
   * ones stay in use; an aggregate cluster beyond it keeps its last clusters, or fails its calls if it has none. Default: 12,000.
   */
  readonly maxClustersPerTarget: number;
  /**
   * Endpoints of one assignment (EDS) or one collection (LEDS), counted before it is decoded. A resource with more
   * is rejected (NACK), as is an assignment with more localities. Default: 200,000.
   */
  readonly maxEndpointsPerAssignment: number;
  /**
   * Endpoints of all assignments and collections in use in the process, except endpoints that get no calls, such as unhealthy
   * ones; a locality without any counts for one. A resource that would exceed it is rejected (NACK), and its last version stays
   * in use. When a resource shrinks or is no longer watched, others can use its share. Default: 250,000.
   */
  readonly maxEndpoints: number;
  /**
   * Bytes of memory that the cached resources of the process may take, as estimated: the encoded resources, and 64 bytes for each
   * field that is read of them. A resource that would exceed it is rejected (NACK), and its last version stays in use. When a
   * resource shrinks or is no longer watched, others can use its share. Default: 256 MiB.
   */
  readonly maxCachedBytes: number;
  /**
   * Percent of the time that configuration may take of the clients of one bootstrap, from decoding to applying it, once it has
   * taken 2 s at once. Responses are not read in the meantime; if several supersede each other, a server sends the last one.
   * Acknowledgements and requests are not delayed. 100 is no limit. Default: 25.
   */
  readonly maxUpdateTimePercent: number;
  /**
   * Size of the program of one regular expression, estimated from above: instructions and ranges of characters, with
   * repetitions written out; a Unicode class such as `\pL` has up to 744 ranges. A resource with a larger one is
   * rejected (NACK) without compiling it. Default: 10,000.
   */
  readonly maxRegexSize: number;
  /**
   * Sizes of all different regular expressions of one resource, in all. A resource with more is rejected (NACK).
   * Default: 100,000, which is some 2,000 expressions for a path.
   */
  readonly maxRegexSizePerResource: number;
  /**
   * Steps that matching regular expressions may take for one call: for each expression the instructions of its program
   * (and 16) times the characters of the path or header it is matched against. A call that needs more fails with
   * UNAVAILABLE, since its route cannot be determined; a hash policy whose rewrite needs more yields no hash. Default:
   * 2,500,000, less than 100 ms.
   */
  readonly maxRegexStepsPerCall: number;
  /**
   * Steps that all other matching may take for one call: for each matcher of a path or header 16, and the characters that
   * it compares; those of `contains` count singly, others by 16. A call that needs more fails with UNAVAILABLE, since its
   * route or its HTTP filters cannot be determined. Routes and HTTP filters count apart. Default: 10,000,000, less than
   * 100 ms.
   */
  readonly maxMatchStepsPerCall: number;
  /**
   * Characters of the substitution of a `regex_rewrite` of a hash policy. A resource with a longer one is rejected
   * (NACK). Default: 256.
   */
  readonly maxRegexSubstitutionLength: number;
  /**
   * Characters that the `regex_rewrite` of a hash policy reads of a header, and characters of its result. Both are cut
   * there, so that calls with equal headers still have equal hashes. Headers without a rewrite are hashed whole.
   * Default: 4,096.
   */
  readonly maxHashInputLength: number;
  /**
   * Connection attempts to endpoints in flight at a time, of all channels. Attempts beyond it wait; attempts that calls wait for
   * come first, and policies take turns. One that takes longer than 1 s is not counted any more, so that hosts that do not answer
   * do not keep others from being reached. Default: 128.
   */
  readonly maxConnectionAttempts: number;
}

/** The limits of an application that sets none. */
export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 64 * 1024 * 1024,
  maxRingSize: 4096,
  maxClustersPerTarget: 12_000,
  maxEndpointsPerAssignment: 200_000,
  maxEndpoints: 250_000,
  maxCachedBytes: 256 * 1024 * 1024,
  maxUpdateTimePercent: 25,
  maxRegexSize: 10_000,
  maxRegexSizePerResource: 100_000,
  maxRegexStepsPerCall: 2_500_000,
  maxMatchStepsPerCall: 10_000_000,
  maxRegexSubstitutionLength: 256,
  maxHashInputLength: 4096,
  maxConnectionAttempts: 128,
};

/** What the limits of an application must be. */
export const LIMITS: Members = {
  ...Object.fromEntries(
    Object.keys(DEFAULT_LIMITS).map((name) => [name, optional(POSITIVE_INTEGER)]),
  ),
  maxUpdateTimePercent: optional(PERCENT),
};

/** Completes the limits that an application sets with the defaults. */
export function resolveLimits(
  given: { readonly [K in keyof Limits]?: Limits[K] | undefined } = {},
): Limits {
  const set = Object.entries(given).filter(([, value]: [string, unknown]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}
