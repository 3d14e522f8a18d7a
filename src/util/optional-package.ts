import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * Loads an optional peer dependency, which bundlers do not see.
 *
 * @throws if it is not installed.
 */
export function requireOptional(name: string): unknown {
  // A bundle in ESM has no __filename; the package is then resolved from the working directory.
  const from = typeof __filename === 'string' ? __filename : join(process.cwd(), 'index.js');
  return createRequire(from)(name);
}
