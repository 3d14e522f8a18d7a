// Services, GRPCRoutes and ReferenceGrants as the API has them in JSON.

import type { Json } from '../../support/kubernetes-manifests';

/** Where an object is, and what the API server adds to it. */
export interface MetaOptions {
  readonly namespace?: string;
  /** Seconds after a moment that all objects share. */
  readonly createdS?: number;
  readonly generation?: number;
}

const EPOCH_MS = Date.parse('2026-01-01T00:00:00Z');
const NAMESPACE = 'shop';

function metaOf(name: string, options: MetaOptions): Json {
  const { namespace = NAMESPACE, createdS = 0, generation = 1 } = options;
  const creationTimestamp = new Date(EPOCH_MS + createdS * 1000).toISOString();
  const uid = `uid-${namespace}-${name}`;
  return { name, namespace, uid, resourceVersion: '1', generation, creationTimestamp };
}

interface ServiceOptions extends MetaOptions {
  readonly type?: string;
  readonly ports?: readonly Json[];
}

/** A Service with the port 80, which is named `grpc`. */
export function service(name: string, { type, ports, ...options }: ServiceOptions = {}): Json {
  const spec = {
    type: type ?? 'ClusterIP',
    ports: ports ?? [{ name: 'grpc', port: 80, protocol: 'TCP' }],
    ...(type === 'ExternalName' ? { externalName: 'example.com' } : {}),
  };
  return { apiVersion: 'v1', kind: 'Service', metadata: metaOf(name, options), spec };
}

interface RouteOptions extends MetaOptions {
  /** Default: the Service `front` of the namespace `shop`. */
  readonly parents?: readonly Json[];
  /** Further fields of the specification. */
  readonly spec?: Json;
  readonly status?: Json;
}

/** A GRPCRoute. */
export function grpcRoute(
  name: string,
  rules: unknown,
  { parents = [parent()], spec = {}, status, ...options }: RouteOptions = {},
): Json {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GRPCRoute',
    metadata: metaOf(name, options),
    spec: { parentRefs: parents, rules, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** A reference to a parent that is a Service. */
export function parent(name = 'front', extra: Json = {}): Json {
  return { group: '', kind: 'Service', namespace: NAMESPACE, name, ...extra };
}

/** A reference to the port 80 of a Service. */
export function backend(name: string, weight?: number, extra: Json = {}): Json {
  return { name, port: 80, ...(weight === undefined ? {} : { weight }), ...extra };
}

/** A rule whose calls go to one Service. */
export function ruleTo(name: string, ...matches: readonly Json[]): Json {
  return { ...(matches.length > 0 ? { matches } : {}), backendRefs: [backend(name)] };
}

/** A match of a method; `''` for any. */
export function method(serviceName: string, name = '', type?: string): Json {
  return {
    method: {
      ...(type === undefined ? {} : { type }),
      ...(serviceName === '' ? {} : { service: serviceName }),
      ...(name === '' ? {} : { method: name }),
    },
  };
}

/** A match of headers. */
export function headers(values: Readonly<Record<string, string>>, type?: string): Json {
  const typed = type === undefined ? {} : { type };
  return { headers: Object.entries(values).map(([name, value]) => ({ ...typed, name, value })) };
}

/** A ReferenceGrant of a namespace for the GRPCRoutes of another. */
export function grant(namespace: string, from: string, to: Json = {}, source: Json = {}): Json {
  const group = 'gateway.networking.k8s.io';
  return {
    apiVersion: `${group}/v1beta1`,
    kind: 'ReferenceGrant',
    metadata: metaOf(`from-${from}`, { namespace }),
    spec: {
      from: [{ group, kind: 'GRPCRoute', namespace: from, ...source }],
      to: [{ group: '', kind: 'Service', ...to }],
    },
  };
}
