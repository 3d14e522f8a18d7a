import { FixedKeysMap } from '../util/fixed-keys-map';
import { MAX_AGGREGATE_DEPTH } from './aggregate-clusters';
import {
  buildFromSource,
  clusterSource,
  type ClusterContext,
  type ClusterResult,
  type ClusterSource,
} from './build-cluster';
import type { ClusterAdmission } from './cluster-admission';
import type { DnsTarget } from './observations';

/**
 * The walk over the clusters of a target, breadth first. It goes no deeper than gRFC A37 allows an aggregate to be
 * nested and no further than the admission allows, so that nothing is watched only to be rejected.
 */
export class ClusterWalk {
  /** Every cluster, and where the walk went from it. */
  readonly sources = new Map<string, ClusterSource>();
  readonly users = {
    endpoints: new Map<string, string[]>(),
    dns: new Map<string, string[]>(),
  };
  readonly dns = new Map<string, DnsTarget>();
  private readonly built = new Map<string, ClusterResult>();
  private readonly context: ClusterContext;

  constructor(
    context: Omit<ClusterContext, 'bounds'>,
    private readonly admission: ClusterAdmission,
  ) {
    this.context = { ...context, bounds: admission };
    const aggregates = new Map<string, ClusterSource>();
    let level: Iterable<string> = admission.roots();
    for (let depth = 0; depth < MAX_AGGREGATE_DEPTH; depth++) {
      level = this.visitLevel(level, aggregates);
    }
    // Afterwards: only now is it known which of them are not followed.
    for (const [name, source] of aggregates) this.build(name, source);
  }

  results(): FixedKeysMap<string, ClusterResult> {
    return FixedKeysMap.of(this.sources.keys(), this.built);
  }

  /** @returns the clusters of the next level. */
  private visitLevel(
    level: Iterable<string>,
    aggregates: Map<string, ClusterSource>,
  ): readonly string[] {
    const next: string[] = [];
    for (const name of level) {
      const source = clusterSource(this.context.observed.cluster(name));
      this.sources.set(name, source);
      if (source.kind === 'aggregate') {
        aggregates.set(name, source);
        for (const child of this.admission.admit(name, source.clusters)) next.push(child);
      } else {
        this.build(name, source);
      }
    }
    return next;
  }

  private build(name: string, source: ClusterSource): void {
    const result = buildFromSource(name, source, this.context);
    if (result !== undefined) this.built.set(name, result);
    if (source.kind === 'eds') {
      addTo(this.users.endpoints, source.name, name);
    } else if (source.kind === 'dns') {
      this.dns.set(source.key, source.target);
      addTo(this.users.dns, source.key, name);
    }
  }
}

function addTo(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
