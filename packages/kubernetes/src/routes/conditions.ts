import type { ClusterObjects } from '../cluster-objects';
import type { GrpcRouteObject } from '../objects';
import { resolveBackend, type BackendProblem } from './backend-ref';
import { joinTexts, readRoute, type ParentRef, type ReadRoute } from './read-route';
import { isParent } from './service-routes';

/** A condition of a route, before it is compared with the one that its status has. */
export interface RouteCondition {
  readonly type: 'Accepted' | 'ResolvedRefs' | 'PartiallyInvalid';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** What the status of a route says of one of its parents. */
export interface ParentConditions {
  readonly parentRef: Readonly<Record<string, unknown>>;
  readonly conditions: readonly RouteCondition[];
}

/** Returns the conditions of a route for each of its parents that is a Service; empty for a route of Gateways alone. */
export function conditionsOf(
  objects: ClusterObjects,
  route: GrpcRouteObject,
): readonly ParentConditions[] {
  const read = readRoute(route);
  return read.parents.map((parent) => {
    const accepted = acceptedBy(objects, parent, read);
    const conditions = [accepted, resolvedFor(objects, parent, route)];
    const partly = accepted.status === 'True' ? partlyInvalid(read) : undefined;
    return {
      parentRef: parent.json,
      conditions: partly === undefined ? conditions : [...conditions, partly],
    };
  });
}

function acceptedBy(
  objects: ClusterObjects,
  parent: ParentRef,
  { refusal, unused }: ReadRoute,
): RouteCondition {
  const type = 'Accepted';
  const missing = findMissingParent(objects, parent);
  if (missing !== undefined) {
    return { type, status: 'False', reason: 'NoMatchingParent', message: missing };
  }
  if (refusal !== undefined) return { type, status: 'False', ...refusal };
  const message = unused.length === 0 ? '' : `Without effect: ${joinTexts(unused)}`;
  return { type, status: 'True', reason: 'Accepted', message };
}

function findMissingParent(objects: ClusterObjects, parent: ParentRef): string | undefined {
  const { namespace, name, port, sectionName } = parent;
  const text = `Service "${namespace}/${name}"`;
  const service = objects.services.get(`${namespace}/${name}`);
  if (service === undefined) return `${text} was not found`;
  if (service.ports.some((each) => isParent(parent, service, each))) return undefined;
  const wanted = [
    ...(port === undefined ? [] : [String(port)]),
    ...(sectionName === undefined ? [] : [`"${sectionName}"`]),
  ];
  return `${text} has no port ${wanted.join(' named ')}`;
}

function resolvedFor(
  objects: ClusterObjects,
  parent: ParentRef,
  route: GrpcRouteObject,
): RouteCondition {
  const type = 'ResolvedRefs';
  const problems = readRoute(route).rules.flatMap(({ backends, unresolvedFilters }) => [
    ...unresolvedFilters.map((message): BackendProblem => ({ reason: 'InvalidKind', message })),
    ...backends.flatMap((ref) => {
      const backend = resolveBackend(objects, route, parent, ref);
      return backend.ok ? [] : [backend.error];
    }),
  ]);
  const [first] = problems;
  if (first === undefined) return { type, status: 'True', reason: type, message: '' };
  const message = joinTexts([...new Set(problems.map((problem) => problem.message))]);
  return { type, status: 'False', reason: first.reason, message };
}

/** Returns the condition of a route of which some rules have no effect, whose text begins as the API demands. */
function partlyInvalid({ rules }: ReadRoute): RouteCondition | undefined {
  const invalid = rules.filter(({ problems }) => problems.length > 0);
  if (invalid.length === 0) return undefined;
  const texts = invalid.map(({ name, problems }) => `${name} (${joinTexts(problems)})`);
  const message = `Dropped Rule ${joinTexts(texts)}`;
  return { type: 'PartiallyInvalid', status: 'True', reason: 'UnsupportedValue', message };
}
