/**
 * The features that the environment variables shared by gRPC implementations enable or disable. A feature is on by
 * default if a released implementation has it on by default, and off if none has, or only a draft describes it.
 */
export interface FeatureFlags {
  /** gRFCs A33, A39, `GRPC_XDS_EXPERIMENTAL_FAULT_INJECTION`: the fault filter. Default: on. */
  readonly faultInjection: boolean;
  /** gRFC A42, `GRPC_XDS_EXPERIMENTAL_ENABLE_RING_HASH`: ring_hash and hash policies. Default: on. */
  readonly ringHash: boolean;
  /** gRFC A44, `GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY`: retry policies of routes. Default: on. */
  readonly retry: boolean;
  /**
   * gRFC A47, `GRPC_EXPERIMENTAL_XDS_FEDERATION`: the members `authorities` and
   * `client_default_listener_resource_name_template` of the bootstrap, and `xdstp:` names. Without it, such a name is a
   * plain one, of a resource of the top-level servers. Default: on.
   */
  readonly federation: boolean;
  /** gRFC A48, `GRPC_EXPERIMENTAL_ENABLE_LEAST_REQUEST`: the least_request policy. Default: on. */
  readonly leastRequest: boolean;
  /** gRFC A50, `GRPC_EXPERIMENTAL_ENABLE_OUTLIER_DETECTION`: outlier detection. Default: on. */
  readonly outlierDetection: boolean;
  /** gRFC A52, `GRPC_EXPERIMENTAL_XDS_CUSTOM_LB_CONFIG`: `Cluster.load_balancing_policy`. Default: on. */
  readonly customLbConfig: boolean;
  /** gRFCs A55, A60, `GRPC_EXPERIMENTAL_XDS_ENABLE_OVERRIDE_HOST`: session affinity. Default: on. */
  readonly overrideHost: boolean;
  /** gRFC A58, `GRPC_EXPERIMENTAL_XDS_WRR_LB`: the weighted_round_robin policy. Default: on. */
  readonly weightedRoundRobin: boolean;
  /** gRFC A61, `GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS`: several addresses per endpoint. Default: on. */
  readonly dualstackEndpoints: boolean;
  /** gRFC A62, `GRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG`: pick_first through xDS. Default: on. */
  readonly pickFirst: boolean;
  /** gRFC A71, `GRPC_EXPERIMENTAL_XDS_FALLBACK`: the servers after the first. Default: on. */
  readonly fallback: boolean;
  /** gRFC A76, `GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY`: hashing by a header. Default: on. */
  readonly requestHashKey: boolean;
  /**
   * gRFC A76, `GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT`: the hash keys of endpoints are ignored.
   * Default: off.
   */
  readonly endpointHashKeyBackwardCompat: boolean;
  /**
   * gRFC A81, `GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE`: `auto_host_rewrite` of routes of trusted servers.
   * Default: off.
   */
  readonly authorityRewrite: boolean;
  /** gRFC A82, `GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS`: the system's certificates. Default: on. */
  readonly systemRootCerts: boolean;
  /**
   * gRFC A83, `GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER`: the GCP authentication filter. Default: on.
   */
  readonly gcpAuthentication: boolean;
  /** gRFC A85, `GRPC_EXPERIMENTAL_XDS_ORCA_LRS_PROPAGATION`: which backend metrics LRS has. Default: on. */
  readonly lrsPropagation: boolean;
  /** gRFC A86, `GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT`: connections through HTTP proxies. Default: on. */
  readonly httpConnect: boolean;
  /** gRFC A87, `GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE`: SPIFFE trust bundle maps. Default: on. */
  readonly spiffeBundles: boolean;
  /** gRFC A88, `GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING`: errors in resources. Default: off. */
  readonly dataErrorHandling: boolean;
  /**
   * gRFCs A92, A102, `GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT`: the ext_authz filter of clients, and
   * `allowed_grpc_services` of the bootstrap. Default: off.
   */
  readonly extAuthz: boolean;
  /**
   * gRFCs A92, A102, `GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_SERVER`: the ext_authz filter of servers, and
   * `allowed_grpc_services` of the bootstrap. Default: off.
   */
  readonly extAuthzOnServers: boolean;
  /**
   * gRFC A95, `GRPC_EXPERIMENTAL_XDS_ENDPOINT_FALLBACK`: list collections of endpoints, and
   * `fallback_on_reachability_only` of an authority. Default: off.
   */
  readonly endpointFallback: boolean;
  /** gRFC A97, `GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS`: `call_creds` of a server. Default: on. */
  readonly bootstrapCallCreds: boolean;
  /** gRFC A101, `GRPC_EXPERIMENTAL_XDS_SNI`: server names chosen by the control plane. Default: on. */
  readonly sni: boolean;
  /** gRFC A103, `GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER`: the composite filter. Default: off. */
  readonly compositeFilter: boolean;
  /**
   * gRFC A111 (draft), `GRPC_EXPERIMENTAL_XDS_LITERAL_AUTHORITY_REWRITE`: `host_rewrite_literal` of routes of trusted
   * servers. Default: off.
   */
  readonly literalAuthorityRewrite: boolean;
  /**
   * gRFC A113, `GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING`: pick_first shuffles by weight, and weights of endpoints are
   * normalized for it and for ring_hash. Default: on.
   */
  readonly weightedShuffling: boolean;
  /** gRFC A114, `GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS`: utilization from named metrics. Default: off. */
  readonly wrrCustomMetrics: boolean;
  /**
   * gRFC A115, `GRPC_EXPERIMENTAL_ENABLE_PRIORITY_LB_CHILD_POLICY_CACHE`: children that left the configuration
   * are kept for 15 minutes. Default: off.
   */
  readonly priorityChildCache: boolean;
  /** `GRPC_XDS_NODE_ENVOY_FEATURES`: what Envoy does and no gRFC specifies. Default: off. */
  readonly envoyFeatures: boolean;
}

/** The variables that enable the ext_authz filter. */
export const EXT_AUTHZ_ON_CLIENT = 'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT';
export const EXT_AUTHZ_ON_SERVER = 'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_SERVER';

/** The variable that enables what Envoy does and no gRFC specifies. */
export const ENVOY_FEATURES = 'GRPC_XDS_NODE_ENVOY_FEATURES';

/** The environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the flags: `true` or `false` in any letter case, and the default for any other value. */
export function readFeatureFlags(env: Environment): FeatureFlags {
  const on = (variable: string): boolean => readFlag(env[variable]) ?? true;
  const off = (variable: string): boolean => readFlag(env[variable]) ?? false;
  return {
    faultInjection: on('GRPC_XDS_EXPERIMENTAL_FAULT_INJECTION'),
    ringHash: on('GRPC_XDS_EXPERIMENTAL_ENABLE_RING_HASH'),
    retry: on('GRPC_XDS_EXPERIMENTAL_ENABLE_RETRY'),
    federation: on('GRPC_EXPERIMENTAL_XDS_FEDERATION'),
    leastRequest: on('GRPC_EXPERIMENTAL_ENABLE_LEAST_REQUEST'),
    outlierDetection: on('GRPC_EXPERIMENTAL_ENABLE_OUTLIER_DETECTION'),
    customLbConfig: on('GRPC_EXPERIMENTAL_XDS_CUSTOM_LB_CONFIG'),
    overrideHost: on('GRPC_EXPERIMENTAL_XDS_ENABLE_OVERRIDE_HOST'),
    weightedRoundRobin: on('GRPC_EXPERIMENTAL_XDS_WRR_LB'),
    dualstackEndpoints: on('GRPC_EXPERIMENTAL_XDS_DUALSTACK_ENDPOINTS'),
    pickFirst: on('GRPC_EXPERIMENTAL_PICKFIRST_LB_CONFIG'),
    fallback: on('GRPC_EXPERIMENTAL_XDS_FALLBACK'),
    requestHashKey: on('GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY'),
    endpointHashKeyBackwardCompat: off('GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT'),
    authorityRewrite: off('GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE'),
    systemRootCerts: on('GRPC_EXPERIMENTAL_XDS_SYSTEM_ROOT_CERTS'),
    gcpAuthentication: on('GRPC_EXPERIMENTAL_XDS_GCP_AUTHENTICATION_FILTER'),
    lrsPropagation: on('GRPC_EXPERIMENTAL_XDS_ORCA_LRS_PROPAGATION'),
    httpConnect: on('GRPC_EXPERIMENTAL_XDS_HTTP_CONNECT'),
    spiffeBundles: on('GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE'),
    dataErrorHandling: off('GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING'),
    extAuthz: off(EXT_AUTHZ_ON_CLIENT),
    extAuthzOnServers: off(EXT_AUTHZ_ON_SERVER),
    endpointFallback: off('GRPC_EXPERIMENTAL_XDS_ENDPOINT_FALLBACK'),
    bootstrapCallCreds: on('GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS'),
    sni: on('GRPC_EXPERIMENTAL_XDS_SNI'),
    compositeFilter: off('GRPC_EXPERIMENTAL_XDS_COMPOSITE_FILTER'),
    literalAuthorityRewrite: off('GRPC_EXPERIMENTAL_XDS_LITERAL_AUTHORITY_REWRITE'),
    weightedShuffling: on('GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING'),
    wrrCustomMetrics: off('GRPC_EXPERIMENTAL_WRR_CUSTOM_METRICS'),
    priorityChildCache: off('GRPC_EXPERIMENTAL_ENABLE_PRIORITY_LB_CHILD_POLICY_CACHE'),
    envoyFeatures: off(ENVOY_FEATURES),
  };
}

/** Reads the flags of this process. For the composition root, which passes them on. */
export function currentFeatureFlags(): FeatureFlags {
  return readFeatureFlags(process.env);
}

function readFlag(text: string | undefined): boolean | undefined {
  const value = text?.trim().toLowerCase();
  if (value === 'true') return true;
  return value === 'false' ? false : undefined;
}

/** Returns the environment variables of this process. For what passes them on: a relay in the process, and what the process shares. */
export function processVariables(): Environment {
  return process.env;
}
