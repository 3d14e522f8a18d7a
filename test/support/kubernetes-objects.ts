/** Objects of Kubernetes in the JSON form of its API. */

interface Meta {
  readonly namespace?: string;
  readonly version?: string | number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function metadata(name: string, { namespace = 'shop', version = 1, ...more }: Meta): object {
  return { name, namespace, uid: `uid-${name}`, resourceVersion: String(version), ...more };
}

/** A Service with one port. */
export function serviceJson(name: string, meta: Meta = {}, spec: object = {}): object {
  const ports = [{ name: 'grpc', port: 80, protocol: 'TCP', targetPort: 8080 }];
  return { metadata: metadata(name, meta), spec: { type: 'ClusterIP', ports, ...spec } };
}

/** A slice of a service, with endpoints by their addresses, or as objects. */
export function sliceJson(
  name: string,
  service: string,
  endpoints: readonly (string | object)[],
  meta: Meta = {},
): object {
  const labels = { 'kubernetes.io/service-name': service, ...meta.labels };
  return {
    metadata: metadata(name, { ...meta, labels }),
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port: 8080, protocol: 'TCP' }],
    endpoints: endpoints.map((endpoint) =>
      typeof endpoint === 'string' ? { addresses: [endpoint] } : endpoint,
    ),
  };
}

/** A Node in a zone, as metadata alone. */
export function nodeJson(name: string, zone: string, version: string | number = 1): object {
  const labels = { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': zone };
  return { metadata: { ...metadata(name, { version, labels }), namespace: undefined } };
}

/** A GRPCRoute of one service, whose calls go to other ones: `name`, or `namespace/name`. */
export function routeJson(
  name: string,
  parent: string,
  backends: readonly string[],
  meta: Meta = {},
): object {
  const reference = (key: string) => {
    const [first = '', second] = key.split('/');
    return second === undefined ? { name: first } : { namespace: first, name: second };
  };
  const parentRefs = [{ group: '', kind: 'Service', ...reference(parent) }];
  const rules = [{ backendRefs: backends.map((key) => ({ ...reference(key), port: 80 })) }];
  return { metadata: metadata(name, meta), spec: { parentRefs, rules } };
}

/** A grant of a namespace for the routes of another one. */
export function grantJson(name: string, namespace: string, from: string): object {
  return {
    metadata: metadata(name, { namespace }),
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'GRPCRoute', namespace: from }],
      to: [{ group: '', kind: 'Service' }],
    },
  };
}
