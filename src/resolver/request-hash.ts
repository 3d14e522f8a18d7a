import type { Metadata } from '../grpc-js';
import type { HashPolicy } from '../resources/route-config';
import type { Random } from '../util/random';
import { headerValue } from './route-matcher';

/** Hashes a text to 64 bits (XXH64 with seed 0, gRFC A42); `undefined` while the engine is not ready. */
export type TextHash = (text: string) => bigint | undefined;

/** What the hash of one call is made from. */
export interface RequestHashInput {
  readonly policies: readonly HashPolicy[];
  readonly metadata: Metadata;
  /** Random, and the same for every call of a channel. */
  readonly channelId: number;
}

/** One policy's part in a hash, for people. */
export interface HashContribution {
  readonly policy: HashPolicy;
  /** What was hashed; `undefined` if the policy had nothing to go by. */
  readonly text: string | undefined;
}

/**
 * What each policy takes from the call, up to the one that ends the evaluation: a terminal one, once anything
 * has been found (gRFC A42).
 */
export function hashContributions(input: RequestHashInput): readonly HashContribution[] {
  const contributions: HashContribution[] = [];
  let found = false;
  for (const policy of input.policies) {
    const text = hashedText(policy, input);
    contributions.push({ policy, text });
    found ||= text !== undefined;
    if (policy.terminal && found) break;
  }
  return contributions;
}

/** The hash of a call by its route's policies; random if they find nothing. */
export function requestHash(input: RequestHashInput, hash: TextHash, random: Random): bigint {
  let combined: bigint | undefined;
  for (const { text } of hashContributions(input)) {
    if (text === undefined) continue;
    const part = hash(text);
    if (part === undefined) continue;
    combined = combined === undefined ? part : rotateLeft(combined) ^ part;
  }
  return combined ?? randomHash(random);
}

/** 64 random bits. */
function randomHash(random: Random): bigint {
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  return (half() << 32n) | half();
}

function hashedText(policy: HashPolicy, input: RequestHashInput): string | undefined {
  // Hashed too, because the host's channel ids fill only 53 of the 64 bits: as they are, every channel would
  // fall into the same small part of a ring.
  if (policy.kind === 'channel-id') return String(input.channelId);
  const value = headerValue(policy.headerName, input.metadata);
  if (value === undefined || policy.rewrite === undefined) return value;
  return policy.rewrite.regex.replaceAll(value, policy.rewrite.substitution);
}

function rotateLeft(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) | (value >> 63n));
}
