import { randomBytes } from 'node:crypto';

/** Two unsigned numbers of 32 bits that select one of many hash functions. */
export type HashKey = readonly [number, number];

/** Rounds after the last word, in HalfSipHash-1-3. */
const LAST_ROUNDS = 3;

/**
 * Hashes texts for hash tables. With a secret key, texts cannot be chosen so that many have equal hashes, or hashes with
 * equal lowest bits: a table of texts from a management server stays as fast as one of any other texts.
 *
 * This is HalfSipHash-1-3, as the Linux kernel uses it for its tables (https://docs.kernel.org/security/siphash.html).
 */
export class KeyedHash {
  constructor(private readonly key: HashKey) {}

  /** Returns the hash of a text and a number of 32 bits: unsigned, 32 bits, evenly distributed. */
  hashText(text: string, number: number): number {
    const [k0, k1] = this.key;
    let v0 = k0;
    let v1 = k1;
    let v2 = k0 ^ 0x6c796765;
    let v3 = k1 ^ 0x74656462;
    const { length } = text;
    // The number, two characters each, and what is left of the text with its length.
    const words = 2 + (length >>> 1);
    for (let i = 0; i < words + LAST_ROUNDS; i++) {
      let word = 0;
      if (i === 0) word = number;
      else if (i < words - 1) {
        word = text.charCodeAt(2 * i - 2) | (text.charCodeAt(2 * i - 1) << 16);
      } else if (i === words - 1) {
        word = ((4 + 2 * length) << 24) | (length % 2 === 0 ? 0 : text.charCodeAt(length - 1));
      } else if (i === words) v2 ^= 0xff;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return (v1 ^ v3) >>> 0;
  }
}

/** Returns a key that cannot be predicted. */
function createHashKey(): HashKey {
  const bytes = randomBytes(8);
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
}

/** The hashes of this process. Those of another one differ. */
export const processHash = new KeyedHash(createHashKey());
