/** What has been reported since the last build. */
export interface Changes {
  /** Something that is not about single clusters: the listener, routes, or which clusters are subscribed to. */
  readonly beyondClusters: boolean;
  readonly clusters: ReadonlySet<string>;
  /** EDS resources by name. */
  readonly endpoints: ReadonlySet<string>;
  /** By `dnsTargetKey`. */
  readonly dns: ReadonlySet<string>;
}

/** Collects what is reported between two builds. */
export class ChangeLog {
  private beyondClusters = false;
  private clusters = new Set<string>();
  private endpoints = new Set<string>();
  private dns = new Set<string>();

  /** Notes a change that is not about single clusters. */
  addOther(): void {
    this.beyondClusters = true;
  }

  /** Notes a report about a cluster, an EDS resource or a DNS name. */
  add(kind: 'clusters' | 'endpoints' | 'dns', name: string): void {
    this[kind].add(name);
  }

  /** What was noted since this was called last. */
  take(): Changes {
    const { beyondClusters, clusters, endpoints, dns } = this;
    this.beyondClusters = false;
    this.clusters = new Set();
    this.endpoints = new Set();
    this.dns = new Set();
    return { beyondClusters, clusters, endpoints, dns };
  }
}
