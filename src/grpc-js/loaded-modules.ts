import { createRequire } from 'node:module';
import type { LoadedModules } from './other-copies';

/**
 * The CommonJS modules of this process. Those inside a bundle are not among them. A bundle may have no `require` of
 * its own, or one without a cache; Node's own cache is the same for every `require` made by `createRequire`.
 */
export function loadedModules(): LoadedModules {
  try {
    return createRequire(process.execPath).cache;
  } catch {
    // Without the cache no other copy can be found, and nothing else depends on it.
    return {};
  }
}
