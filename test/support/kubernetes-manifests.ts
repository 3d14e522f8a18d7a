import { readObjectOf } from '../../packages/kubernetes/src/read-objects';
import type { ObjectKind } from '../../packages/kubernetes/src/objects';
import { StoredObjects } from '../../packages/kubernetes/src/stored-objects';
import { FakeClock } from './fake-clock';

// Objects of Kubernetes as its API has them in JSON.

export type Json = Readonly<Record<string, unknown>>;

const NAMESPACE = 'shop';

interface ServiceFields {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uid?: string;
}

/** A Service with the port 80, which is named `grpc`, and further fields of its specification. */
export function serviceManifest(name: string, spec: Json = {}, fields: ServiceFields = {}): Json {
  const { namespace = NAMESPACE, annotations = {}, uid = `uid-${name}` } = fields;
  const ports = [{ name: 'grpc', port: 80, protocol: 'TCP' }];
  return {
    kind: 'Service',
    metadata: { name, namespace, annotations, uid },
    spec: { clusterIP: '10.96.0.1', ports, ...spec },
  };
}

interface SliceFields {
  /** Default: `SERVICE-1`. */
  readonly name?: string;
  readonly namespace?: string;
  readonly addressType?: string;
  readonly ports?: readonly Json[];
}

/** An EndpointSlice of a Service whose port `grpc` is 8080. */
export function sliceManifest(
  service: string,
  endpoints: readonly Json[],
  fields: SliceFields = {},
): Json {
  const { name = `${service}-1`, namespace = NAMESPACE, addressType = 'IPv4' } = fields;
  const { ports = [{ name: 'grpc', port: 8080, protocol: 'TCP' }] } = fields;
  const labels = { 'kubernetes.io/service-name': service };
  return {
    kind: 'EndpointSlice',
    metadata: { name, namespace, labels },
    addressType,
    ports,
    endpoints,
  };
}

/** An endpoint that is ready, and further fields of it. */
export function endpointManifest(address: string, more: Json = {}): Json {
  return { addresses: [address], conditions: { ready: true, serving: true }, ...more };
}

/** The conditions of a pod that is being deleted and still serves. */
export const DRAINING: Json = { conditions: { ready: false, serving: true, terminating: true } };

/** A Node in a zone of the region `north`. */
export function nodeManifest(name: string, zone: string): Json {
  const labels = { 'topology.kubernetes.io/region': 'north', 'topology.kubernetes.io/zone': zone };
  return { kind: 'Node', metadata: { name, labels } };
}

const KINDS: readonly ObjectKind[] = [
  'Service',
  'EndpointSlice',
  'Node',
  'GRPCRoute',
  'ReferenceGrant',
];

/** Stores objects as if they had been received. */
export function putManifests(objects: StoredObjects, ...manifests: readonly Json[]): void {
  for (const manifest of manifests) {
    const kind = KINDS.find((each) => each === manifest['kind']);
    if (kind === undefined) throw new TypeError(`no kind ${String(manifest['kind'])}`);
    const read = readObjectOf(kind, manifest);
    if (!read.ok) throw new TypeError(read.error.violations.join('; '));
    if (read.value.kind !== 'Namespace') objects.put(read.value);
  }
}

/** The objects of manifests. */
export function objectsOf(...manifests: readonly Json[]): StoredObjects {
  const objects = new StoredObjects(new FakeClock());
  putManifests(objects, ...manifests);
  return objects;
}
