import { createHash } from 'node:crypto';
import type { Result } from '../../util/result';
import { findReferences, type Reference } from './references';
import type { ResourceKind } from './resource-kind';

/** An encoded resource in a snapshot. */
export interface SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The encoded message. */
  readonly value: Uint8Array;
  /** The version clients receive. Default: the digest. */
  readonly version: string;
  /** Other names under which incremental clients may request it. */
  readonly aliases: readonly string[];
  /** Time to live without a heartbeat, in milliseconds; undefined if the resource does not expire. */
  readonly ttlMs: number | undefined;
  /**
   * 16 hexadecimal digits, the same in any process for the same resource. A resource is sent to a client when its digest
   * differs from the one last sent.
   */
  readonly digest: string;
}

/** A resource that this server has encoded. Snapshots share it, and it is decoded for its references once. */
class EncodedResource implements SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly value: Uint8Array;
  readonly version: string;
  readonly aliases: readonly string[];
  readonly ttlMs: number | undefined;
  readonly digest: string;
  #references: Result<readonly Reference[], string> | undefined;

  constructor({ kind, name, value, version, aliases, ttlMs, digest }: SnapshotResource) {
    this.kind = kind;
    this.name = name;
    this.value = value;
    this.version = version;
    this.aliases = aliases;
    this.ttlMs = ttlMs;
    this.digest = digest;
  }

  references(): Result<readonly Reference[], string> {
    return (this.#references ??= findReferences(this.kind, this.value));
  }
}

/** Returns the references of a resource to others, or the decode error. */
export function referencesOf(resource: SnapshotResource): Result<readonly Reference[], string> {
  if (resource instanceof EncodedResource) return resource.references();
  return findReferences(resource.kind, resource.value);
}

/** An error clients receive in place of a resource (xRFC TP3, gRFC A88). */
export interface ResourceErrorInput {
  /** The type of the resource. */
  readonly kind: ResourceKind;
  readonly name: string;
  /**
   * A gRPC status code other than OK. Clients treat NOT_FOUND (5) and PERMISSION_DENIED (7) as data errors, and all
   * other codes as transient.
   */
  readonly code: number;
  readonly message: string;
}

/** A resource error in a snapshot. */
export interface ResourceError extends ResourceErrorInput {
  /** 16 hexadecimal digits, the same in any process for the same error. */
  readonly digest: string;
}

/** The resources and errors of one kind in a snapshot. */
export interface ResourceSet {
  readonly byName: ReadonlyMap<string, SnapshotResource>;
  /** The errors sent in place of resources, by resource name. */
  readonly errors: ReadonlyMap<string, ResourceError>;
  readonly byAlias: ReadonlyMap<string, SnapshotResource>;
  /** Digest of the set, independent of the order of its resources; 16 hexadecimal digits. */
  readonly version: string;
}

/** The options of `createResource`. */
export type ResourceOptions = Pick<SnapshotResource, 'name' | 'value'> & {
  /** Default: the digest. */
  readonly version?: string | undefined;
  /** Default: none. */
  readonly aliases?: readonly string[] | undefined;
  readonly ttlMs?: number | undefined;
};

/** Creates a resource, or returns `previous` if it is equal. */
export function createResource(
  kind: ResourceKind,
  { name, value, version, aliases = [], ttlMs }: ResourceOptions,
  previous: SnapshotResource | undefined,
): SnapshotResource {
  const isPlain = version === undefined && aliases.length === 0 && ttlMs === undefined;
  if (isPlain && previous !== undefined && isPlainCopy(previous, name, value)) return previous;
  const hash = createHash('sha256').update(JSON.stringify(name)).update(value);
  if (!isPlain) hash.update(JSON.stringify({ version, aliases, ttlMs }));
  const digest = hash.digest('hex').slice(0, 16);
  if (previous?.digest === digest) return previous;
  return new EncodedResource({
    ...{ kind, name, value, aliases, ttlMs, digest },
    version: version ?? digest,
  });
}

/** Creates an error with its digest. */
export function createResourceError(input: ResourceErrorInput): ResourceError {
  const { kind, name, code, message } = input;
  const hash = createHash('sha256').update(JSON.stringify(['error', name, code, message]));
  return { kind, name, code, message, digest: hash.digest('hex').slice(0, 16) };
}

const noErrors: ReadonlyMap<string, ResourceError> = new Map();

/** The set without resources. */
export const emptyResourceSet: ResourceSet = {
  byName: new Map(),
  errors: noErrors,
  byAlias: new Map(),
  version: '0'.repeat(16),
};

/** Creates a set, or returns `previous` if it is equal. */
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

/** Returns the digest of what is sent for this name. An error takes precedence over a resource. */
export function digestOf(set: ResourceSet, name: string): string | undefined {
  return set.errors.get(name)?.digest ?? findResource(set, name)?.digest;
}

/** Returns the resource with this name or, if none has it, with this alias. */
export function findResource(set: ResourceSet, name: string): SnapshotResource | undefined {
  return set.byName.get(name) ?? set.byAlias.get(name);
}

/** Returns the names and aliases whose digests differ between two sets. */
export function changedNames(previous: ResourceSet, next: ResourceSet): readonly string[] {
  if (previous.version === next.version) return [];
  const names = new Set<string>();
  const compare = (name: string) => {
    if (digestOf(previous, name) !== digestOf(next, name)) names.add(name);
  };
  // Unchanged resources are the same object in both sets.
  for (const [name, resource] of previous.byName) {
    if (next.byName.get(name) !== resource) compare(name);
  }
  for (const name of next.byName.keys()) if (!previous.byName.has(name)) compare(name);
  for (const { errors, byAlias } of [previous, next]) {
    for (const name of errors.keys()) compare(name);
    for (const name of byAlias.keys()) compare(name);
  }
  return [...names];
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
