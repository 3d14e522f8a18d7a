import { readKey } from './object-key';
import type { ObjectKey } from './cluster-objects';
import { OBJECT_LIMITS as LIMITS } from './object-limits';
import type {
  GrpcRouteObject,
  KubernetesObject,
  NamespaceObject,
  NodeObject,
  ObjectMeta,
  ReferenceGrantObject,
  ServiceObject,
  ServicePort,
} from './objects';
import { readSlice } from './read-slice';
import { fieldsOf, readBounded, readItems, readText, readWord } from './read-values';
import {
  isObject,
  readBoolean,
  readEntries,
  readInteger,
  readList,
  readRequiredString,
  readString,
  type NamedFields,
} from '../../../src/util/json-fields';
import { err, ok, type Result } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import type { WatchedKind } from './api/watched-kinds';

/** An object of any kind that is watched. */
export type WatchedObject = KubernetesObject | NamespaceObject;

/** Why an object is not read. */
export interface ObjectProblem {
  /** Undefined if the object has none that can be read. */
  readonly key: ObjectKey | undefined;
  /** What is wrong, each with the path of its field. */
  readonly violations: readonly string[];
}

/**
 * Reads an object of a kind. Fields that nothing reads are ignored, whatever they have.
 * @param json A value that nothing has checked, which has at most as many levels as `parseBoundedJson` allows.
 */
export function readObjectOf(
  kind: WatchedKind,
  json: unknown,
): Result<WatchedObject, ObjectProblem> {
  const violations = Violations.root();
  const object = read(kind, json, violations);
  if (object !== undefined && violations.count === 0) return ok(object);
  return err({ key: readKey(json)?.key, violations: violations.all });
}

function read(kind: WatchedKind, json: unknown, violations: Violations): WatchedObject | undefined {
  const fields = fieldsOf(json, violations);
  if (fields === undefined) return undefined;
  const meta = readMeta(kind, fields, violations.at('metadata'));
  if (meta === undefined) return undefined;
  switch (kind) {
    case 'Namespace':
      return { kind, meta };
    case 'Node':
      return readNode(meta);
    case 'Service':
      return readService(meta, fields, violations.at('spec'));
    case 'EndpointSlice':
      return readSlice(meta, fields, violations);
    case 'GRPCRoute':
      return readRoute(meta, fields, violations);
    case 'ReferenceGrant':
      return readGrant(meta, fields, violations.at('spec'));
  }
}

/** The annotation in which kubectl keeps the object as it was applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** The kinds whose annotations are read. */
const ANNOTATED: ReadonlySet<WatchedKind> = new Set<WatchedKind>(['Service', 'GRPCRoute']);
/** The kinds that are in no namespace. */
const CLUSTER_SCOPED: ReadonlySet<WatchedKind> = new Set<WatchedKind>(['Node', 'Namespace']);

function readMeta(
  kind: WatchedKind,
  object: NamedFields,
  violations: Violations,
): ObjectMeta | undefined {
  const fields = fieldsOf(object.get('metadata'), violations);
  if (fields === undefined) return undefined;
  const name = readBounded(fields, 'name', LIMITS.nameLength, violations);
  const isClusterScoped = CLUSTER_SCOPED.has(kind);
  const namespace = readBounded(fields, 'namespace', LIMITS.nameLength, violations);
  if (name === '') violations.at('name').add('must not be empty');
  if (!isClusterScoped && namespace === '') violations.at('namespace').add('must not be empty');
  if (name.includes('/') || namespace.includes('/')) violations.add('a name must not have a slash');
  return {
    name,
    namespace,
    uid: readBounded(fields, 'uid', LIMITS.textLength, violations),
    resourceVersion: readBounded(fields, 'resourceVersion', LIMITS.textLength, violations),
    generation: readGeneration(fields, violations),
    createdMs: readTime(fields, violations),
    labels: readTexts(fields, 'labels', violations),
    annotations: ANNOTATED.has(kind) ? readAnnotations(fields, violations) : NONE,
  };
}

const NONE: ReadonlyMap<string, string> = new Map();

function readAnnotations(fields: NamedFields, violations: Violations): ReadonlyMap<string, string> {
  const annotations = readTexts(fields, 'annotations', violations);
  if (!annotations.has(LAST_APPLIED)) return annotations;
  return new Map([...annotations].filter(([key]) => key !== LAST_APPLIED));
}

function readTexts(
  fields: NamedFields,
  name: string,
  violations: Violations,
): ReadonlyMap<string, string> {
  if (!fields.has(name)) return NONE;
  const texts = readEntries(fields, name, violations, (json, at) =>
    typeof json === 'string' ? json : at.add('must be a string'),
  );
  let length = 0;
  for (const [key, text] of texts) length += key.length + text.length;
  if (length > LIMITS.metadataLength) {
    violations.at(name).add(`${length} characters, more than ${LIMITS.metadataLength}`);
  }
  return texts;
}

function readGeneration(fields: NamedFields, violations: Violations): number {
  const generation = fields.get('generation');
  if (generation === undefined) return 0;
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
  return readInteger(generation, bounds, violations.at('generation')) ?? 0;
}

function readTime(fields: NamedFields, violations: Violations): number {
  const text = readBounded(fields, 'creationTimestamp', LIMITS.textLength, violations);
  return text === '' ? 0 : Math.max(Date.parse(text), 0) || 0;
}

const REGION = 'topology.kubernetes.io/region';
const ZONE = 'topology.kubernetes.io/zone';

function readNode(meta: ObjectMeta): NodeObject {
  const { labels } = meta;
  const [region, zone] = [labels.get(REGION) ?? '', labels.get(ZONE) ?? ''];
  return { kind: 'Node', meta: { ...meta, labels: NONE }, region, zone };
}

const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const;

/** `PreferClose` is the older name of `PreferSameZone`. Another one is a preference that is not known: none. */
const DISTRIBUTIONS: ReadonlyMap<string, ServiceObject['trafficDistribution']> = new Map([
  ['PreferSameZone', 'PreferSameZone'],
  ['PreferClose', 'PreferSameZone'],
  ['PreferSameNode', 'PreferSameNode'],
]);

function readService(
  meta: ObjectMeta,
  object: NamedFields,
  violations: Violations,
): ServiceObject | undefined {
  const fields = fieldsOf(object.get('spec'), violations);
  if (fields === undefined) return undefined;
  const distribution = readString(fields, 'trafficDistribution', violations) ?? '';
  return {
    kind: 'Service',
    meta,
    type: readWord(fields, 'type', SERVICE_TYPES, violations) ?? 'ClusterIP',
    externalName: readBounded(fields, 'externalName', LIMITS.nameLength, violations),
    ports: readItems(fields, 'ports', LIMITS.portsPerService, violations, readServicePort),
    isHeadless: readString(fields, 'clusterIP', violations) === 'None',
    ipFamilies: readFamilies(fields, violations),
    publishesNotReady: readBoolean(fields, 'publishNotReadyAddresses', false, violations),
    trafficDistribution: DISTRIBUTIONS.get(distribution),
    isNodeLocal: readString(fields, 'internalTrafficPolicy', violations) === 'Local',
    hasClientAffinity: readString(fields, 'sessionAffinity', violations) === 'ClientIP',
  };
}

/** Another family is one that has no slices here. */
function readFamilies(fields: NamedFields, violations: Violations): readonly ('IPv4' | 'IPv6')[] {
  const families = readList(fields, 'ipFamilies', violations).slice(0, LIMITS.ipFamilies);
  return families.filter((family) => family === 'IPv4' || family === 'IPv6');
}

function readServicePort(fields: NamedFields, violations: Violations): ServicePort | undefined {
  const port = readInteger(fields.get('port'), { min: 1, max: 65_535 }, violations.at('port'));
  if (port === undefined) return undefined;
  return {
    name: readBounded(fields, 'name', LIMITS.nameLength, violations),
    port,
    protocol: readText(fields, 'protocol', violations) ?? 'TCP',
    appProtocol: readText(fields, 'appProtocol', violations),
  };
}

function readRoute(
  meta: ObjectMeta,
  fields: NamedFields,
  violations: Violations,
): GrpcRouteObject | undefined {
  const spec = readPart(fields, 'spec', violations);
  const status = fields.has('status') ? readPart(fields, 'status', violations) : {};
  if (spec === undefined || status === undefined) return undefined;
  return { kind: 'GRPCRoute', meta, spec, status };
}

function readPart(
  fields: NamedFields,
  name: string,
  violations: Violations,
): Readonly<Record<string, unknown>> | undefined {
  const part = fields.get(name);
  return isRecord(part) ? part : violations.at(name).add('must be an object');
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return isObject(json);
}

function readGrant(
  meta: ObjectMeta,
  object: NamedFields,
  violations: Violations,
): ReferenceGrantObject | undefined {
  const fields = fieldsOf(object.get('spec'), violations);
  if (fields === undefined) return undefined;
  const most = LIMITS.elementsPerGrant;
  const from = readItems(fields, 'from', most, violations, (element, at) => {
    const namespace = readRequiredString(element, 'namespace', at);
    const subject = readSubject(element, at);
    return subject === undefined || namespace === undefined ? undefined : { ...subject, namespace };
  });
  const to = readItems(fields, 'to', most, violations, (element, at) => {
    const subject = readSubject(element, at);
    return subject && { ...subject, name: readText(element, 'name', at) };
  });
  return { kind: 'ReferenceGrant', meta, from, to };
}

function readSubject(
  fields: NamedFields,
  violations: Violations,
): { readonly group: string; readonly kind: string } | undefined {
  const kind = readRequiredString(fields, 'kind', violations);
  return kind === undefined
    ? undefined
    : { group: readBounded(fields, 'group', LIMITS.nameLength, violations), kind };
}
