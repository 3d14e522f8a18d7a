/** Another package in this process that gets in the way of this one. */
export interface Collision {
  /** Where it was loaded from. */
  readonly path: string;
  readonly problem: string;
}

const GRPC_JS = /[\\/]@grpc[\\/]grpc-js[\\/]build[\\/]src[\\/]index\.js$/;
const PEER = /[\\/]@grpc[\\/]grpc-js-xds[\\/]build[\\/]src[\\/]index\.js$/;

/**
 * Finds copies of grpc-js other than the one this package uses, which know nothing of `xds:` targets, and the
 * other package that registers that scheme.
 * @param loaded Paths of the modules that are loaded.
 * @param ours Where this package's grpc-js was loaded from.
 */
export function findCollisions(loaded: readonly string[], ours: string): readonly Collision[] {
  const collisions: Collision[] = [];
  for (const path of loaded) {
    if (GRPC_JS.test(path) && path !== ours) {
      const problem = `a second copy of @grpc/grpc-js: its channels cannot resolve xds: targets, because this package registers them with ${ours}`;
      collisions.push({ path, problem });
    } else if (PEER.test(path)) {
      const problem =
        '@grpc/grpc-js-xds registers the scheme xds too: the last to register serves it';
      collisions.push({ path, problem });
    }
  }
  return collisions;
}

/** The same for the modules of this process. */
export function findLoadedCollisions(): readonly Collision[] {
  return findCollisions(Object.keys(require.cache), require.resolve('@grpc/grpc-js'));
}
