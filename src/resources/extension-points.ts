import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Violations } from '../util/violations';
import type { CertificateProviders } from '../xds-client/resource-type';

/** A serialized message with its type, as in `google.protobuf.Any`. */
export interface TypedBytes {
  /** Such as `type.googleapis.com/package.Message`. */
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** A validated load-balancing config. Which class it is, only the policy knows. */
export interface LbConfig {
  /** The name the policy is registered under in gRPC. */
  readonly policyName: string;
}

/** Parses load-balancing configs for the Cluster parser. Implemented in `lb/`. */
export interface LbConfigParser {
  /**
   * Validates a gRPC JSON config, a list with one `{ name: config }` per choice; the first supported one wins.
   * @returns `undefined` after adding a violation.
   */
  fromJson(json: unknown, violations: Violations): LbConfig | undefined;
  /** The same of a cluster specifier plugin, which may name clusters. Default: there are no plugins. */
  fromPlugin?(json: unknown, violations: Violations): LbConfig | undefined;
  /**
   * Converts one `typed_extension_config.typed_config` of `Cluster.load_balancing_policy` (gRFC A52).
   * @param depth How many policies this one is nested in.
   * @returns `'unsupported'` to try the next entry of the list, `undefined` after adding a violation.
   */
  fromProto(
    config: TypedBytes,
    depth: number,
    violations: Violations,
  ): LbConfig | 'unsupported' | undefined;
}

/** Parses the configs of cluster specifier plugins for the RouteConfiguration parser. Implemented in `lb/`. */
export interface ClusterSpecifierParser {
  /** Whether there is a plugin for the type. */
  isSupported(configType: string): boolean;
  /** Converts the config of a supported plugin. @returns `undefined` after adding a violation. */
  parseConfig(
    config: TypedBytes,
    violations: Violations,
    policies: LbConfigParser,
  ): LbConfig | undefined;
}

/** A validated HTTP filter config or override. Which class it is, only the filter knows. */
export interface HttpFilterConfig {
  /** The message type it came from, without the `type.googleapis.com/` prefix. */
  readonly configType: string;
}

/** Parses HTTP filter configs for the Listener and RouteConfiguration parsers (gRFC A39), for clients or for servers. */
export interface HttpFilterParser {
  /** Whether the type is known at all, as one that this side can run. */
  isSupported(configType: string): boolean;
  /** Whether the type is known as that of an override, which need not be the type of the config. */
  isOverrideSupported(configType: string): boolean;
  /** Whether a filter with this config must be the last of its chain, as the router must. */
  isTerminal(configType: string): boolean;
  /** @returns `undefined` after adding a violation. @param server The server that the resource came from. */
  parseConfig(
    config: TypedBytes,
    violations: Violations,
    server?: ServerConfig,
  ): HttpFilterConfig | undefined;
  /** @returns `undefined` after adding a violation. @param server The server that the resource came from. */
  parseOverride(
    config: TypedBytes,
    violations: Violations,
    server?: ServerConfig,
  ): HttpFilterConfig | undefined;
}

/** The parsers of the filters of both sides: itself for clients. They differ in the filters that are supported. */
export interface HttpFilterParsers extends HttpFilterParser {
  readonly forServers: HttpFilterParser;
}

/** A compiled RE2 pattern. */
export interface CompiledRegex {
  readonly pattern: string;
  /** Instructions and ranges of characters of the program, estimated from above. */
  readonly size: number;
  /** Whether the whole text matches; false if a call has no steps left for it. */
  matches(text: string): boolean;
  /**
   * Replaces every match; `\1` to `\9` in the substitution are groups, `\0` is the whole match.
   * @param maxLength The result is cut after this many characters.
   * @returns `undefined` if a call has no steps left for it.
   */
  replaceAll(text: string, substitution: string, maxLength: number): string | undefined;
}

/** Compiles the RE2 patterns of one resource, as far as they are within the limits. */
export interface RegexCompiler {
  /** Characters of the substitution of a rewrite (`Limits.maxRegexSubstitutionLength`). */
  readonly maxSubstitutionLength: number;
  /** @returns `undefined` after adding a violation. */
  compile(pattern: string, violations: Violations): CompiledRegex | undefined;
  /**
   * Counts a pattern that the resource keeps from its previous version.
   * @returns whether all of them are still within the limit.
   */
  keep(regex: CompiledRegex): boolean;
}

/** Makes a compiler for each resource. */
export interface RegexCompilers {
  forResource(): RegexCompiler;
}

/** Everything the resource parsers are extended by. */
export interface ExtensionPoints {
  readonly lbConfigs: LbConfigParser;
  readonly httpFilters: HttpFilterParsers;
  readonly regexes: RegexCompilers;
  /** Default: there are no plugins. */
  readonly clusterSpecifiers?: ClusterSpecifierParser;
  /** Whether DRAINING endpoints are kept, for policies that know the state (gRFC A55). Default: left out. */
  readonly keepDraining?: boolean;
  /** Endpoints of one assignment. Default: that of `Limits`. */
  readonly maxEndpointsPerAssignment?: number;
  /** Endpoints in use in the process. Default: that of `Limits`. */
  readonly maxEndpoints?: number;
  /** Whether endpoints may have several addresses (gRFC A61). Default: they may. */
  readonly additionalAddresses?: boolean;
  /** Whether `Cluster.load_balancing_policy` is read (gRFC A52). Default: it is. */
  readonly customLbConfig?: boolean;
  /** Whether `xdstp:` names say more than others (gRFC A47). Default: they do. */
  readonly federation?: boolean;
  /** Whether endpoints may be in resources of their own (gRFC A95). Default: they are not, and the field is ignored. */
  readonly endpointCollections?: boolean;
  /** Whether retry policies of routes and virtual hosts apply (gRFC A44). Default: they do. */
  readonly retries?: boolean;
  /** Whether clusters may use the root certificates of the system (gRFC A82). Default: not read. */
  readonly systemRootCerts?: boolean;
  /** Whether clusters choose the server name of TLS connections (gRFC A101). Default: not read. */
  readonly sni?: boolean;
  /** Whether routes of trusted servers may send the hostname of the endpoint as authority (gRFC A81). Default: not read. */
  readonly authorityRewrite?: boolean;
  /** Whether routes of trusted servers may name the authority to send (gRFC A111). Default: not read. */
  readonly literalAuthorityRewrite?: boolean;
  /** Whether the audiences in the metadata of clusters are read (gRFC A83). Default: not read. */
  readonly gcpAuthentication?: boolean;
  /** Whether clusters are connected to through HTTP proxies (gRFC A86). Default: they are rejected. */
  readonly httpConnect?: boolean;
  /** Whether to do what Envoy does and no gRFC specifies. Default: it is rejected or ignored. */
  readonly envoyFeatures?: boolean;
}

/** The context of the parsers of one resource. */
export interface ParseContext {
  readonly extensions: ExtensionPoints;
  /** Counts the regular expressions of the resource. */
  readonly regexes: RegexCompiler;
  /** The server the resource came from. */
  readonly server: ServerConfig;
  /** The provider instances of the bootstrap (gRFC A29). Default: none. */
  readonly certificateProviders?: CertificateProviders | undefined;
}

/** The context of one resource. */
export function createParseContext(
  extensions: ExtensionPoints,
  server: ServerConfig,
): ParseContext {
  return { extensions, server, regexes: extensions.regexes.forResource() };
}

/** Whether the server may make the client send another authority than the application's (gRFC A81). */
export function isTrusted(server: ServerConfig): boolean {
  return server.features.has('trusted_xds_server');
}

/** The services that resources may name where the bootstrap is not known (gRFC A102): all of them. */
export const ANY_SERVICE: NonNullable<ServerConfig['allowedServices']> = {
  get: () => ({ channelCreds: { type: 'insecure', config: undefined }, callCreds: [] }),
};
