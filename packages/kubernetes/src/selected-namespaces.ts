import type { ObjectKey, ObjectSink } from './cluster-objects';
import { keyOf } from './object-key';
import type { KubernetesObject, ObjectKind } from './objects';

/**
 * Hands on the objects of the namespaces that are selected, and keeps those of the others, so that a namespace that is
 * selected later is there at once. Objects in no namespace are handed on.
 */
export class SelectedNamespaces implements ObjectSink {
  private readonly selected = new Set<string>();
  /** By namespace, then by kind and key. */
  private readonly objects = new Map<string, Map<string, KubernetesObject>>();

  constructor(private readonly target: ObjectSink) {}

  put(object: KubernetesObject): void {
    const { namespace } = object.meta;
    if (namespace !== '') {
      const objects = this.objects.get(namespace) ?? new Map<string, KubernetesObject>();
      this.objects.set(namespace, objects);
      objects.set(nameOf(object.kind, keyOf(object.meta)), object);
    }
    if (namespace === '' || this.selected.has(namespace)) this.target.put(object);
  }

  delete(kind: ObjectKind, key: ObjectKey): void {
    const slash = key.indexOf('/');
    const namespace = slash < 0 ? '' : key.slice(0, slash);
    const objects = this.objects.get(namespace);
    objects?.delete(nameOf(kind, key));
    if (objects?.size === 0) this.objects.delete(namespace);
    if (namespace === '' || this.selected.has(namespace)) this.target.delete(kind, key);
  }

  /** Hands on the objects of a namespace from now on. */
  select(namespace: string): void {
    if (this.selected.has(namespace)) return;
    this.selected.add(namespace);
    for (const object of this.objects.get(namespace)?.values() ?? []) this.target.put(object);
  }

  /** Deletes the objects of a namespace from the target. */
  unselect(namespace: string): void {
    if (!this.selected.delete(namespace)) return;
    for (const { kind, meta } of this.objects.get(namespace)?.values() ?? []) {
      this.target.delete(kind, keyOf(meta));
    }
  }
}

function nameOf(kind: ObjectKind, key: ObjectKey): string {
  return `${kind} ${key}`;
}
