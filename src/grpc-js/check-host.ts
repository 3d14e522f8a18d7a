import { createRequire } from 'node:module';
import { experimental } from '@grpc/grpc-js';
import { errorMessage } from '../util/error-message';
import * as host from './index';
import { loadedModules, findHostCopies } from './other-copies';

/** The supported versions of grpc-js; a test compares it with package.json. */
export const HOST_RANGE = '~1.14.0';

/**
 * Checks that grpc-js has all exports this package uses.
 *
 * @throws Error with the version needed and the version found.
 */
export function checkHost(): void {
  const missing = missingOf(host);
  if (missing.length === 0) return;
  const { ownPath } = findHostCopies(loadedModules(), experimental);
  throw new Error(
    `grpc-xds needs @grpc/grpc-js ${HOST_RANGE}, and found ${describeCopy(ownPath)}, ` +
      `which lacks ${missing.join(', ')}: install @grpc/grpc-js@${HOST_RANGE}`,
  );
}

function missingOf(exports: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(exports).filter((name) => exports[name] === undefined);
}

function describeCopy(path: string | undefined): string {
  if (path === undefined) return 'another version inside the bundle';
  return `${versionOf(path)} (${path})`;
}

/** The version of the copy of grpc-js whose main module has this path. */
function versionOf(path: string): string {
  try {
    const manifest: unknown = createRequire(path)('../../package.json');
    if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
      return String(manifest.version);
    }
    return 'an unknown version';
  } catch (error) {
    return `an unknown version (${errorMessage(error)})`;
  }
}
