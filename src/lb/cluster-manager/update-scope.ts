import { changedClusters, type XdsConfig } from '../../dependency-manager/xds-config';
import type { LbUpdate, XdsLbContext } from '../lb-policy';
import { sameUpdate } from '../lb-update';
import { ChildrenByCluster } from './children-by-cluster';
import type { ClusterManagerConfig } from './config';

/** An update whose config is of the right class. */
export type ClusterManagerUpdate = LbUpdate & { readonly config: ClusterManagerConfig };

/**
 * Finds out which children an update concerns: with a thousand clusters, of which one has changed, the others
 * need not even be asked whether they are that one.
 */
export class UpdateScope {
  private last: ClusterManagerUpdate | undefined;
  private byCluster: ChildrenByCluster | undefined;

  /** The names of the children that need the update, in no particular order. Each update must be given once. */
  next(update: ClusterManagerUpdate): Iterable<string> {
    const { last, byCluster } = this;
    this.last = update;
    const changed = last && clustersChangedBetween(last, update);
    if (byCluster !== undefined && changed !== undefined) return byCluster.concernedBy(changed);
    const { config, xds } = update;
    this.byCluster = xds && new ChildrenByCluster(config.children, xds.config);
    return config.children.keys();
  }

  /**
   * The context for the children. It is another object for each update, but has at all times the newest
   * config: a child that hears of few updates must not keep an old config, and with it what has gone since.
   */
  createContext(): XdsLbContext | undefined {
    const { xds } = this.last ?? {};
    return xds && new LiveContext(xds, () => (this.last?.xds ?? xds).config);
  }
}

class LiveContext implements XdsLbContext {
  readonly clusters: XdsLbContext['clusters'];
  readonly loads: XdsLbContext['loads'];
  readonly nodeId: string;

  constructor(
    { clusters, loads, nodeId }: XdsLbContext,
    private readonly newest: () => XdsConfig,
  ) {
    this.clusters = clusters;
    this.loads = loads;
    this.nodeId = nodeId;
  }

  get config(): XdsConfig {
    return this.newest();
  }
}

/** @returns `undefined` if more has changed, or nothing can be said about it. */
function clustersChangedBetween(
  last: ClusterManagerUpdate,
  update: ClusterManagerUpdate,
): readonly string[] | undefined {
  if (last.xds === undefined || last.xds.clusters !== update.xds?.clusters) return undefined;
  if (!sameUpdate({ ...last, xds: update.xds }, update)) return undefined;
  const { config } = update.xds;
  const changed = changedClusters(last.xds.config, config);
  // An aggregate may consist of other clusters now.
  const isWide = changed?.some((name) => {
    const cluster = config.clusters.get(name);
    return cluster?.ok === true && cluster.value.children.kind === 'aggregate';
  });
  return isWide === true ? undefined : changed;
}
