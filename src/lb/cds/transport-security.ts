import type { Subchannel } from '../../grpc-js';
import { isInsecure } from '../../grpc-js/host-internals';
import type { ClusterResource } from '../../resources/cluster/cluster';
import type { Logger } from '../../util/logger';
import { diagnostics } from '../../xds-client/diagnostics';

/** Reports kept against repetition. Beyond, the oldest is forgotten: its cluster may be reported again. */
const MAX_REPORTS = 1000;

/** A cluster in use. */
export interface UsedCluster {
  /** The name under which it is watched. */
  readonly name: string;
  readonly resource: ClusterResource;
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
}

/**
 * Whether the credentials of the channel leave the security of connections to the control plane (gRFC A29). This
 * package has no such credentials, so those of the application decide.
 */
function usesXdsCredentials(): boolean {
  return false;
}

/** The clusters of a process that were reported because their TLS is not used. */
export class UnusedTlsReports {
  private readonly reported = new Set<string>();

  /**
   * Reports a cluster to the log and to the subscribers of `grpc-xds:tls-not-used`, once for each problem.
   *
   * @param problem The text in the errors of calls.
   */
  report({ name, nodeId }: UsedCluster, problem: string, logger: Logger): void {
    const key = JSON.stringify([nodeId, name, problem]);
    if (this.reported.has(key)) return;
    this.reported.add(key);
    const [oldest = key] = this.reported;
    if (this.reported.size > MAX_REPORTS) this.reported.delete(oldest);
    logger.error(
      () =>
        `xds: Cluster "${name}" (node "${nodeId}"): ${problem}: the credentials decide how connections are secured, ` +
        'the transport_socket of the cluster has no effect',
    );
    const { tlsNotUsed } = diagnostics;
    if (tlsNotUsed.hasSubscribers) tlsNotUsed.publish({ nodeId, cluster: name });
  }
}

/** Compares the credentials of one cluster's connections with the TLS in its config. */
export class TransportSecurity {
  /** Whether the credentials of the channel are insecure; `undefined` until the first subchannel. */
  private isInsecure: boolean | undefined;

  constructor(
    private readonly reports: UnusedTlsReports,
    private readonly logger: Logger,
  ) {}

  /** Reads the credentials of a subchannel. @returns Whether they were not known before. */
  observe(subchannel: Subchannel): boolean {
    if (this.isInsecure !== undefined) return false;
    this.isInsecure = isInsecure(subchannel);
    return true;
  }

  /**
   * Returns the resolution note of a cluster. If its TLS is known not to be used, the note starts with that, and the
   * cluster is reported. The note is part only of errors without a connection, not of drops, deadlines or the statuses
   * of servers.
   */
  completeNote(cluster: UsedCluster, resolutionNote: string): string {
    const problem = this.describe(cluster.resource);
    if (problem === undefined) return resolutionNote;
    this.reports.report(cluster, problem, this.logger);
    return resolutionNote === '' ? problem : `${problem}; ${resolutionNote}`;
  }

  private describe({ tls }: ClusterResource): string | undefined {
    if (tls === undefined || this.isInsecure === undefined || usesXdsCredentials()) {
      return undefined;
    }
    const kind = this.isInsecure ? 'insecure' : 'not xDS credentials';
    return `the cluster configures TLS, the channel's credentials are ${kind}`;
  }
}
