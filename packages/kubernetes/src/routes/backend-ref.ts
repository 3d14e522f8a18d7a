import {
  readInteger,
  readRequiredString,
  type NamedFields,
} from '../../../../src/util/json-fields';
import { err, ok, type Result } from '../../../../src/util/result';
import { quoteText } from '../../../../src/util/text';
import type { Violations } from '../../../../src/util/violations';
import type { ClusterObjects } from '../cluster-objects';
import type { ServiceAddress } from '../names';
import type { GrpcRouteObject, ServiceObject, ServicePort } from '../objects';
import { readText } from '../read-values';
import { readFilters } from './route-filters';
import type { RouteFindings } from './route-findings';

/** A reference of a rule to what serves its calls. */
export interface BackendRef {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: number | undefined;
  readonly weight: number;
  /** Filters of the backend that name objects of other kinds; see `RouteRule`. */
  readonly unresolvedFilters: readonly string[];
}

/** Why a reference cannot be used. */
export interface BackendProblem {
  readonly reason: 'InvalidKind' | 'RefNotPermitted' | 'BackendNotFound' | 'UnsupportedProtocol';
  readonly message: string;
}

const USED = new Set(['group', 'kind', 'namespace', 'name', 'port', 'weight', 'filters']);
const MAX_PORT = 65_535;
const MAX_WEIGHT = 1_000_000;

/** The API group of Gateway API. */
const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** Protocols in which no gRPC is spoken (KEP-3726). */
const OTHER_PROTOCOLS: ReadonlySet<string> = new Set(['kubernetes.io/ws', 'kubernetes.io/wss']);

/**
 * Reads an element of `backendRefs`; undefined after adding a violation.
 * @param namespace That of the route.
 */
export function readBackend(
  fields: NamedFields,
  namespace: string,
  findings: RouteFindings,
  violations: Violations,
): BackendRef | undefined {
  findings.noteUnused(fields, USED, 'spec.rules[].backendRefs[]');
  const name = readRequiredString(fields, 'name', violations);
  const port = readPort(fields, violations);
  const weight = fields.has('weight')
    ? readInteger(fields.get('weight'), { min: 0, max: MAX_WEIGHT }, violations.at('weight'))
    : 1;
  const unresolvedFilters = readFilters(fields, findings, violations);
  if (name === undefined || weight === undefined) return undefined;
  return {
    group: readText(fields, 'group', violations) ?? '',
    kind: readText(fields, 'kind', violations) ?? 'Service',
    namespace: readText(fields, 'namespace', violations) ?? namespace,
    name,
    port,
    weight,
    unresolvedFilters,
  };
}

/** Reads the number of a port; undefined if it is absent, and after adding a violation. */
export function readPort(fields: NamedFields, violations: Violations): number | undefined {
  const bounds = { min: 1, max: MAX_PORT };
  return fields.has('port')
    ? readInteger(fields.get('port'), bounds, violations.at('port'))
    : undefined;
}

/**
 * Returns the port that a reference of a route names, or why it cannot be used. Whether it is permitted is found before whether it
 * exists, which callers of another namespace are not to learn.
 * @param parent The parent by which the route is used. A route may always name it as a backend: calls go where they were addressed to.
 */
export function resolveBackend(
  objects: ClusterObjects,
  route: GrpcRouteObject,
  parent: Pick<ServiceAddress, 'name' | 'namespace'>,
  ref: BackendRef,
): Result<ServiceAddress, BackendProblem> {
  const [filter] = ref.unresolvedFilters;
  if (filter !== undefined) return refuse('InvalidKind', filter);
  if (ref.group !== '' || ref.kind !== 'Service') {
    const kind = `${quoteText(ref.kind)} of the group ${quoteText(ref.group)}`;
    return refuse('InvalidKind', `${kind} is no backend: it must be a Service`);
  }
  const { name, namespace, port } = ref;
  const text = `Service "${namespace}/${name}"`;
  const isParent = name === parent.name && namespace === parent.namespace;
  if (!isParent && !isPermitted(objects, route, ref)) {
    return refuse(
      'RefNotPermitted',
      `${text}: no ReferenceGrant of its namespace permits the reference`,
    );
  }
  const service = objects.services.get(`${namespace}/${name}`);
  if (service === undefined) return refuse('BackendNotFound', `${text} was not found`);
  if (port === undefined) return refuse('BackendNotFound', `${text}: the reference has no port`);
  return findPort(service, port, text);
}

function findPort(
  { type, meta: { name, namespace }, ports }: ServiceObject,
  port: number,
  text: string,
): Result<ServiceAddress, BackendProblem> {
  if (type === 'ExternalName') {
    return refuse('InvalidKind', `${text} has the type ExternalName (see CVE-2021-25740)`);
  }
  const numbered = ports.filter((each) => each.port === port);
  if (numbered.length === 0) return refuse('BackendNotFound', `${text} has no port ${port}`);
  if (numbered.some(canSpeakGrpc)) return ok({ name, namespace, port });
  const [{ protocol, appProtocol } = { protocol: '', appProtocol: '' }] = numbered;
  return refuse('UnsupportedProtocol', `${text}: port ${port} is for ${appProtocol ?? protocol}`);
}

function canSpeakGrpc({ protocol, appProtocol = '' }: ServicePort): boolean {
  return protocol === 'TCP' && !OTHER_PROTOCOLS.has(appProtocol);
}

/** Whether a route may name a Service: of its own namespace, or by a grant of the other one. */
function isPermitted(objects: ClusterObjects, route: GrpcRouteObject, ref: BackendRef): boolean {
  const { namespace } = route.meta;
  if (ref.namespace === namespace) return true;
  return objects
    .grantsIn(ref.namespace)
    .some(
      ({ from, to }) =>
        from.some(
          (source) =>
            source.group === GATEWAY_GROUP &&
            source.kind === route.kind &&
            source.namespace === namespace,
        ) &&
        to.some(
          (target) =>
            target.group === ref.group &&
            target.kind === ref.kind &&
            (target.name === undefined || target.name === '' || target.name === ref.name),
        ),
    );
}

function refuse(reason: BackendProblem['reason'], message: string): Result<never, BackendProblem> {
  return err({ reason, message });
}
