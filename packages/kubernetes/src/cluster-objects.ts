import type {
  EndpointSliceObject,
  GrpcRouteObject,
  KubernetesObject,
  NodeObject,
  ObjectKind,
  ReferenceGrantObject,
  ServiceObject,
} from './objects';

/** `namespace/name`. */
export type ObjectKey = string;

/** What a change of objects concerns. */
export interface ObjectChange {
  /** Keys of the services whose Service, slices, routes, grants or nodes have changed, or that are gone. */
  readonly services: ReadonlySet<ObjectKey>;
  /** Keys of the routes that have changed or are gone, or one of whose references has. */
  readonly routes: ReadonlySet<ObjectKey>;
}

/** The objects of a Kubernetes cluster that are watched, as they are at one moment. */
export interface ClusterObjects {
  /** By key. */
  readonly services: ReadonlyMap<ObjectKey, ServiceObject>;
  /** By name. */
  readonly nodes: ReadonlyMap<string, NodeObject>;
  /** By key. */
  readonly routes: ReadonlyMap<ObjectKey, GrpcRouteObject>;
  /** Returns the slices of a service, in an order that does not depend on that of their arrival. */
  slicesOf(service: ObjectKey): readonly EndpointSliceObject[];
  /** Returns the routes that have a service as a parent. */
  routesOf(service: ObjectKey): readonly GrpcRouteObject[];
  /** Returns the grants in a namespace. */
  grantsIn(namespace: string): readonly ReferenceGrantObject[];
}

/** Where watches write what they receive. */
export interface ObjectSink {
  /** An object was added or changed. */
  put(object: KubernetesObject): void;
  /** An object was deleted. */
  delete(kind: ObjectKind, key: ObjectKey): void;
}
