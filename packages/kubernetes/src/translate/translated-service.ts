import { cutText } from '../../../../src/util/text';
import type { ClusterObjects, ObjectKey } from '../cluster-objects';
import { keyOf } from '../object-key';
import { clusterName, listenerNames, type ServiceAddress } from '../names';
import type { ServiceObject, ServicePort } from '../objects';
import { routesOfService, type RouteJson } from '../routes/service-routes';
import { planAssignment } from './assignment';
import { planCluster } from './cluster';
import { listNames, mergeEndpoints, type NamedEndpoint } from './merged-endpoints';
import type { ResourcePlan } from './plan';
import { planListener, planRoutes } from './routing';
import { readPolicy, type PolicyProblem, type ServicePolicy } from './service-policy';

/**
 * The other services that the routes of a service send calls to, each with the namespaces of the callers: that of the service, or that
 * of a route which is for the callers of its own namespace only.
 */
export type Backends = ReadonlyMap<ObjectKey, ReadonlySet<string>>;

/** What clients receive of a service. */
export interface TranslatedService {
  readonly plans: readonly ResourcePlan[];
  /** Undefined if there is no such Service. */
  readonly policy: ServicePolicy | undefined;
  /** What of the Service is not applied. */
  readonly problems: readonly PolicyProblem[];
  readonly backends: Backends;
}

/** A service to translate. */
export interface ServiceInput {
  readonly key: ObjectKey;
  /** Its own, and those of the callers that routes of other services send to it: who sees one of them must see its endpoints. */
  readonly namespaces: readonly string[];
  /** The domain of the cluster. */
  readonly domain: string;
  /** The policy that was in use before, which stays where annotations are wrong. Default: none was. */
  readonly policyBefore?: ServicePolicy | undefined;
}

/**
 * Translates a service: each TCP port becomes a Listener of each of its names, a RouteConfiguration, a Cluster and an endpoint
 * assignment, whatever its `appProtocol`.
 */
export function translateService(
  objects: ClusterObjects,
  { key, namespaces, domain, policyBefore }: ServiceInput,
): TranslatedService {
  const backends = new Map<ObjectKey, Set<string>>();
  const service = objects.services.get(key);
  if (service === undefined) return { plans: [], policy: undefined, problems: [], backends };
  const { policy, problems } = readPolicy(service.meta.annotations, policyBefore);
  const found = [...problems];
  if (service.ports.length === 0) found.push({ annotation: undefined, message: NO_PORTS });
  const plans = service.ports.flatMap((port) => {
    if (port.protocol !== 'TCP') return [];
    const { name, namespace } = service.meta;
    const address = { name, namespace, port: port.port };
    const context = { objects, key, service, port, policy, namespaces, domain, address };
    const routing = listRoutes(context);
    for (const [backend, caller] of routing.backends) {
      backends.set(backend, (backends.get(backend) ?? new Set()).add(caller));
    }
    return planPort(context, routing.routes, found);
  });
  backends.delete(key);
  return { plans, policy, problems: found, backends };
}

/** An ExternalName, and a headless Service, may have none. */
const NO_PORTS = 'has no ports, and so no names that clients can call: add one to spec.ports';

/** A port that is translated. */
interface PortContext {
  readonly objects: ClusterObjects;
  readonly key: ObjectKey;
  readonly service: ServiceObject;
  readonly port: ServicePort;
  readonly policy: ServicePolicy;
  readonly namespaces: readonly string[];
  readonly domain: string;
  readonly address: ServiceAddress;
}

/** The routes of the callers of each namespace that has some of its own, and under '' those of the others. */
type RoutesByCaller = ReadonlyMap<string, readonly RouteJson[] | undefined>;

function planPort(
  context: PortContext,
  given: RoutesByCaller,
  problems: PolicyProblem[],
): readonly ResourcePlan[] {
  const { service, policy, address, namespaces, domain } = context;
  const { namespace } = address;
  const name = clusterName(address, domain);
  const hasRoutes = [...given.values()].some((routes) => routes !== undefined);
  const listeners = listenerNames(address, domain).map((each) =>
    planListener({ name: each, namespace, routesName: name, hasRoutes }),
  );
  const hashHeader = policy.lb.kind === 'ring_hash' ? policy.lb.header : undefined;
  const routes = planRoutes({ name, namespace, hashHeader, routes: given });
  const dnsName = findDnsName(context, problems);
  const cluster = planCluster({ name, namespaces, policy, dnsName });
  if (dnsName !== undefined) return [...listeners, routes, cluster];
  const { objects, key, port } = context;
  const assignment = planAssignment({
    name,
    namespaces,
    endpoints: mergeEndpoints(service, port, objects.slicesOf(key), objects.nodes),
    preferences: {
      distribution: service.trafficDistribution,
      isNodeLocal: service.isNodeLocal,
      maxZoneOverloadPercent: policy.maxZoneOverloadPercent,
      isUndivided: policy.lb.kind === 'ring_hash',
    },
  });
  return [...listeners, routes, cluster, assignment];
}

function listRoutes({ objects, key, service, port, domain }: PortContext): {
  readonly routes: RoutesByCaller;
  /** The keys of the services whose clusters they name, each with the namespace of the callers. */
  readonly backends: readonly (readonly [ObjectKey, string])[];
} {
  const owners = new Set(objects.routesOf(key).map(({ meta }) => meta.namespace));
  owners.delete(service.meta.namespace);
  const routes = new Map<string, readonly RouteJson[] | undefined>();
  const backends: [ObjectKey, string][] = [];
  for (const owner of ['', ...[...owners].sort()]) {
    const caller = owner === '' ? undefined : owner;
    const found = routesOfService(objects, service, port, caller, domain);
    routes.set(owner, found.routes);
    const namespace = caller ?? service.meta.namespace;
    for (const backend of found.backends) backends.push([keyOf(backend), namespace]);
  }
  return { routes, backends };
}

/** Characters of the names that a problem lists. */
const MAX_HOSTS_LENGTH = 256;

/** Returns the name that the endpoints of a port are looked up by: that of an external service, or of a slice with names. */
function findDnsName(
  { objects, key, service, port }: PortContext,
  problems: PolicyProblem[],
): NamedEndpoint | undefined {
  if (service.type === 'ExternalName') return { host: service.externalName, port: port.port };
  const slices = objects.slicesOf(key);
  const names = listNames(service, port, slices);
  const [first, ...others] = names;
  if (first === undefined) return undefined;
  const hasAddresses = slices.some(
    ({ addressType, endpoints }) => addressType !== 'FQDN' && endpoints.length > 0,
  );
  const ignored = hasAddresses ? names : others;
  if (ignored.length > 0) {
    const used = hasAddresses ? 'IP addresses are used' : `${first.host} is used`;
    const hosts = cutText(ignored.map(({ host }) => host).join(', '), MAX_HOSTS_LENGTH);
    const message = `port ${port.port}: clients look up one name only: of its EndpointSlices ${used}, not ${hosts}`;
    problems.push({ annotation: undefined, message });
  }
  return hasAddresses ? undefined : first;
}
