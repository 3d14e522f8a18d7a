// The fields of GRPCRoute v1, as the CRDs of the experimental channel of Gateway API 1.4 and 1.6 have them
// (config/crd/experimental/gateway.networking.k8s.io_grpcroutes.yaml): those without fields of their own.

/** @param paths The fields of the object, with lists marked by `[]`. */
const inside = (path: string, paths: readonly string[]) => paths.map((each) => `${path}.${each}`);

const HEADER_MODIFIER = ['add[].name', 'add[].value', 'remove', 'set[].name', 'set[].value'];

const FILTER = [
  'type',
  ...inside('extensionRef', ['group', 'kind', 'name']),
  ...inside('requestHeaderModifier', HEADER_MODIFIER),
  ...inside('responseHeaderModifier', HEADER_MODIFIER),
  ...inside('requestMirror', [
    ...inside('backendRef', ['group', 'kind', 'name', 'namespace', 'port']),
    'fraction.denominator',
    'fraction.numerator',
    'percent',
  ]),
];

const PARENT_REF = ['group', 'kind', 'name', 'namespace', 'port', 'sectionName'];

const SESSION_PERSISTENCE = [
  'absoluteTimeout',
  'cookieConfig.lifetimeType',
  'idleTimeout',
  'sessionName',
  'type',
  // Since version 1.6.
  'cookie.lifetimeType',
  'cookie.name',
  'cookie.path',
  'header.name',
];

const RULE = [
  'name',
  ...inside('matches[].method', ['type', 'service', 'method']),
  ...inside('matches[].headers[]', ['type', 'name', 'value']),
  ...inside('filters[]', FILTER),
  ...inside('backendRefs[]', ['group', 'kind', 'name', 'namespace', 'port', 'weight']),
  ...inside('backendRefs[].filters[]', FILTER),
  ...inside('sessionPersistence', SESSION_PERSISTENCE),
];

const CONDITION = [
  'type',
  'status',
  'reason',
  'message',
  'observedGeneration',
  'lastTransitionTime',
];

export const GRPC_ROUTE_FIELDS: readonly string[] = [
  ...inside('spec', ['hostnames', 'useDefaultGateways']),
  ...inside('spec.parentRefs[]', PARENT_REF),
  ...inside('spec.rules[]', RULE),
  'status.parents[].controllerName',
  ...inside('status.parents[].parentRef', PARENT_REF),
  ...inside('status.parents[].conditions[]', CONDITION),
];
