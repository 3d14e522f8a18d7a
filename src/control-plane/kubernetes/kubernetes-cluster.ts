import { loadApiAccess, type ApiAccessOptions } from './api/api-access';
import { HttpsApi } from './api/https-api';
import type { KubernetesApi } from './api/kubernetes-api';
import type { ClusterObjects } from './cluster-objects';
import { ClusterWatch, type NamespaceChoice } from './cluster-watch';
import { StoredObjects } from './stored-objects';
import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { ok, type Result } from '../../util/result';
import { TimeSlices } from '../../util/time-slices';

export interface KubernetesClusterOptions extends ApiAccessOptions {
  /** Default: all. */
  readonly namespaces?: NamespaceChoice;
  /** Whether the routes of Gateway API are read. Default: true. */
  readonly hasRoutes?: boolean;
  /** A file in which the objects are saved, for a start while the API server is away. Default: none. */
  readonly savedPath?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Loads `@kubernetes/client-node`. Default: from the dependencies of this package. */
  readonly load?: () => unknown;
}

/** A cluster that is watched. */
export interface KubernetesCluster {
  readonly api: KubernetesApi;
  /** What is known of it; closed until it is the whole. */
  readonly objects: ClusterObjects & Pick<StoredObjects, 'isOpen' | 'watch'>;
  readonly watch: Pick<ClusterWatch, 'isListed' | 'failingSinceMs' | 'read'>;
  /** Ends the watches and closes the connections. */
  close(): void;
}

/**
 * Finds the API server, and starts to list and watch its objects: nothing is waited for.
 *
 * @returns an error text if there is no usable configuration.
 */
export function openKubernetesCluster(
  options: KubernetesClusterOptions,
): Result<KubernetesCluster, string> {
  const access = loadApiAccess(options, options.load);
  if (!access.ok) return access;
  const { clock, namespaces = { kind: 'all' }, hasRoutes = true } = options;
  const timeSlices = new TimeSlices(clock);
  const api = new HttpsApi({ access: access.value, clock, timeSlices });
  const objects = new StoredObjects(clock);
  const watch = new ClusterWatch({
    ...{ ...options, namespaces, hasRoutes },
    ...{ api, store: objects, timeSlices },
  });
  watch.start();
  const close = () => {
    watch.stop();
    api.close();
  };
  return ok({ api, objects, watch, close });
}
