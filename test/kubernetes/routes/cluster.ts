import { readObjectOf } from '../../../src/control-plane/kubernetes/read-objects';
import { StoredObjects } from '../../../src/control-plane/kubernetes/stored-objects';
import type { ObjectKind } from '../../../src/control-plane/kubernetes/objects';
import { FakeClock } from '../../support/fake-clock';
import type { Json } from './manifests';

const KINDS: readonly ObjectKind[] = ['Service', 'GRPCRoute', 'ReferenceGrant'];

/** The objects of manifests, as they are stored when the API server sends them. */
export function clusterOf(manifests: readonly Json[], clock = new FakeClock()): StoredObjects {
  const objects = new StoredObjects(clock);
  for (const manifest of manifests) putManifest(objects, manifest);
  return objects;
}

/** Stores an object as if it had been received. */
export function putManifest(objects: StoredObjects, manifest: Json): void {
  const kind = KINDS.find((each) => each === manifest['kind']);
  if (kind === undefined) throw new TypeError(`no kind ${String(manifest['kind'])}`);
  const read = readObjectOf(kind, manifest);
  if (!read.ok) throw new TypeError(read.error.violations.join('; '));
  if (read.value.kind !== 'Namespace') objects.put(read.value);
}
