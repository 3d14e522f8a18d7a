import type { ClusterObjects } from '../cluster-objects';
import { clusterName, DEFAULT_CLUSTER_DOMAIN, type ServiceAddress } from '../names';
import type { GrpcRouteObject, ServiceObject, ServicePort } from '../objects';
import { resolveBackend } from './backend-ref';
import { readRoute, type ParentRef, type RouteRule } from './read-route';
import { createRefusal, UNAVAILABLE, UNIMPLEMENTED, type RouteJson } from './refusal-routes';
import { comparePrecedence, type RouteMatchJson, type RuleMatch } from './route-match';

export { REFUSAL_FILTER, type RouteJson } from './refusal-routes';

/** Where the calls of a service go by the GRPCRoutes that have it as a parent. */
export interface ServiceRoutes {
  /** In the order in which they are matched; `undefined` if no route binds: all calls go to the cluster of the port. */
  readonly routes: readonly RouteJson[] | undefined;
  /** The ports whose clusters the routes name. */
  readonly backends: readonly ServiceAddress[];
}

const NO_ROUTES: ServiceRoutes = { routes: undefined, backends: [] };

/** The sum of the parts that a fraction of calls is counted in. */
const MILLION = 1_000_000;

/**
 * Returns the routes of the calls to a port of a service (GRPCRoute with a Service as parent, GEP-1294 and GEP-1016). Calls that no
 * rule matches fail with UNIMPLEMENTED, and those of a rule without a valid backend with UNAVAILABLE. The Listener must have the
 * {@link REFUSAL_FILTER} for that.
 *
 * @param callerNamespace The namespace of the caller: if it has routes of its own for the service, they apply instead of those of the
 * service's namespace. `undefined` if it is not known.
 */
export function routesOfService(
  objects: ClusterObjects,
  service: ServiceObject,
  port: ServicePort,
  callerNamespace: string | undefined,
  domain = DEFAULT_CLUSTER_DOMAIN,
): ServiceRoutes {
  const bound = boundRoutes(objects, service, port, callerNamespace);
  if (bound.length === 0) return NO_ROUTES;
  const { name, namespace } = service.meta;
  const table = new RouteTable(objects, { name, namespace, port: port.port }, domain);
  const entries = bound.flatMap((route) => entriesOf(route)).sort(compareEntries);
  const routes = entries.flatMap((entry) => table.routesOf(entry));
  return { routes: [...routes, table.noMatch()], backends: table.backends() };
}

/** Whether a parent of a route is a port of a service. */
export function isParent(parent: ParentRef, { meta }: ServiceObject, port: ServicePort): boolean {
  return (
    parent.name === meta.name &&
    parent.namespace === meta.namespace &&
    (parent.port ?? port.port) === port.port &&
    (parent.sectionName ?? port.name) === port.name
  );
}

/** Returns the routes that apply to calls: those of the caller's namespace if there are any, or those of the service's. */
function boundRoutes(
  objects: ClusterObjects,
  service: ServiceObject,
  port: ServicePort,
  callerNamespace: string | undefined,
): readonly GrpcRouteObject[] {
  const { name, namespace } = service.meta;
  const bound = objects.routesOf(`${namespace}/${name}`).filter((route) => {
    const { refusal, parents } = readRoute(route);
    return refusal === undefined && parents.some((parent) => isParent(parent, service, port));
  });
  const ofNamespace = (owner: string) => bound.filter(({ meta }) => meta.namespace === owner);
  const ofCaller = callerNamespace === undefined ? [] : ofNamespace(callerNamespace);
  return ofCaller.length > 0 ? ofCaller : ofNamespace(namespace);
}

/** One match of a rule. */
interface Entry {
  readonly route: GrpcRouteObject;
  readonly rule: RouteRule;
  readonly match: RuleMatch;
}

/** Returns the matches of a route in its order. Rules with problems are left out. */
function entriesOf(route: GrpcRouteObject): readonly Entry[] {
  return readRoute(route)
    .rules.filter(({ problems }) => problems.length === 0)
    .flatMap((rule) => rule.matches.map((match) => ({ route, rule, match })));
}

/**
 * Compares by the precedence of matches, then the older route, then its namespace and name. Sorting keeps the order of what is equal,
 * which is that of the rules in their route.
 */
function compareEntries(a: Entry, b: Entry): number {
  const [first, second] = [a.route.meta, b.route.meta];
  return (
    comparePrecedence(a.match, b.match) ||
    first.createdMs - second.createdMs ||
    compareTexts(`${first.namespace}/${first.name}`, `${second.namespace}/${second.name}`)
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Makes the routes of one port, and remembers the clusters that they name. */
class RouteTable {
  private readonly used = new Map<string, ServiceAddress>();
  /** The cluster of the port itself, which exists for certain. */
  private readonly ownCluster: string;

  constructor(
    private readonly objects: ClusterObjects,
    private readonly address: ServiceAddress,
    private readonly domain: string,
  ) {
    this.ownCluster = this.use(address);
  }

  /** Returns the routes of a match: one for calls that fail since their backend is invalid, and one for the others. */
  routesOf({ route, rule, match }: Entry): readonly RouteJson[] {
    const name = `${route.meta.namespace}/${route.meta.name}/${rule.name}`;
    const weights = new Map<string, number>();
    let failing = 0;
    for (const ref of rule.backends) {
      const backend = resolveBackend(this.objects, route, this.address, ref);
      if (ref.weight === 0) continue;
      if (backend.ok) {
        const cluster = this.use(backend.value);
        weights.set(cluster, (weights.get(cluster) ?? 0) + ref.weight);
      } else failing += ref.weight;
    }
    const refuse = (condition: RouteMatchJson) =>
      createRefusal(name, condition, UNAVAILABLE, this.ownCluster);
    if (weights.size === 0 || rule.unresolvedFilters.length > 0) return [refuse(match.json)];
    const forward = { name, match: match.json, route: forwardTo(weights) };
    if (failing === 0) return [forward];
    const total = [...weights.values()].reduce((sum, weight) => sum + weight, failing);
    return [refuse({ ...match.json, runtime_fraction: fractionOf(failing / total) }), forward];
  }

  /** Returns the route of calls that no rule matches. */
  noMatch(): RouteJson {
    return createRefusal('no-match', { prefix: '' }, UNIMPLEMENTED, this.ownCluster);
  }

  backends(): readonly ServiceAddress[] {
    return [...this.used.values()];
  }

  private use(address: ServiceAddress): string {
    const cluster = clusterName(address, this.domain);
    this.used.set(cluster, address);
    return cluster;
  }
}

function forwardTo(weights: ReadonlyMap<string, number>): object {
  const clusters = [...weights].map(([name, weight]) => ({ name, weight }));
  const [only] = clusters;
  return clusters.length === 1 && only !== undefined
    ? { cluster: only.name }
    : { weighted_clusters: { clusters } };
}

/** A share of calls, neither none nor all of them. */
function fractionOf(share: number): object {
  const numerator = Math.min(Math.max(Math.round(share * MILLION), 1), MILLION - 1);
  return { default_value: { numerator, denominator: 'MILLION' } };
}
