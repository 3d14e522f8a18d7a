// The form of a bootstrap as it is written: JSON, with the names of gRFC A27. `bootstrap.ts` has that of a parsed one.
// schemas/bootstrap.json is the same for editors; a test compares the two.

/** A duration in the JSON form of protocol buffers, such as `10s` or `0.5s`. */
export type DurationText = string;

/** A bootstrap (gRFC A27 and its extensions). Unknown keys are ignored. */
export interface BootstrapConfig {
  /** The management servers, in order of preference (gRFC A71). At least one. */
  readonly xds_servers: readonly ManagementServerConfig[];
  /** The identity that the client sends to management servers. Default: empty. */
  readonly node?: BootstrapNodeConfig | undefined;
  /** The authorities of `xdstp:` names and of targets such as `xds://authority/name`, by name (gRFC A47). */
  readonly authorities?: Readonly<Record<string, BootstrapAuthorityConfig>> | undefined;
  /** Instances of certificate providers, by the name that clusters use (gRFC A29). */
  readonly certificate_providers?:
    Readonly<Record<string, CertificateProviderInstanceConfig>> | undefined;
  /** The services that servers without `trusted_xds_server` may name, by target, with their credentials (draft gRFC A102). */
  readonly allowed_grpc_services?:
    | Readonly<Record<string, Pick<ManagementServerConfig, 'channel_creds' | 'call_creds'>>>
    | undefined;
  /** The name of the Listener of a target without an authority; `%s` is the target. Default: `%s`. */
  readonly client_default_listener_resource_name_template?: string | undefined;
  /** The name of the Listener of an xDS server; `%s` is its address and port (gRFC A36). No default: xDS servers need it. */
  readonly server_listener_resource_name_template?: string | undefined;
  /** The JSON Schema of the file, for editors. Ignored. */
  readonly $schema?: string | undefined;
}

/** A management server in a bootstrap. */
export interface ManagementServerConfig {
  /** A gRPC target such as `dns:///control-plane:18000`, or a URL that starts with `file:`, `http:` or `https:`. */
  readonly server_uri: string;
  /**
   * The first entry of a supported type is used: `insecure`, `tls`, `google_default`, or one that the application has
   * registered. Required, except with a URL.
   */
  readonly channel_creds?: readonly CredentialEntry[] | undefined;
  /** All entries of supported types are used: `jwt_token_file` (gRFC A97). Default: none. */
  readonly call_creds?: readonly CredentialEntry[] | undefined;
  /** Such as `ignore_resource_deletion` or `fail_on_data_errors`. Unknown ones are ignored. */
  readonly server_features?: readonly string[] | undefined;
  /** The time between two requests, with an `http:` or `https:` URL. Default: `10s`. */
  readonly refresh_delay?: DurationText | undefined;
  /** The timeout of a request, with an `http:` or `https:` URL. Default: `10s`. */
  readonly request_timeout?: DurationText | undefined;
  /** Whether unknown fields, enum values and types are ignored, with a URL. Default: false. */
  readonly ignore_unknown_fields?: boolean | undefined;
}

/** Credentials for a management server. */
export interface CredentialEntry {
  readonly type: string;
  /** Of `tls`: `ca_certificate_file`, `certificate_file` with `private_key_file`, `refresh_interval`; all optional. */
  readonly config?: object | undefined;
}

/** The identity of a client: the JSON form of `envoy.config.core.v3.Node`. */
export interface BootstrapNodeConfig {
  readonly id?: string | undefined;
  readonly cluster?: string | undefined;
  readonly locality?:
    | {
        readonly region?: string | undefined;
        readonly zone?: string | undefined;
        readonly sub_zone?: string | undefined;
      }
    | undefined;
  /** Passed on unchanged. */
  readonly metadata?: object | undefined;
}

/** An authority of a bootstrap (gRFC A47). */
export interface BootstrapAuthorityConfig {
  /** Default: the servers of the bootstrap. */
  readonly xds_servers?: readonly ManagementServerConfig[] | undefined;
  /** Starts with `xdstp://`, the authority and `/`. Default: followed by `envoy.config.listener.v3.Listener/%s`. */
  readonly client_listener_resource_name_template?: string | undefined;
  /** Whether the next server is used only while this one is unreachable (gRFC A95). Default: false. */
  readonly fallback_on_reachability_only?: boolean | undefined;
}

/** An instance of a certificate provider (gRFC A29). */
export interface CertificateProviderInstanceConfig {
  /** `file_watcher`, `sds`, or one that the application has registered. */
  readonly plugin_name: string;
  readonly config?: object | undefined;
}
