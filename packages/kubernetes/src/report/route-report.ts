import type { ClusterObjects } from '../cluster-objects';
import type { GrpcRouteObject } from '../objects';
import { conditionsOf } from '../routes/conditions';
import { readRoute } from '../routes/read-route';
import { reportText, type KubernetesRouteReport } from './kubernetes-report';

/** Reports a GRPCRoute with the conditions that its status has, or gets when it is written. */
export function reportRoute(
  objects: ClusterObjects,
  route: GrpcRouteObject,
): KubernetesRouteReport {
  const { namespace, name } = route.meta;
  const { parents } = readRoute(route);
  // One for each parent, in the same order.
  const conditions = conditionsOf(objects, route).map((each) => each.conditions);
  return {
    namespace,
    name,
    parents: parents.map((parent, i) => ({
      service: reportText(`${parent.namespace}/${parent.name}`),
      ...(parent.port !== undefined && { port: parent.port }),
      ...(parent.sectionName !== undefined && { sectionName: reportText(parent.sectionName) }),
      conditions: (conditions[i] ?? []).map(({ type, status, reason, message }) => ({
        type,
        status,
        reason,
        message: reportText(message),
      })),
    })),
  };
}
