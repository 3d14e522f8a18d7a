import type { JsonValue } from '../util/json-fields';

/** A credential named in the bootstrap: its type and that type's own JSON. */
export interface CredentialConfig {
  readonly type: string;
  /** The `config` member as parsed JSON; `undefined` when absent. */
  readonly config: unknown;
}

/** The credentials of a service (gRFC A102). */
export interface ServiceCredentials {
  readonly channelCreds: CredentialConfig;
  readonly callCreds: readonly CredentialConfig[];
}

/** Requests to a server that does not speak gRPC. */
export interface FetchConfig {
  /** Milliseconds between two requests for the same type (`refresh_delay`). Default: 10 s. Not for files. */
  readonly refreshDelayMs: number;
  /** Timeout of a request in milliseconds (`request_timeout`). Default: 10 s. Not for files. */
  readonly requestTimeoutMs: number;
  /**
   * Whether unknown fields, enum values and types in files are ignored rather than errors (`ignore_unknown_fields`).
   * Default: false.
   */
  readonly ignoreUnknownFields: boolean;
}

/** A file of resources accepted in an earlier run. */
export interface SavedSnapshotConfig {
  readonly path: string;
  /** Identifies the node and the servers of the resources. */
  readonly identity: string;
}

/** One management server (gRFC A27 `xds_servers[]`). */
export interface ServerConfig extends ServiceCredentials {
  /** A gRPC target string, or a URL that starts with `file:`, `http:` or `https:`. */
  readonly serverUri: string;
  /**
   * The first entry of `channel_creds` whose type is supported. Default for a server that does not speak gRPC: `tls`
   * for `https:`, `insecure` for the others.
   */
  readonly channelCreds: CredentialConfig;
  /** The entries of `call_creds` whose types are supported (gRFC A97). */
  readonly callCreds: readonly CredentialConfig[];
  /** The entries of `server_features` that are known (gRFC A30). */
  readonly features: ReadonlySet<string>;
  /** Only of servers that do not speak gRPC. */
  readonly fetch?: FetchConfig | undefined;
  /** The targets of the services that its resources may name although it is not trusted (gRFC A102). Default: none. */
  readonly allowedServices?: Pick<ReadonlyMap<string, ServiceCredentials>, 'get'>;
  /** The bootstrap, for the certificates of services that it names if it is trusted (gRFC A102). Default: there are none. */
  readonly serviceCertificates?: CertificateInstances;
  /**
   * Equal for two servers with the same URI, credentials and known features, which share their ADS channel (gRFC A47).
   */
  readonly key: string;
}

/** One entry of `authorities` (gRFC A47). */
export interface AuthorityConfig {
  readonly clientListenerResourceNameTemplate: string;
  /** In order of priority (gRFC A71). Default: the top-level list. */
  readonly servers: readonly ServerConfig[];
  /** gRFC A95. */
  readonly fallbackOnReachabilityOnly: boolean;
}

export interface LocalityConfig {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** The node identity sent to management servers: the JSON form of `envoy.config.core.v3.Node`. */
export interface NodeConfig {
  readonly id: string;
  readonly cluster: string;
  readonly locality: LocalityConfig | undefined;
  /** Passed on unchanged. */
  readonly metadata: ReadonlyMap<string, JsonValue> | undefined;
}

/** A certificate provider instance (gRFC A29). */
export interface CertificateProviderConfig {
  readonly pluginName: string;
  readonly config: unknown;
}

/** The certificate provider instances of a bootstrap, and for whom they are. */
export type CertificateInstances = Pick<Bootstrap, 'certificateProviders' | 'node' | 'source'>;

/** A validated bootstrap (gRFC A27 and those that extend it). */
export interface Bootstrap {
  /** The origin of the bootstrap, for messages: a file path or the name of a variable or option. */
  readonly source: string;
  /** Never empty; in order of priority. */
  readonly servers: readonly ServerConfig[];
  readonly node: NodeConfig;
  readonly authorities: ReadonlyMap<string, AuthorityConfig>;
  /** Default `%s`. */
  readonly clientDefaultListenerResourceNameTemplate: string;
  /** For xDS servers (gRFC A36). Default: none, and a server cannot be configured. */
  readonly serverListenerResourceNameTemplate?: string | undefined;
  /** Those of plugins that are registered. */
  readonly certificateProviders: ReadonlyMap<string, CertificateProviderConfig>;
  /** Descriptions of what is ignored but was probably meant to count. Default: none. */
  readonly warnings?: readonly string[] | undefined;
  /** The saved snapshot, used until a server responds. Default: none. */
  readonly savedSnapshot?: SavedSnapshotConfig | undefined;
}
