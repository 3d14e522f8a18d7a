import { createHash } from 'node:crypto';
import type { ResourceKind } from './resource-kind';

/** A resource as it goes over the wire. Equal name and bytes mean an equal version, in any process. */
export interface SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The encoded message. */
  readonly value: Uint8Array;
  /** Digest of name and bytes, as 16 hexadecimal digits. */
  readonly version: string;
}

/** All resources of one kind. */
export interface ResourceSet {
  readonly byName: ReadonlyMap<string, SnapshotResource>;
  /** Digest of the whole set, whatever the order of its resources; 16 hexadecimal digits. */
  readonly version: string;
}

/** Makes a resource, or returns `previous` when that one has the same name and bytes. */
export function createResource(
  kind: ResourceKind,
  name: string,
  value: Uint8Array,
  previous: SnapshotResource | undefined,
): SnapshotResource {
  if (previous !== undefined && previous.name === name && equalBytes(previous.value, value)) {
    return previous;
  }
  const hash = createHash('sha256').update(JSON.stringify(name)).update(value);
  return { kind, name, value, version: hash.digest('hex').slice(0, 16) };
}

/** Makes a set, or returns `previous` when that one holds the same resources. */
export function createResourceSet(
  byName: ReadonlyMap<string, SnapshotResource>,
  previous: ResourceSet = emptyResourceSet,
): ResourceSet {
  let sum = 0n;
  for (const resource of byName.values()) sum += BigInt(`0x${resource.version}`);
  const version = BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
  return version === previous.version ? previous : { byName, version };
}

/** No resources. */
export const emptyResourceSet: ResourceSet = { byName: new Map(), version: '0'.repeat(16) };

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
