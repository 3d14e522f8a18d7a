import type { ClusterStore, ClusterWatcher } from '../dependency-manager/xds-config';
import type { ClusterResource } from '../resources/cluster/cluster';
import { keepProcessAlive, type Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import { err, type Result } from '../util/result';

/** What the calls of a channel use of its clusters. */
export type CallClusters = Pick<ClusterStore, 'resource' | 'describeWait' | 'watchCluster'>;

/** The wait of one call for a cluster. */
export interface ClusterWait extends Handle {
  /** The resource, or why there is none. Never settled after the release. */
  readonly resource: Promise<Result<ClusterResource, string>>;
  /** Returns what the cluster waits for, as a sentence; `undefined` if it does not wait any more. */
  describe(): string | undefined;
}

/** Watchers of calls cause nothing in the policies. One for all: the tasks of different ones are nested. */
const AT_ONCE: ClusterWatcher['batch'] = { run: (task) => task() };

/** Returns the resource of a cluster, or why there is none; `undefined` while it is awaited. */
export function findCluster(
  clusters: CallClusters,
  name: string,
): Result<ClusterResource, string> | undefined {
  const found = clusters.resource(name);
  if (found !== undefined) return found;
  return clusters.describeWait(name) === undefined ? err('not part of the xDS config') : undefined;
}

/**
 * The calls of one channel that wait inside of an HTTP filter for the resource of their cluster, which is late in a config
 * that is in use without it (docs/decisions/atomic-config.md).
 */
export class ClusterWaits {
  private readonly waits = new Map<Handle, (reason: string) => void>();
  /** Keeps the process alive while calls wait, as the queues of grpc-js do and its filters do not. */
  private processHandle: Handle | undefined;

  constructor(private readonly clock: Clock) {}

  /** Starts a wait, until the cluster is known or the handle is released. The call has a reference to the cluster. */
  wait(clusters: CallClusters, name: string): ClusterWait {
    let settle: (result: Result<ClusterResource, string>) => void = () => {};
    const resource = new Promise<Result<ClusterResource, string>>((resolve) => {
      settle = resolve;
    });
    const end = (result: Result<ClusterResource, string>) => {
      handle.release();
      settle(result);
    };
    const onClusterChanged = () => {
      const found = findCluster(clusters, name);
      if (found !== undefined) end(found);
    };
    const watch = clusters.watchCluster(name, { batch: AT_ONCE, onClusterChanged });
    const handle = createHandle(() => {
      watch.release();
      this.waits.delete(handle);
      if (this.waits.size === 0) this.releaseProcess();
    });
    this.waits.set(handle, (reason) => end(err(reason)));
    this.processHandle ??= keepProcessAlive(this.clock);
    return {
      resource,
      describe: () => clusters.describeWait(name),
      release: () => handle.release(),
    };
  }

  /** Ends every wait with an error. */
  failAll(reason: string): void {
    for (const fail of [...this.waits.values()]) fail(reason);
  }

  private releaseProcess(): void {
    this.processHandle?.release();
    this.processHandle = undefined;
  }
}
