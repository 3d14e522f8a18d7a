/** The prefix of the annotations of Services that are read. */
export const ANNOTATION_PREFIX = 'grpc-xds/';

/** The annotations of Services. */
export const annotations = {
  /** `round_robin` (default), `least_request` (gRFC A48) or `ring_hash` (gRFC A42). */
  lbPolicy: `${ANNOTATION_PREFIX}lb-policy`,
  /** Of `least_request`: how many endpoints are compared, 2 to 10. Default: 2. */
  choiceCount: `${ANNOTATION_PREFIX}least-request-choice-count`,
  /** Of `ring_hash`, which needs it: the header whose value decides on the endpoint. */
  hashHeader: `${ANNOTATION_PREFIX}ring-hash-header`,
  /** How many calls of one client may be in progress (gRFC A32). Default: 1,024. */
  maxRequests: `${ANNOTATION_PREFIX}max-requests`,
  /** An object of envoy.config.cluster.v3.OutlierDetection as JSON (gRFC A50). Default: none is ejected. */
  outlierDetection: `${ANNOTATION_PREFIX}outlier-detection`,
  /** See `findZoneShares`. Default: 20. */
  maxZoneOverload: `${ANNOTATION_PREFIX}max-zone-overload-percent`,
} as const;
