import type { Limits } from '../bootstrap/limits';
import type { CallHeaders } from '../routing/matched-call';
import type { MatchMeter } from '../resources/matching/match-meter';
import { STEPS_PER_MATCHER } from '../resources/matching/string-matcher';
import type { HashPolicy } from '../resources/route-config/route-config';
import type { Random } from '../util/random';

/** The name of the channel id among the texts that are hashed. */
const CHANNEL_ID = 'channel id';

/** Hashes a text to 64 bits (XXH64 with seed 0, gRFC A42); `undefined` while the engine is not ready. */
export type TextHash = (text: string) => bigint | undefined;

export interface RequestHashInput {
  readonly policies: readonly HashPolicy[];
  readonly headers: CallHeaders;
  /** Random, and the same for every call of a channel. */
  readonly channelId: number;
}

/** The limit of rewritten header values; see `Limits`. */
export type HashLimits = Pick<Limits, 'maxHashInputLength'>;

/** The value of a call for one policy, before its rewrite. */
interface HashSource {
  readonly policy: HashPolicy;
  /** `undefined` if the call lacks the header. */
  readonly value: string | undefined;
}

/** The contribution of one policy to the hash of a call. */
export interface HashContribution {
  readonly policy: HashPolicy;
  /** The text that is hashed; `undefined` if there is none, or no steps were left to rewrite it. */
  readonly text: string | undefined;
}

/** The hash of one call, computed on demand. */
export interface PendingHash {
  compute(): bigint;
}

/**
 * Reads the value of each policy, up to the first terminal one with a value at or before it (gRFC A42). Called while the
 * call is routed, because HTTP filters and grpc-js change the headers afterwards.
 */
function readHashSources(input: RequestHashInput): readonly HashSource[] {
  const sources: HashSource[] = [];
  let found = false;
  for (const policy of input.policies) {
    const value = sourceValue(policy, input);
    sources.push({ policy, value });
    found ||= value !== undefined;
    if (policy.terminal && found) break;
  }
  return sources;
}

/** Returns the texts that are hashed for a call, in the order of the policies. */
export function hashContributions(
  input: RequestHashInput,
  limits: HashLimits,
): readonly HashContribution[] {
  return readHashSources(input).map((source) => ({
    policy: source.policy,
    text: hashedText(source, limits),
  }));
}

/** Options of {@link RequestHasher}. */
export interface RequestHasherOptions {
  /** The target, for the log. */
  readonly target: string;
  readonly hash: TextHash;
  readonly random: Random;
  /** Counts the steps of the rewrites of a call. */
  readonly meter: MatchMeter;
  readonly limits: HashLimits;
}

/** Computes the hashes of calls by the hash policies of their routes (gRFC A42). */
export class RequestHasher {
  /** The hash of every call whose route has no hash policies. */
  readonly randomHash: PendingHash = { compute: () => randomHash(this.options.random) };

  constructor(private readonly options: RequestHasherOptions) {}

  read(input: RequestHashInput): PendingHash {
    const sources = readHashSources(input);
    return { compute: () => this.combine(sources) };
  }

  /**
   * Spends the steps of a policy. Those of its rewrite are counted with it, and each text is hashed once.
   * @returns false if fewer are left.
   */
  private spend({ policy, value = '' }: HashSource): boolean {
    const name = policy.kind === 'header' ? policy.headerName : CHANNEL_ID;
    return this.options.meter.spendText(STEPS_PER_MATCHER, name, value.length);
  }

  /** Returns the combined hash; a random one if no source has a value. */
  private combine(sources: readonly HashSource[]): bigint {
    const { hash, random, meter, target, limits } = this.options;
    const hashOnce = sources.length > 1 ? hashOnceEach(hash) : hash;
    let combined: bigint | undefined;
    meter.begin();
    for (const source of sources) {
      const text = this.spend(source) ? hashedText(source, limits) : undefined;
      const part = text === undefined ? undefined : hashOnce(text);
      if (part === undefined) continue;
      combined = combined === undefined ? part : rotateLeft(combined) ^ part;
    }
    const exceeded = meter.end();
    if (exceeded !== undefined) meter.log(exceeded, `${target}: a hash policy yields no hash`);
    return combined ?? randomHash(random);
  }
}

/** Returns a hash that is computed once for each text: many policies may read one long header. */
function hashOnceEach(hash: TextHash): TextHash {
  const known = new Map<string, bigint | undefined>();
  return (text) => {
    if (!known.has(text)) known.set(text, hash(text));
    return known.get(text);
  };
}

/** 64 random bits. */
function randomHash(random: Random): bigint {
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  return (half() << 32n) | half();
}

function sourceValue(policy: HashPolicy, input: RequestHashInput): string | undefined {
  return policy.kind === 'channel-id'
    ? // Hashed too, because the host's channel ids have only 53 of the 64 bits: unhashed, every channel would be in
      // the same small part of a ring.
      String(input.channelId)
    : input.headers.get(policy.headerName)?.text;
}

function hashedText(
  { policy, value }: HashSource,
  { maxHashInputLength }: HashLimits,
): string | undefined {
  if (value === undefined || policy.kind !== 'header' || policy.rewrite === undefined) return value;
  const { regex, substitution } = policy.rewrite;
  return regex.replaceAll(value.slice(0, maxHashInputLength), substitution, maxHashInputLength);
}

function rotateLeft(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) | (value >> 63n));
}
