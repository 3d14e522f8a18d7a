import { XxHash64 } from '../../src/util/hashes';

/** A hash function that is ready. */
export async function createReadyHash(): Promise<XxHash64> {
  const hash = XxHash64.start();
  await whenReady(hash);
  return hash;
}

/** Waits until it is ready or has failed. */
export function whenReady(hash: XxHash64): Promise<void> {
  return new Promise((resolve) => hash.whenReady(resolve));
}

/** A hash function that can never be ready: it began to get so while there was no WebAssembly. */
export async function createBrokenHash(): Promise<XxHash64> {
  const engine: unknown = Reflect.get(globalThis, 'WebAssembly');
  Reflect.deleteProperty(globalThis, 'WebAssembly');
  try {
    return await createReadyHash();
  } finally {
    Reflect.set(globalThis, 'WebAssembly', engine);
  }
}
