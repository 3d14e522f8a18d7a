import { Cluster } from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { ClusterLoadAssignment } from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';

/** A resource type this server can hold, with its protocol properties. */
export interface ResourceKind {
  /** The word for one such resource in messages, as in `cluster "echo"`. */
  readonly label: string;
  /** The `type_url` of requests and responses. */
  readonly typeUrl: string;
  /** Full protobuf name of the message. */
  readonly messageName: string;
  /** The field that holds the resource's name, as proto and as JSON spell it. */
  readonly nameField: { readonly proto: string; readonly json: string };
  /**
   * Whether a state-of-the-world response holds every subscribed resource, so that a resource left out of it is
   * deleted. True of listeners and clusters.
   */
  readonly isComplete: boolean;
  /** Reads the name of an encoded resource; throws when the bytes are not a valid message. */
  readNameFromBytes(value: Uint8Array): string;
}

/** Returns the `type_url` of a message. */
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
 * The kinds gRPC clients request, in the order their updates are sent (make before break:
 * https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#eventual-consistency-considerations).
 */
export const resourceKinds: readonly ResourceKind[] = [
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
];

const kindsByTypeUrl = new Map(resourceKinds.map((kind) => [kind.typeUrl, kind]));

/** Returns the kind with this `type_url`: one of the four above, or one that `otherResourceKind` created. */
export function findResourceKind(typeUrl: string): ResourceKind | undefined {
  return kindsByTypeUrl.get(typeUrl);
}

/**
 * Returns the kind with this `type_url`, and creates it on first use: for resources this server has no schema of, such as
 * secrets or the collections of gRFC A95. Such resources need an explicit name, and responses hold changed ones only.
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
