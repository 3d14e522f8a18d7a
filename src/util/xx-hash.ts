import { errorMessage } from './error-message';
import { createHandle, type Handle } from './handle';

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
  // eslint-disable-next-line local/late-modules, @typescript-eslint/no-unsafe-assignment -- the module that is loaded is not the one of the types, which is an ES module
  const start: () => Promise<{ readonly h64: Hash64 }> = require('xxhash-wasm');
  return start();
}
