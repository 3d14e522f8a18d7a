import { randomBytes } from 'node:crypto';
import { errorMessage } from './errors';
import { createHandle, type Handle } from './handle';

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

/** The used function of the engine. */
type Hash64 = (text: string, seed: bigint) => bigint;

type State =
  | { readonly kind: 'unused' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready'; readonly hash: Hash64 }
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * XXH64, the hash of endpoints and calls on a ring (gRFC A42).
 *
 * The engine is WebAssembly, which takes some two milliseconds to compile, outside of the event loop. It is loaded for
 * the first `whenReady`, and not in a process without hashing.
 */
export class XxHash64 {
  private state: State = { kind: 'unused' };
  private readonly waiting = new Set<() => void>();

  /** Creates a hash and loads its engine. */
  static start(): XxHash64 {
    const hash = new XxHash64();
    hash.load();
    return hash;
  }

  /** Whether {@link hash} can be called. */
  get isReady(): boolean {
    return this.state.kind === 'ready';
  }

  /** The error of the engine, such as missing WebAssembly; `undefined` if it is ready, loading or unused. */
  get failure(): string | undefined {
    return this.state.kind === 'failed' ? this.state.reason : undefined;
  }

  /**
   * Calls back once the engine is ready or has failed, synchronously if it already has.
   *
   * @returns a handle whose release cancels the callback.
   */
  whenReady(callback: () => void): Handle {
    if (this.state.kind === 'ready' || this.state.kind === 'failed') {
      callback();
      return createHandle(() => {});
    }
    // A new function, so that the same callback can be added twice.
    const waiter = () => callback();
    this.waiting.add(waiter);
    if (this.state.kind === 'unused') this.load();
    return createHandle(() => this.waiting.delete(waiter));
  }

  /**
   * Returns the hash of the text in UTF-8, as an unsigned 64-bit number. Throws unless it is ready.
   *
   * @param seed An unsigned 64-bit number; default 0, as in the gRFCs.
   */
  hash(text: string, seed = 0n): bigint {
    if (this.state.kind !== 'ready') throw new Error('XxHash64 is not ready');
    return this.state.hash(text, seed);
  }

  private load(): void {
    this.state = { kind: 'starting' };
    loadEngine().then(
      ({ h64: hash }) => this.settle({ kind: 'ready', hash }),
      (error: unknown) => this.settle({ kind: 'failed', reason: errorMessage(error) }),
    );
  }

  private settle(state: State): void {
    this.state = state;
    for (const waiter of this.waiting) {
      this.waiting.delete(waiter);
      waiter();
    }
  }
}

/** Loads and compiles the engine, whose types are those of an ES module. */
function loadEngine(): Promise<{ readonly h64: Hash64 }> {
  // eslint-disable-next-line local/lazy-modules, @typescript-eslint/no-unsafe-assignment -- the module that is loaded is not the one of the types, which is an ES module
  const start: () => Promise<{ readonly h64: Hash64 }> = require('xxhash-wasm');
  return start();
}
