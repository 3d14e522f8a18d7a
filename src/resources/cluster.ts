import type { ServerConfig } from '../bootstrap/bootstrap';
import type { LbConfig } from './extension-points';
import type { HealthStatus } from './endpoints';
import type { OutlierDetectionConfig } from './outlier-detection';
import type { UpstreamTls } from './tls-context';

/** How the endpoints of a cluster are found (gRFC A37). */
export type ClusterDiscovery =
  /** `edsResourceName` is `service_name`, or the cluster's name when that is empty. */
  | { readonly kind: 'eds'; readonly edsResourceName: string; readonly serviceName: string }
  | { readonly kind: 'logical-dns'; readonly host: string; readonly port: number }
  /** Never empty. */
  | { readonly kind: 'aggregate'; readonly clusters: readonly string[] };

/** A validated Cluster. */
export interface ClusterResource {
  readonly name: string;
  readonly discovery: ClusterDiscovery;
  /** The policy for one priority. Of an aggregate cluster it is validated and not used (gRFC A75). */
  readonly lbConfig: LbConfig;
  /** Where load is reported (gRFC A27): the server the cluster came from, or nowhere. */
  readonly lrsServer: ServerConfig | undefined;
  /** ORCA metrics to report, as given (gRFC A85). */
  readonly lrsReportEndpointMetrics: readonly string[];
  /** Concurrent calls allowed (gRFC A32); default 1024. */
  readonly maxRequests: number;
  /** gRFC A50; `undefined` when not configured. */
  readonly outlierDetection: OutlierDetectionConfig | undefined;
  /** Health states a session may stick to (gRFC A55); default UNKNOWN and HEALTHY. */
  readonly overrideHostStatuses: ReadonlySet<HealthStatus>;
  /** Milliseconds a connection is kept for sessions after the last call of any (gRFC A75); default one hour. */
  readonly connectionIdleTimeoutMs: number;
  /** The TLS that the control plane asks for (gRFC A29); `undefined` if it asks for none. */
  readonly tls: UpstreamTls | undefined;
}
