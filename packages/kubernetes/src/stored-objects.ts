import { isDeepStrictEqual } from 'node:util';
import type { ClusterObjects, ObjectChange, ObjectKey, ObjectSink } from './cluster-objects';
import { keyOf } from './object-key';
import { ObjectIndex } from './object-index';
import type {
  EndpointSliceObject,
  GrpcRouteObject,
  KubernetesObject,
  NodeObject,
  ObjectKind,
  ReferenceGrantObject,
  ServiceObject,
} from './objects';
import { referencesOf, type RouteReferences } from './route-references';
import { inNextTurn, type Clock } from '../../../src/util/clock';
import { createHandle, type Handle } from '../../../src/util/handle';

/**
 * The objects of a cluster as they were received last. The changes of one turn of the event loop are reported together. What
 * a change costs grows with what it concerns, not with the number of objects.
 *
 * It is closed at first: nothing is reported until `open`, since of half of a cluster the other half looks deleted.
 */
export class StoredObjects implements ClusterObjects, ObjectSink {
  readonly services = new Map<ObjectKey, ServiceObject>();
  readonly nodes = new Map<string, NodeObject>();
  readonly routes = new Map<ObjectKey, GrpcRouteObject>();
  private readonly slices = new Map<ObjectKey, EndpointSliceObject>();
  private readonly grants = new Map<ObjectKey, ReferenceGrantObject>();

  private readonly slicesByService = new ObjectIndex(serviceOf);
  private readonly slicesByNode = new ObjectIndex(nodesOf);
  private readonly routesByParent = new ObjectIndex(parentsOf);
  private readonly routesByBackend = routesBy('backends');
  /** By the namespaces of their backends, other than their own. */
  private readonly routesByNamespace = routesBy('foreignNamespaces');
  private readonly grantsByNamespace = new ObjectIndex(namespaceOf);

  private readonly listeners = new Set<(change: ObjectChange) => void>();
  private isOpened = false;
  private turn: Handle | undefined;
  private changedServices = new Set<ObjectKey>();
  private changedRoutes = new Set<ObjectKey>();

  constructor(private readonly clock: Pick<Clock, 'nextTurn' | 'setTimer'>) {}

  /** Whether the objects are those of a whole cluster. */
  get isOpen(): boolean {
    return this.isOpened;
  }

  slicesOf(service: ObjectKey): readonly EndpointSliceObject[] {
    return this.slicesByService.of(service);
  }

  routesOf(service: ObjectKey): readonly GrpcRouteObject[] {
    return this.routesByParent.of(service);
  }

  grantsIn(namespace: string): readonly ReferenceGrantObject[] {
    return this.grantsByNamespace.of(namespace);
  }

  /** All objects, in no order. */
  *all(): IterableIterator<KubernetesObject> {
    yield* this.services.values();
    yield* this.slices.values();
    yield* this.nodes.values();
    yield* this.routes.values();
    yield* this.grants.values();
  }

  /** Calls a function with the changes of each turn, until the handle is released. */
  watch(onChanged: (change: ObjectChange) => void): Handle {
    this.listeners.add(onChanged);
    return createHandle(() => this.listeners.delete(onChanged));
  }

  /** Reports what has changed so far, and each change from now on. Idempotent. */
  open(): void {
    if (this.isOpened) return;
    this.isOpened = true;
    this.schedule();
  }

  /** Stores an object. One that differs from the stored one in its resource version alone is no change. */
  put(object: KubernetesObject): void {
    const key = keyOf(object.meta);
    switch (object.kind) {
      case 'Service':
        return this.putService(key, object);
      case 'EndpointSlice':
        return this.putSlice(key, object);
      case 'Node':
        return this.putNode(key, object);
      case 'GRPCRoute':
        return this.putRoute(key, object);
      case 'ReferenceGrant':
        return this.putGrant(key, object);
    }
  }

  delete(kind: ObjectKind, key: ObjectKey): void {
    switch (kind) {
      case 'Service':
        return this.putService(key, undefined);
      case 'EndpointSlice':
        return this.putSlice(key, undefined);
      case 'Node':
        return this.putNode(key, undefined);
      case 'GRPCRoute':
        return this.putRoute(key, undefined);
      case 'ReferenceGrant':
        return this.putGrant(key, undefined);
    }
  }

  private putService(key: ObjectKey, service: ServiceObject | undefined): void {
    if (!replace(this.services, key, service)) return;
    this.changedServices.add(key);
    for (const route of this.routesByParent.of(key)) this.changedRoutes.add(keyOf(route.meta));
    this.touchRoutes(this.routesByBackend.of(key));
    this.schedule();
  }

  private putSlice(key: ObjectKey, slice: EndpointSliceObject | undefined): void {
    const before = this.slices.get(key);
    if (!replace(this.slices, key, slice)) return;
    for (const index of [this.slicesByService, this.slicesByNode]) {
      index.replace(key, before, slice);
    }
    this.touchServices(before);
    this.touchServices(slice);
    this.schedule();
  }

  private putNode(key: ObjectKey, node: NodeObject | undefined): void {
    if (!replace(this.nodes, key, node)) return;
    for (const slice of this.slicesByNode.of(key)) this.touchServices(slice);
    this.schedule();
  }

  private putRoute(key: ObjectKey, route: GrpcRouteObject | undefined): void {
    const before = this.routes.get(key);
    if (!replace(this.routes, key, route)) return;
    for (const index of [this.routesByParent, this.routesByBackend, this.routesByNamespace]) {
      index.replace(key, before, route);
    }
    this.changedRoutes.add(key);
    // Conditions are written to the status, by this process too: calls do not depend on it.
    if (!differInStatusOnly(before, route)) {
      for (const each of [before, route]) if (each !== undefined) this.touchParents(each);
    }
    this.schedule();
  }

  private putGrant(key: ObjectKey, grant: ReferenceGrantObject | undefined): void {
    const before = this.grants.get(key);
    if (!replace(this.grants, key, grant)) return;
    const namespace = (grant ?? before)?.meta.namespace ?? '';
    this.grantsByNamespace.replace(key, before, grant);
    this.touchRoutes(this.routesByNamespace.of(namespace));
    this.schedule();
  }

  private touchServices(slice: EndpointSliceObject | undefined): void {
    for (const key of slice === undefined ? [] : serviceOf(slice)) this.changedServices.add(key);
  }

  /** A reference of the routes has changed: they have too, and the services that they are routes of. */
  private touchRoutes(routes: readonly GrpcRouteObject[]): void {
    for (const route of routes) {
      this.changedRoutes.add(keyOf(route.meta));
      this.touchParents(route);
    }
  }

  private touchParents(route: GrpcRouteObject): void {
    for (const parent of parentsOf(route)) this.changedServices.add(parent);
  }

  private schedule(): void {
    if (this.isOpened) this.turn ??= inNextTurn(this.clock, () => this.report());
  }

  private report(): void {
    this.turn = undefined;
    const change = { services: this.changedServices, routes: this.changedRoutes };
    this.changedServices = new Set();
    this.changedRoutes = new Set();
    for (const listener of [...this.listeners]) listener(change);
  }
}

/** @returns whether it is a change. */
function replace<T extends KubernetesObject>(
  objects: Map<ObjectKey, T>,
  key: ObjectKey,
  object: T | undefined,
): boolean {
  if (object === undefined) return objects.delete(key);
  const before = objects.get(key);
  if (before !== undefined && isSame(before, object)) return false;
  objects.set(key, object);
  return true;
}

function isSame<T extends KubernetesObject>(before: T, after: T): boolean {
  const { resourceVersion } = after.meta;
  return isDeepStrictEqual({ ...before, meta: { ...before.meta, resourceVersion } }, after);
}

function differInStatusOnly(
  before: GrpcRouteObject | undefined,
  after: GrpcRouteObject | undefined,
): boolean {
  if (before === undefined || after === undefined) return false;
  return isSame({ ...before, status: {} }, { ...after, status: {} });
}

function routesBy(what: keyof RouteReferences): ObjectIndex<GrpcRouteObject> {
  return new ObjectIndex((route) => referencesOf(route)[what]);
}

function parentsOf(route: GrpcRouteObject): ReadonlySet<ObjectKey> {
  return referencesOf(route).parents;
}

function namespaceOf({ meta }: ReferenceGrantObject): readonly string[] {
  return [meta.namespace];
}

/** A key, or none for a slice of no service. */
function serviceOf({ meta, service }: EndpointSliceObject): readonly ObjectKey[] {
  return service === undefined ? [] : [keyOf({ namespace: meta.namespace, name: service })];
}

function nodesOf({ endpoints }: EndpointSliceObject): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const { nodeName } of endpoints) if (nodeName !== undefined) nodes.add(nodeName);
  return nodes;
}
