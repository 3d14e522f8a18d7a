import type * as Runtime from './xds-runtime';

/**
 * Loads nearly all of this package. An application may register what no channel of it ever uses, and should not wait
 * for that.
 */
export function loadRuntime(): typeof Runtime {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./xds-runtime');
}
