import { createRequire } from 'node:module';

/** The modules of this process by their paths, as in `require.cache`. */
export type LoadedModules = Readonly<Record<string, { readonly exports: unknown } | undefined>>;

/** A copy of grpc-js that this package does not use. */
export interface OtherCopy {
  readonly path: string;
  readonly exports: unknown;
}

/** The copies of grpc-js in this process. */
interface HostCopies {
  /** `undefined` if this package's copy is part of a bundle. */
  readonly ownPath: string | undefined;
  readonly others: readonly OtherCopy[];
}

const GRPC_JS = /[\\/]@grpc[\\/]grpc-js[\\/]build[\\/]src[\\/]index\.js$/;
const PEER = /[\\/]@grpc[\\/]grpc-js-xds[\\/]build[\\/]src[\\/]index\.js$/;

/**
 * Finds the copies of grpc-js among the modules of a process. A copy is this package's own if it has the same
 * `experimental` object. Paths do not decide it, because a bundle has none.
 */
export function findHostCopies(modules: LoadedModules, experimental: object): HostCopies {
  let ownPath: string | undefined;
  const others: OtherCopy[] = [];
  for (const path of Object.keys(modules)) {
    if (!path.includes('grpc-js') || !GRPC_JS.test(path)) continue;
    const exports = modules[path]?.exports;
    if (experimentalOf(exports) === experimental) ownPath = path;
    else others.push({ path, exports });
  }
  return { ownPath, others };
}

/** The path of `@grpc/grpc-js-xds`, if it is loaded. */
export function findPeer(modules: LoadedModules): string | undefined {
  return Object.keys(modules).find((path) => path.includes('grpc-js-xds') && PEER.test(path));
}

/** The namespace `experimental` of a copy of grpc-js; `undefined` if it has none, or is not loaded entirely. */
export function experimentalOf(exports: unknown): object | undefined {
  if (typeof exports !== 'object' || exports === null || !('experimental' in exports)) return;
  const { experimental } = exports;
  return typeof experimental === 'object' && experimental !== null ? experimental : undefined;
}

/**
 * Returns the CommonJS modules of this process, except those inside a bundle. A bundle may have no `require` of its own,
 * or one without a cache; Node's own cache is the same for every `require` made by `createRequire`.
 */
export function loadedModules(): LoadedModules {
  try {
    return createRequire(process.execPath).cache;
  } catch {
    // Without the cache no other copy can be found, and nothing else depends on it.
    return {};
  }
}
