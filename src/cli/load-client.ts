import type * as Client from './client';

/** Loads the client, which takes longer to load than everything else, for the commands that need it. */
export function loadClient(): typeof Client {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- loads the module on first use, synchronously; the type is that of the module
  return require('./client/index');
}
