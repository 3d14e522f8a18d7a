import {
  checkArgument,
  NUMBER,
  objectOf,
  STRING,
  TEXT,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import type { Lookup } from '../util/layered-map';

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
}

/** Returns the `type_url` of a message. */
export function typeUrlOf(messageName: string): string {
  return `type.googleapis.com/${messageName}`;
}

function withTypeUrl(kind: Omit<ResourceKind, 'typeUrl'>): ResourceKind {
  return { ...kind, typeUrl: typeUrlOf(kind.messageName) };
}

const name = { proto: 'name', json: 'name' } as const;

/** Listeners (LDS). */
export const listenerKind: ResourceKind = withTypeUrl({
  label: 'listener',
  messageName: 'envoy.config.listener.v3.Listener',
  nameField: name,
  isComplete: true,
});

/** Route configurations (RDS). */
export const routeKind: ResourceKind = withTypeUrl({
  label: 'route configuration',
  messageName: 'envoy.config.route.v3.RouteConfiguration',
  nameField: name,
  isComplete: false,
});

/** Clusters (CDS). */
export const clusterKind: ResourceKind = withTypeUrl({
  label: 'cluster',
  messageName: 'envoy.config.cluster.v3.Cluster',
  nameField: name,
  isComplete: true,
});

/** Endpoint assignments (EDS). */
export const endpointKind: ResourceKind = withTypeUrl({
  label: 'endpoint assignment',
  messageName: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  nameField: { proto: 'cluster_name', json: 'clusterName' },
  isComplete: false,
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
  checkArgument('findResourceKind()', 'typeUrl', typeUrl, TEXT);
  return kindsByTypeUrl.get(typeUrl);
}

/**
 * Returns the kind with this `type_url`, and creates it on first use: for resources without a schema in this server, such as
 * secrets or the collections of gRFC A95. Such resources need an explicit name, and responses hold changed ones only.
 */
export function otherResourceKind(typeUrl: string): ResourceKind {
  checkArgument('otherResourceKind()', 'typeUrl', typeUrl, TEXT);
  const known = kindsByTypeUrl.get(typeUrl);
  if (known !== undefined) return known;
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  const kind: ResourceKind = {
    label: messageName,
    typeUrl,
    messageName,
    nameField: name,
    isComplete: false,
  };
  kindsByTypeUrl.set(typeUrl, kind);
  return kind;
}

/** A kind of this server. */
export const KIND: Rule = {
  legal: 'a kind of resources, such as clusterKind',
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    'typeUrl' in value &&
    kindsByTypeUrl.get(String(value.typeUrl)) === value,
};

/** An encoded resource in a snapshot. */
export interface SnapshotResource {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The encoded message. */
  readonly value: Uint8Array;
  /** The version clients receive. Default: the digest. */
  readonly version: string;
  /** Other names under which incremental clients may request it. */
  readonly aliases: readonly string[];
  /** Time to live without a heartbeat, in milliseconds; undefined if the resource does not expire. */
  readonly ttlMs: number | undefined;
  /**
   * 16 hexadecimal digits, the same in any process for the same resource. A resource is sent to a client when its digest
   * differs from the one last sent.
   */
  readonly digest: string;
}

/** An error that clients receive instead of a resource (xRFC TP3, gRFC A88). */
export interface ResourceErrorInput {
  /** The type of the resource. */
  readonly kind: ResourceKind;
  readonly name: string;
  /**
   * A gRPC status code other than OK. Clients treat NOT_FOUND (5) and PERMISSION_DENIED (7) as data errors, and all
   * other codes as transient.
   */
  readonly code: number;
  readonly message: string;
}

/** What an error of a resource must be; its name and code are checked with the others. */
export const RESOURCE_ERROR: Rule = objectOf({
  kind: KIND,
  name: STRING,
  code: NUMBER,
  message: STRING,
} satisfies MembersOf<ResourceErrorInput>);

/** A resource error in a snapshot. */
export interface ResourceError extends ResourceErrorInput {
  /** 16 hexadecimal digits, the same in any process for the same error. */
  readonly digest: string;
}

/** The resources and errors of one kind in a snapshot. */
export interface ResourceSet {
  readonly byName: ReadonlyMap<string, SnapshotResource>;
  /** The errors sent instead of resources, by resource name. */
  readonly errors: ReadonlyMap<string, ResourceError>;
  readonly byAlias: ReadonlyMap<string, SnapshotResource>;
  /** Digest of the set, independent of the order of its resources; 16 hexadecimal digits. */
  readonly version: string;
}

/** The resources and errors of one type as streams read them: a `ResourceSet`, or one that says how it has changed. */
export interface ServedSet {
  readonly byName: Lookup<SnapshotResource>;
  readonly errors: Lookup<ResourceError>;
  readonly byAlias: Lookup<SnapshotResource>;
  readonly version: string;
  /**
   * Returns the names and aliases whose digests differ from the digests of another set, and possibly others; `undefined` if it
   * does not know. By default the two are compared.
   */
  changedSince?(previous: ServedSet): readonly string[] | undefined;
}

const isMap = (value: unknown) => value instanceof Map;

/** A set of a snapshot. */
export const SET: Rule = objectOf({
  byName: { legal: 'a map', accepts: isMap },
  errors: { legal: 'a map', accepts: isMap },
  byAlias: { legal: 'a map', accepts: isMap },
  version: STRING,
} satisfies MembersOf<ResourceSet>);

const noErrors: ReadonlyMap<string, ResourceError> = new Map();

/** The set without resources. */
export const emptyResourceSet: ResourceSet = {
  byName: new Map(),
  errors: noErrors,
  byAlias: new Map(),
  version: '0'.repeat(16),
};

/** Creates a set, or returns `previous` if it is equal. */
export function createResourceSet(
  byName: ReadonlyMap<string, SnapshotResource>,
  previous: ResourceSet = emptyResourceSet,
  errors: ReadonlyMap<string, ResourceError> = noErrors,
): ResourceSet {
  let sum = 0n;
  const byAlias = new Map<string, SnapshotResource>();
  for (const resource of byName.values()) {
    sum += BigInt(`0x${resource.digest}`);
    for (const alias of resource.aliases) byAlias.set(alias, resource);
  }
  for (const error of errors.values()) sum += BigInt(`0x${error.digest}`);
  const version = BigInt.asUintN(64, sum).toString(16).padStart(16, '0');
  return version === previous.version ? previous : { byName, errors, byAlias, version };
}

/** Returns the digest of what is sent for this name. An error takes precedence over a resource. */
export function digestOf(set: ServedSet, name: string): string | undefined {
  return set.errors.get(name)?.digest ?? findResource(set, name)?.digest;
}

/** Returns the resource with this name or, if none has it, with this alias. */
export function findResource(set: ServedSet, name: string): SnapshotResource | undefined {
  return set.byName.get(name) ?? set.byAlias.get(name);
}

/** Returns the names and aliases whose digests differ between two sets, and possibly others. */
export function changedNames(previous: ServedSet, next: ServedSet): readonly string[] {
  if (previous === next) return [];
  const known = next.changedSince?.(previous);
  if (known !== undefined) return known;
  if (previous.version === next.version) return [];
  const names = new Set<string>();
  const compare = (name: string) => {
    if (digestOf(previous, name) !== digestOf(next, name)) names.add(name);
  };
  // Unchanged resources are the same object in both sets.
  for (const [name, resource] of previous.byName) {
    if (next.byName.get(name) !== resource) compare(name);
  }
  for (const name of next.byName.keys()) if (!previous.byName.has(name)) compare(name);
  for (const { errors, byAlias } of [previous, next]) {
    for (const name of errors.keys()) compare(name);
    for (const name of byAlias.keys()) compare(name);
  }
  return [...names];
}
