import type { Clock } from '../../../../src/util/clock';
import { createHandle, type Handle } from '../../../../src/util/handle';
import type { Logger } from '../../../../src/util/logger';
import type { Random } from '../../../../src/util/random';
import { numberAt, valueAt } from '../../../../src/util/value-at';
import type { KubernetesApi } from '../api/kubernetes-api';
import type { ClusterObjects, ObjectKey } from '../cluster-objects';
import type { GrpcRouteObject } from '../objects';
import { conditionsOf } from '../routes/conditions';
import { mergeParents } from './route-status';
import { WriteQueue, type WriteOutcome } from './write-queue';

/** `status.parents[].controllerName` of the entries of this control plane. */
export const DEFAULT_CONTROLLER_NAME = 'grpc-xds/control-plane';

export interface RouteStatusWriterOptions {
  readonly api: Pick<KubernetesApi, 'call'>;
  readonly objects: ClusterObjects;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now' | 'setTimer'>;
  readonly random: Random;
  readonly logger: Logger;
  /** As the API has it: a domain, `/` and a path. Control planes with different namespaces in view must have different ones. */
  readonly controllerName: string;
}

/**
 * Writes the conditions of GRPCRoutes whose parents are Services to their status, where they differ from what is there. All replicas
 * find the same conditions: the first to write is seen by the others. The entries of other controllers stay as they are: a route that
 * another client has changed in between is read again.
 */
export class RouteStatusWriter {
  private readonly queue: WriteQueue;

  constructor(private readonly options: RouteStatusWriterOptions) {
    const { clock, random, logger } = options;
    this.queue = new WriteQueue({
      clock,
      random,
      logger,
      subject: 'writing the status of GRPCRoutes',
      rule: 'the verb "patch" for "grpcroutes/status" of "gateway.networking.k8s.io"',
      write: (key, onEnd) => this.write(key, onEnd),
    });
  }

  /** Compares the status of routes that have changed, are gone, or refer to something that has changed. */
  onChanged(routes: Iterable<ObjectKey>): void {
    for (const key of routes) {
      const route = this.options.objects.routes.get(key);
      if (route === undefined) this.queue.remove(key);
      else if (this.merge(route, route.status) !== undefined) this.queue.put(key);
    }
  }

  /** Cancels what is not written yet. Idempotent. */
  close(): void {
    this.queue.close();
  }

  private merge(route: GrpcRouteObject, status: unknown): readonly unknown[] | undefined {
    const { objects, controllerName, clock } = this.options;
    const { generation } = route.meta;
    const context = { controllerName, generation, nowMs: clock.now() };
    return mergeParents(status, conditionsOf(objects, route), context);
  }

  /** Reads the route as it is now, and writes its status unless another replica has. */
  private write(key: ObjectKey, onEnd: (outcome: WriteOutcome) => void): Handle {
    const path = pathOf(key);
    const { api } = this.options;
    let current = api.call({ path }, (answer) => {
      if (!answer.ok) return onEnd(answer.error.status === NOT_FOUND ? 'unneeded' : answer.error);
      const body = this.patchOf(key, answer.value.body);
      if (body === undefined) return onEnd('unneeded');
      const request = { method: 'PATCH', path: `${path}/status`, body } as const;
      current = api.call({ ...request, contentType: MERGE_PATCH }, (written) =>
        onEnd(written.ok ? 'written' : written.error),
      );
    });
    return createHandle(() => current.release());
  }

  /**
   * Returns the patch of a route; `undefined` if there is nothing to write: also if its specification is another one than that whose
   * conditions are known, which the watch is about to bring. The version has the API server refuse the patch if the route has changed.
   */
  private patchOf(key: ObjectKey, json: unknown): unknown {
    const route = this.options.objects.routes.get(key);
    const isCurrent = numberAt(json, 'metadata', 'generation') === route?.meta.generation;
    if (route === undefined || !isCurrent) return undefined;
    const parents = this.merge(route, valueAt(json, 'status'));
    const resourceVersion = valueAt(json, 'metadata', 'resourceVersion');
    return parents && { metadata: { resourceVersion }, status: { parents } };
  }
}

const NOT_FOUND = 404;
const MERGE_PATCH = 'application/merge-patch+json';

function pathOf(key: ObjectKey): string {
  const [namespace = '', name = ''] = key.split('/').map(encodeURIComponent);
  return `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/grpcroutes/${name}`;
}
