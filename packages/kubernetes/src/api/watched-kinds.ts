import type { NamespaceObject, ObjectKind } from '../objects';

/** The kinds that are listed and watched. */
export type WatchedKind = ObjectKind | NamespaceObject['kind'];

/** How objects of a kind are requested. */
export interface WatchedResource {
  readonly kind: WatchedKind;
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural in paths and roles. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** Whether the cluster may not have it: Gateway API is installed by its administrators. */
  readonly isOptional: boolean;
  /**
   * What is missing if a role lacks it, and everything else is served without; undefined if nothing is. A role for some
   * namespaces cannot have Nodes.
   */
  readonly lossIfForbidden: string | undefined;
  /** Whether only metadata is requested. The rest of a Node changes every few minutes. */
  readonly hasMetadataOnly: boolean;
  /** Selects by labels; '' for all. */
  readonly labelSelector: string;
}

const GATEWAY_API = 'gateway.networking.k8s.io';

const common = {
  group: '',
  version: 'v1',
  isNamespaced: true,
  isOptional: false,
  lossIfForbidden: undefined,
  hasMetadataOnly: false,
  labelSelector: '',
} as const;

/** The kinds that are read, but for namespaces, which are read only to select them by labels. */
export const WATCHED_RESOURCES: readonly WatchedResource[] = [
  { ...common, kind: 'Service', resource: 'services' },
  {
    ...common,
    kind: 'EndpointSlice',
    resource: 'endpointslices',
    group: 'discovery.k8s.io',
    labelSelector: 'kubernetes.io/service-name',
  },
  {
    ...common,
    kind: 'Node',
    resource: 'nodes',
    isNamespaced: false,
    hasMetadataOnly: true,
    lossIfForbidden: 'the regions of endpoints are not known',
  },
  { ...common, kind: 'GRPCRoute', resource: 'grpcroutes', group: GATEWAY_API, isOptional: true },
  {
    ...common,
    kind: 'ReferenceGrant',
    resource: 'referencegrants',
    group: GATEWAY_API,
    version: 'v1beta1',
    isOptional: true,
  },
];

/** Namespaces, by their labels. */
export function namespaceResource(labelSelector: string): WatchedResource {
  const resource = { ...common, kind: 'Namespace', resource: 'namespaces' } as const;
  return { ...resource, isNamespaced: false, hasMetadataOnly: true, labelSelector };
}

/** Returns the path of a namespace. */
export function namespacePath(name: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(name)}`;
}

/** Returns the path of a list of objects. @param namespace Default: all. */
export function pathOf({ group, version, resource }: WatchedResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined
    ? `${root}/${resource}`
    : `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
}

/** Returns the media type of a list, or of the events of a watch. */
export function acceptOf({ hasMetadataOnly }: WatchedResource, isList: boolean): string {
  if (!hasMetadataOnly) return 'application/json';
  const kind = isList ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `application/json;as=${kind};v=v1;g=meta.k8s.io,application/json`;
}

/** Returns the rule of a role without which a kind cannot be read, in YAML on one line. */
export function ruleFor({ group, resource }: WatchedResource): string {
  return `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["get", "list", "watch"]}`;
}
