import { createHash } from 'node:crypto';
import type { ResourceError } from './resource-error';
import type { ResourceKind } from './resource-kind';

/** A resource as it goes over the wire. */
export interface SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The encoded message. */
  readonly value: Uint8Array;
  /** What clients are told as its version: the digest, unless the input gave one. */
  readonly version: string;
  /** Other names under which incremental clients may ask for it. */
  readonly aliases: readonly string[];
  /** How long clients may use it without a heartbeat, in milliseconds; undefined for ever. */
  readonly ttlMs: number | undefined;
  /**
   * 16 hexadecimal digits, the same in any process for the same resource. Decides what is sent: a resource is
   * news to a client when its digest is.
   */
  readonly digest: string;
}

/** All that a snapshot holds of one kind. */
export interface ResourceSet {
  readonly byName: ReadonlyMap<string, SnapshotResource>;
  /** Names clients get an error for instead of a resource. */
  readonly errors: ReadonlyMap<string, ResourceError>;
  readonly byAlias: ReadonlyMap<string, SnapshotResource>;
  /** Digest of the whole set, whatever the order of its resources; 16 hexadecimal digits. */
  readonly version: string;
}

/** What a resource is made of; its digest follows from it. */
export type ResourceParts = Pick<SnapshotResource, 'name' | 'value'> & {
  /** Default: the digest. */
  readonly version?: string | undefined;
  /** Default: none. */
  readonly aliases?: readonly string[] | undefined;
  readonly ttlMs?: number | undefined;
};

/** Makes a resource, or returns `previous` when that one is made of the same. */
export function createResource(
  kind: ResourceKind,
  { name, value, version, aliases = [], ttlMs }: ResourceParts,
  previous: SnapshotResource | undefined,
): SnapshotResource {
  const isPlain = version === undefined && aliases.length === 0 && ttlMs === undefined;
  if (isPlain && previous !== undefined && isPlainCopy(previous, name, value)) return previous;
  const hash = createHash('sha256').update(JSON.stringify(name)).update(value);
  if (!isPlain) hash.update(JSON.stringify({ version, aliases, ttlMs }));
  const digest = hash.digest('hex').slice(0, 16);
  if (previous?.digest === digest) return previous;
  return { kind, name, value, version: version ?? digest, aliases, ttlMs, digest };
}

const noErrors: ReadonlyMap<string, ResourceError> = new Map();

/** No resources. */
export const emptyResourceSet: ResourceSet = {
  byName: new Map(),
  errors: noErrors,
  byAlias: new Map(),
  version: '0'.repeat(16),
};

/** Makes a set, or returns `previous` when that one holds the same. */
export function createResourceSet(
  byName: ReadonlyMap<string, SnapshotResource>,
  previous: ResourceSet = emptyResourceSet,
  errors: ReadonlyMap<string, ResourceError> = noErrors,
): ResourceSet {
  let sum = 0n;
  const byAlias = new Map<string, SnapshotResource>();
  for (const resource of byName.values()) {
    sum += BigInt(`0x${resource.digest}`);
    for (const alias of resource.aliases) byAlias.set(alias, resource);
  }
  for (const error of errors.values()) sum += BigInt(`0x${error.digest}`);
  const version = BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
  return version === previous.version ? previous : { byName, errors, byAlias, version };
}

/** What a client that asks for this name is told. Of a resource and an error, it is the error. */
export function digestOf(set: ResourceSet, name: string): string | undefined {
  return set.errors.get(name)?.digest ?? findResource(set, name)?.digest;
}

/** The resource with this name or, failing that, this alias. */
export function findResource(set: ResourceSet, name: string): SnapshotResource | undefined {
  return set.byName.get(name) ?? set.byAlias.get(name);
}

const changes = new WeakMap<ResourceSet, readonly [ResourceSet, readonly string[]]>();

/**
 * The names and aliases for which two sets have different answers. Found once for all streams that make the
 * same step, so that each does work in proportion to what changed.
 */
export function changedNames(previous: ResourceSet, next: ResourceSet): readonly string[] {
  if (previous.version === next.version) return [];
  const known = changes.get(next);
  if (known?.[0] === previous) return known[1];
  const names = new Set<string>();
  const compare = (name: string) => {
    if (digestOf(previous, name) !== digestOf(next, name)) names.add(name);
  };
  // Most resources are the same object in both sets.
  for (const [name, resource] of previous.byName) {
    if (next.byName.get(name) !== resource) compare(name);
  }
  for (const name of next.byName.keys()) if (!previous.byName.has(name)) compare(name);
  for (const { errors, byAlias } of [previous, next]) {
    for (const name of errors.keys()) compare(name);
    for (const name of byAlias.keys()) compare(name);
  }
  const list = [...names];
  changes.set(next, [previous, list]);
  return list;
}

function isPlainCopy(resource: SnapshotResource, name: string, value: Uint8Array): boolean {
  return (
    resource.name === name &&
    resource.version === resource.digest &&
    resource.aliases.length === 0 &&
    resource.ttlMs === undefined &&
    Buffer.compare(resource.value, value) === 0
  );
}
