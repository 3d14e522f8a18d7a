import { PACKAGE_VERSION } from './version';

/** A copy of this package that is loaded into the process. */
export interface PackageCopy {
  readonly version: string;
  /** The folder of its files. */
  readonly path: string;
}

/** This copy. The object is its identity. */
export const ownCopy: PackageCopy = Object.freeze({
  version: PACKAGE_VERSION,
  // An application that is bundled in ESM has no __dirname.
  path: typeof __dirname === 'string' ? __dirname : 'a bundle',
});

/** What all copies of this package in a process know of each other. */
interface ProcessCopies {
  /** The copy that serves the `xds:` targets of a copy of grpc-js, by its namespace `experimental`. */
  readonly serving: WeakMap<object, PackageCopy>;
  /** The copies of which an application uses functions that concern `xds:` targets. */
  readonly used: Set<PackageCopy>;
}

const PROCESS_COPIES = Symbol.for('grpc-xds.copies');

/** Notes that the application uses a function of this copy that concerns `xds:` targets. */
export function noteUse(): void {
  processCopies().used.add(ownCopy);
}

export function processCopies(): ProcessCopies {
  const shared: { [PROCESS_COPIES]?: ProcessCopies | undefined } & object = globalThis;
  return (shared[PROCESS_COPIES] ??= Object.freeze<ProcessCopies>({
    serving: new WeakMap(),
    used: new Set(),
  }));
}

/**
 * Kinds of objects that are recognised in the hands of an application: their class has a member of this name with the copy
 * it is of. Wrappers that inherit from such an object, proxies and subclasses have it, too; `instanceof` would not find
 * the objects of another copy.
 */
export const Brand = {
  CHANNEL_CREDENTIALS: Symbol.for('grpc-xds.channel-credentials'),
  TLS_POLICY: Symbol.for('grpc-xds.tls-policy'),
  HTTP_CONNECT: Symbol.for('grpc-xds.http-connect'),
  CALL_FAILED: Symbol.for('grpc-xds.call-failed'),
} as const;

/** Returns the copy that an object is of; `undefined` if it has no such brand. */
export function copyOf(
  value: unknown,
  brand: (typeof Brand)[keyof typeof Brand],
): PackageCopy | undefined {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null)
    return undefined;
  const copy: unknown = Reflect.get(value, brand);
  return isCopy(copy) ? copy : undefined;
}

/**
 * Describes two copies, with what to do about it.
 *
 * @param theirs The one of the object at hand.
 * @param served The one that serves `xds:` targets. Default: this one.
 */
export function describeOtherCopy(theirs: PackageCopy, served: PackageCopy = ownCopy): string {
  return (
    `grpc-xds ${theirs.version} in ${theirs.path}, while xds: targets are those of grpc-xds ${served.version} in ` +
    `${served.path}: install one copy for both (see npm ls grpc-xds)`
  );
}

function isCopy(value: unknown): value is PackageCopy {
  return typeof value === 'object' && value !== null && 'version' in value && 'path' in value;
}
