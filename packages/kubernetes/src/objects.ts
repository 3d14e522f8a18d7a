/**
 * The parts that are read of Kubernetes' objects, as the API has them in JSON. What is read has been checked: see
 * `read-objects.ts`. Sources: the API reference of core/v1 and discovery.k8s.io/v1, and gateway.networking.k8s.io/v1 of
 * Gateway API.
 */

/** What each object has. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Increased with each change of `spec`. */
  readonly generation: number;
  /** Milliseconds since the epoch; 0 if it is not known. */
  readonly createdMs: number;
  /** Empty for a Node. */
  readonly labels: ReadonlyMap<string, string>;
  /**
   * Those of a Service and a GRPCRoute, without `kubectl.kubernetes.io/last-applied-configuration`; empty for other kinds, whose
   * controllers change them often.
   */
  readonly annotations: ReadonlyMap<string, string>;
}

/** A Service of core/v1. */
export interface ServiceObject {
  readonly kind: 'Service';
  readonly meta: ObjectMeta;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  /** Of type ExternalName. */
  readonly externalName: string;
  readonly ports: readonly ServicePort[];
  readonly isHeadless: boolean;
  /** `spec.ipFamilies`; the first is that of the addresses that clients try first. */
  readonly ipFamilies: readonly ('IPv4' | 'IPv6')[];
  /** Whether endpoints count that are not ready. */
  readonly publishesNotReady: boolean;
  readonly trafficDistribution: 'PreferSameZone' | 'PreferSameNode' | undefined;
  /** Whether callers use the endpoints of their own node only (`internalTrafficPolicy: Local`). */
  readonly isNodeLocal: boolean;
  readonly hasClientAffinity: boolean;
}

export interface ServicePort {
  /** '' if the service has one port without a name. */
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
}

/** An EndpointSlice of discovery.k8s.io/v1. */
export interface EndpointSliceObject {
  readonly kind: 'EndpointSlice';
  readonly meta: ObjectMeta;
  /** The name of the Service in the namespace of the slice; undefined for a slice of none. */
  readonly service: string | undefined;
  readonly addressType: 'IPv4' | 'IPv6' | 'FQDN';
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SlicePort {
  readonly name: string;
  /** Undefined for all ports. */
  readonly port: number | undefined;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
}

export interface SliceEndpoint {
  /** The first of its addresses. */
  readonly address: string;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly hostname: string | undefined;
  /** `targetRef.uid`: the pod of which slices of two families have one address each. */
  readonly targetUid: string | undefined;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  /** The zones and nodes whose callers are to use it; empty without hints. */
  readonly forZones: readonly string[];
  readonly forNodes: readonly string[];
}

/** A Node of core/v1. */
export interface NodeObject {
  readonly kind: 'Node';
  readonly meta: ObjectMeta;
  /** `topology.kubernetes.io/region` and `topology.kubernetes.io/zone`. */
  readonly region: string;
  readonly zone: string;
}

/** A GRPCRoute of gateway.networking.k8s.io/v1. */
export interface GrpcRouteObject {
  readonly kind: 'GRPCRoute';
  readonly meta: ObjectMeta;
  /** The `spec`, which is read by the translation of routes. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** The `status`, which others write as well. */
  readonly status: Readonly<Record<string, unknown>>;
}

/** A ReferenceGrant of gateway.networking.k8s.io/v1beta1. */
export interface ReferenceGrantObject {
  readonly kind: 'ReferenceGrant';
  readonly meta: ObjectMeta;
  readonly from: readonly {
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
  }[];
  /** A grant without a name is for all objects of the kind. */
  readonly to: readonly {
    readonly group: string;
    readonly kind: string;
    readonly name: string | undefined;
  }[];
}

/** A Namespace of core/v1, of which only the metadata is read. */
export interface NamespaceObject {
  readonly kind: 'Namespace';
  readonly meta: ObjectMeta;
}

/** An object that resources are made of. */
export type KubernetesObject =
  ServiceObject | EndpointSliceObject | NodeObject | GrpcRouteObject | ReferenceGrantObject;

/** The kinds of objects that resources are made of. */
export type ObjectKind = KubernetesObject['kind'];
