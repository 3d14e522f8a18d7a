import type { ObjectKey } from './cluster-objects';
import { keyOf } from './object-key';
import type { GrpcRouteObject } from './objects';
import { listAt, valueAt } from '../../../src/util/value-at';

/** The objects that a GRPCRoute refers to, whether they exist or not. */
export interface RouteReferences {
  /** Keys of the services that are its parents. */
  readonly parents: ReadonlySet<ObjectKey>;
  /** Keys of the services that are its backends, those of mirrored requests among them. */
  readonly backends: ReadonlySet<ObjectKey>;
  /** The namespaces of these backends, without its own: their grants decide. */
  readonly foreignNamespaces: ReadonlySet<string>;
}

/** The group that a reference to a parent has by default; that of a backend is the core group. */
const GATEWAY_API = 'gateway.networking.k8s.io';

/** Returns the services that a route refers to. What is no reference to a service is left out. */
export function referencesOf({ meta, spec }: GrpcRouteObject): RouteReferences {
  const parents = new Set<ObjectKey>();
  for (const reference of listAt(spec, 'parentRefs')) {
    const isService = readPart(reference, 'group', GATEWAY_API) === '';
    if (isService && readPart(reference, 'kind', 'Gateway') === 'Service') {
      addTarget(parents, reference, meta.namespace);
    }
  }
  const backends = new Set<ObjectKey>();
  const foreignNamespaces = new Set<string>();
  for (const reference of backendReferences(spec)) {
    const isService = readPart(reference, 'group', '') === '';
    if (!isService || readPart(reference, 'kind', 'Service') !== 'Service') continue;
    const namespace = addTarget(backends, reference, meta.namespace);
    if (namespace !== undefined && namespace !== meta.namespace) foreignNamespaces.add(namespace);
  }
  return { parents, backends, foreignNamespaces };
}

function* backendReferences(spec: GrpcRouteObject['spec']): IterableIterator<unknown> {
  for (const rule of listAt(spec, 'rules')) {
    yield* mirrorReferences(rule);
    for (const reference of listAt(rule, 'backendRefs')) {
      yield reference;
      yield* mirrorReferences(reference);
    }
  }
}

function* mirrorReferences(holder: unknown): IterableIterator<unknown> {
  for (const filter of listAt(holder, 'filters')) {
    const reference = valueAt(filter, 'requestMirror', 'backendRef');
    if (reference !== undefined) yield reference;
  }
}

/** @returns the namespace that the reference leads to; `undefined` if it has no name. */
function addTarget(
  targets: Set<ObjectKey>,
  reference: unknown,
  ownNamespace: string,
): string | undefined {
  const name = readPart(reference, 'name', '');
  const namespace = readPart(reference, 'namespace', ownNamespace);
  if (name === '') return undefined;
  targets.add(keyOf({ namespace, name }));
  return namespace;
}

function readPart(reference: unknown, name: string, otherwise: string): string {
  const value = valueAt(reference, name);
  return typeof value === 'string' ? value : otherwise;
}
