import { Cluster } from '../generated/envoy/config/cluster/v3/cluster';
import { ClusterLoadAssignment } from '../generated/envoy/config/endpoint/v3/endpoint';
import { Listener } from '../generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../generated/envoy/config/route/v3/route';

/** A type of resource this server can hold, and what the protocol says about it. */
export interface ResourceKind {
  /** What people call one of these, as in `cluster "echo"`. */
  readonly label: string;
  /** The `type_url` of requests and responses. */
  readonly typeUrl: string;
  /** Full protobuf name of the message. */
  readonly messageName: string;
  /** The field that holds the resource's name, as proto and as JSON spell it. */
  readonly nameField: { readonly proto: string; readonly json: string };
  /**
   * Whether a response holds everything the client subscribed to, so that leaving a resource out
   * deletes it. True of listeners and clusters; the other types cannot be deleted this way.
   */
  readonly isComplete: boolean;
  /** Reads the name out of an encoded resource; throws when the bytes are not a valid message. */
  readNameFromBytes(value: Uint8Array): string;
}

/** The `type_url` of a message. */
export function typeUrlOf(messageName: string): string {
  return `type.googleapis.com/${messageName}`;
}

function createKind(kind: Omit<ResourceKind, 'typeUrl'>): ResourceKind {
  return { ...kind, typeUrl: typeUrlOf(kind.messageName) };
}

const name = { proto: 'name', json: 'name' } as const;

/** Listeners (LDS). */
export const listenerKind: ResourceKind = createKind({
  label: 'listener',
  messageName: 'envoy.config.listener.v3.Listener',
  nameField: name,
  isComplete: true,
  readNameFromBytes: (value) => Listener.decode(value).name,
});

/** Route configurations (RDS). */
export const routeKind: ResourceKind = createKind({
  label: 'route configuration',
  messageName: 'envoy.config.route.v3.RouteConfiguration',
  nameField: name,
  isComplete: false,
  readNameFromBytes: (value) => RouteConfiguration.decode(value).name,
});

/** Clusters (CDS). */
export const clusterKind: ResourceKind = createKind({
  label: 'cluster',
  messageName: 'envoy.config.cluster.v3.Cluster',
  nameField: name,
  isComplete: true,
  readNameFromBytes: (value) => Cluster.decode(value).name,
});

/** Endpoint assignments (EDS). */
export const endpointKind: ResourceKind = createKind({
  label: 'endpoint assignment',
  messageName: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  nameField: { proto: 'cluster_name', json: 'clusterName' },
  isComplete: false,
  readNameFromBytes: (value) => ClusterLoadAssignment.decode(value).clusterName,
});

/**
 * The kinds gRPC clients ask for, in the order their changes are sent: what is referred to goes before what
 * refers to it (make before break, as the xDS protocol recommends for an aggregated stream).
 */
export const resourceKinds: readonly ResourceKind[] = [
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
];

const kindsByTypeUrl = new Map(resourceKinds.map((kind) => [kind.typeUrl, kind]));

/** The kind with this `type_url`: one of the four gRPC clients ask for, or one `otherResourceKind` has made. */
export function findResourceKind(typeUrl: string): ResourceKind | undefined {
  return kindsByTypeUrl.get(typeUrl);
}

/**
 * The kind with this `type_url`, made if need be: for resources this server hands out without knowing what is in
 * them, such as secrets or the collections of gRFC A95. Their names have to be given with them, and clients are
 * sent what is new, not everything.
 */
export function otherResourceKind(typeUrl: string): ResourceKind {
  const known = kindsByTypeUrl.get(typeUrl);
  if (known !== undefined) return known;
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  const kind: ResourceKind = {
    label: messageName,
    typeUrl,
    messageName,
    nameField: name,
    isComplete: false,
    readNameFromBytes: () => '',
  };
  kindsByTypeUrl.set(typeUrl, kind);
  return kind;
}

/** The types of a stream in the order their changes are sent; those this server does not know come first. */
export function sendingOrder<T>(types: ReadonlyMap<string, T>): readonly T[] {
  const ordered: T[] = [];
  for (const kind of resourceKinds) {
    const type = types.get(kind.typeUrl);
    if (type !== undefined) ordered.push(type);
  }
  if (ordered.length === types.size) return ordered;
  const known = new Set(ordered);
  return [...[...types.values()].filter((type) => !known.has(type)), ...ordered];
}
