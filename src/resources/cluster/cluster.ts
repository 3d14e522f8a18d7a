import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { HealthStatus, SocketAddress } from '../endpoints/endpoints';
import type { LbConfig } from '../extension-points';
import type { UpstreamTls } from '../tls/tls';
import type { JsonObject } from '../shared/extension-parser';

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
  /** Whether endpoints that have a proxy are connected to through it (gRFC A86). Default: they are not. */
  readonly httpConnect?: boolean;
  /** Absent if there is none (gRFC A83). */
  readonly metadata?: ResourceMetadata | undefined;
}

/** A value of metadata, by its type (gRFC A83). */
export type MetadataValue =
  /** For whom identity tokens are issued; never empty. */
  | { readonly kind: 'audience'; readonly url: string }
  /** gRFC A86. */
  | { readonly kind: 'address'; readonly address: SocketAddress }
  | { readonly kind: 'json'; readonly json: JsonObject };

/** The metadata of a resource, by key, such as the name of an HTTP filter. */
export type ResourceMetadata = ReadonlyMap<string, MetadataValue>;

/** Outlier detection as configured (gRFC A50), defaults filled in. Times in milliseconds. */
export interface OutlierDetectionConfig {
  readonly intervalMs: number;
  readonly baseEjectionTimeMs: number;
  readonly maxEjectionTimeMs: number;
  /** 0 to 100. */
  readonly maxEjectionPercent: number;
  readonly successRate:
    | {
        /** Thousandths of a standard deviation. */
        readonly stdevFactor: number;
        readonly enforcementPercentage: number;
        readonly minimumHosts: number;
        readonly requestVolume: number;
      }
    | undefined;
  readonly failurePercentage:
    | {
        readonly threshold: number;
        readonly enforcementPercentage: number;
        readonly minimumHosts: number;
        readonly requestVolume: number;
      }
    | undefined;
}
