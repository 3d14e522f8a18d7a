import { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import { FakeClock } from '../../support/fake-clock';
import { putManifests, type Json } from '../../support/kubernetes-manifests';

/** The objects of manifests, as they are stored when the API server sends them. */
export function clusterOf(manifests: readonly Json[], clock = new FakeClock()): StoredObjects {
  const objects = new StoredObjects(clock);
  putManifests(objects, ...manifests);
  return objects;
}
