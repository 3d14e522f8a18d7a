import type * as Runtime from './xds-runtime';

/** Loads nearly all of this package, when the first channel needs it: an application may register without using it. */
export function loadRuntime(): typeof Runtime {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./xds-runtime');
}
