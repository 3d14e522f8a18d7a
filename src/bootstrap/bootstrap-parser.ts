import type { FeatureFlags } from '../util/feature-flags';
import {
  readNonEmptyString,
  readObject,
  readRequiredString,
  type JsonFields,
  readBoolean,
  readString,
} from '../util/json-fields';
import { err, ok, type Result } from '../util/result';
import { Violations } from '../util/violations';
import type {
  Bootstrap,
  CertificateProviderConfig,
  ServerConfig,
  ServiceCredentials,
  AuthorityConfig,
  LocalityConfig,
  NodeConfig,
} from './bootstrap';
import {
  readOpaqueObject,
  parseServers,
  parseServiceCredentials,
  type CredentialsSupport,
} from './server-config-parser';
import { percentEncodeAuthority } from './resource-template';

/** The plugins for certificates that are registered (gRFC A29). A plain set of their names will do. */
export interface CertificateProviderSupport {
  has(pluginName: string): boolean;
  /** Adds what is wrong with the config of an instance whose plugin is registered. */
  check?(instance: CertificateProviderConfig, violations: Violations): void;
}

/** What a bootstrap may name. */
export interface BootstrapSupport extends CredentialsSupport {
  readonly certificateProviders: CertificateProviderSupport;
}

export type BootstrapFlags = Pick<FeatureFlags, 'federation' | 'fallback' | 'endpointFallback'> &
  Partial<Pick<FeatureFlags, 'extAuthz' | 'extAuthzOnServers'>>;

const ALL_ON: BootstrapFlags = {
  federation: true,
  fallback: true,
  endpointFallback: true,
  extAuthz: true,
};

/**
 * Parses a bootstrap (gRFC A27 and those that extend it). Unknown members are ignored, and so are credentials of
 * unknown types if there is one of a known type, and certificate providers of unknown plugins.
 *
 * @param json The result of `JSON.parse`.
 * @param source The origin of the bootstrap, for messages.
 * @param support The supported types of credentials and certificate providers.
 * @param flags Members of disabled features are ignored. Default: all are enabled.
 * @returns the bootstrap, or all violations, each as `path: reason`.
 */
export function parseBootstrap(
  json: unknown,
  source: string,
  support: BootstrapSupport,
  flags: BootstrapFlags = ALL_ON,
): Result<Bootstrap, readonly string[]> {
  const violations = Violations.root();
  const fields = readObject(json, violations);
  if (fields === undefined) return err(violations.all);
  const hasServices = flags.extAuthz === true || flags.extAuthzOnServers === true;
  const allowed = hasServices
    ? parseAllowedServices(
        fields.get('allowed_grpc_services'),
        support,
        violations.at('allowed_grpc_services'),
      )
    : undefined;
  const servers = parseTopLevelServers(fields, support, violations.at('xds_servers'));
  const warnings: string[] = [];
  const bootstrap: Bootstrap = {
    source,
    servers,
    node: parseNode(fields.get('node'), violations.at('node')),
    authorities: parseAuthorities(
      flags.federation ? fields.get('authorities') : undefined,
      servers,
      support,
      violations.at('authorities'),
    ),
    clientDefaultListenerResourceNameTemplate:
      (flags.federation && readNonEmptyString(fields, CLIENT_TEMPLATE, violations)) || '%s',
    serverListenerResourceNameTemplate: readNonEmptyString(fields, SERVER_TEMPLATE, violations),
    certificateProviders: parseCertificateProviders(
      fields.get('certificate_providers'),
      support.certificateProviders,
      violations.at('certificate_providers'),
      warnings,
    ),
    ...(warnings.length > 0 && { warnings }),
  };
  if (violations.count > 0) return err(violations.all);
  return ok(withoutFeatures(hasServices ? withServices(bootstrap, allowed) : bootstrap, flags));
}

/** Parses the services that untrusted servers may name, by target (gRFC A102); `undefined` if there are none. */
function parseAllowedServices(
  json: unknown,
  support: CredentialsSupport,
  violations: Violations,
): ReadonlyMap<string, ServiceCredentials> | undefined {
  if (json === undefined) return undefined;
  const services = new Map<string, ServiceCredentials>();
  for (const [target, entry] of readObject(json, violations) ?? []) {
    const place = violations.key(target);
    const fields = readObject(entry, place);
    const credentials = fields && parseServiceCredentials(fields, support, place);
    if (credentials !== undefined) services.set(target, credentials);
  }
  return services.size === 0 ? undefined : services;
}

function withServices(
  bootstrap: Bootstrap,
  allowedServices: ReadonlyMap<string, ServiceCredentials> | undefined,
): Bootstrap {
  const { certificateProviders, node, source } = bootstrap;
  const services = {
    ...(allowedServices && { allowedServices }),
    ...(certificateProviders.size > 0 && {
      serviceCertificates: { certificateProviders, node, source },
    }),
  };
  const extend = (servers: readonly ServerConfig[]) =>
    servers.map((server) => ({ ...server, ...services }));
  const servers = extend(bootstrap.servers);
  const authorities = [...bootstrap.authorities].map(([name, authority]) => {
    const isInherited = authority.servers === bootstrap.servers;
    return [
      name,
      { ...authority, servers: isInherited ? servers : extend(authority.servers) },
    ] as const;
  });
  return { ...bootstrap, servers, authorities: new Map(authorities) };
}

/** Removes the members of disabled features: servers after the first (A71), earlier fallback (A95). */
function withoutFeatures(bootstrap: Bootstrap, flags: BootstrapFlags): Bootstrap {
  if (flags.fallback && flags.endpointFallback) return bootstrap;
  const usable = (servers: readonly ServerConfig[]) =>
    flags.fallback ? servers : servers.slice(0, 1);
  const authorities = [...bootstrap.authorities].map(([name, authority]) => {
    const { fallbackOnReachabilityOnly: isEarly } = authority;
    const fallbackOnReachabilityOnly = isEarly && flags.endpointFallback;
    const servers = usable(authority.servers);
    return [name, { ...authority, servers, fallbackOnReachabilityOnly }] as const;
  });
  const servers = usable(bootstrap.servers);
  return { ...bootstrap, servers, authorities: new Map(authorities) };
}

function parseTopLevelServers(
  fields: JsonFields,
  support: BootstrapSupport,
  violations: Violations,
): readonly ServerConfig[] {
  if (!fields.has('xds_servers')) {
    violations.add('field not present');
    return [];
  }
  const before = violations.count;
  const servers = parseServers(fields.get('xds_servers'), support, violations);
  if (servers.length === 0 && violations.count === before) violations.add('must not be empty');
  return servers;
}

const CLIENT_TEMPLATE = 'client_default_listener_resource_name_template';
const SERVER_TEMPLATE = 'server_listener_resource_name_template';

/**
 * Parses the certificate providers (gRFC A29). An instance of an unknown plugin is ignored, as in grpc-go: only resources that
 * name it are rejected.
 */
function parseCertificateProviders(
  json: unknown,
  support: CertificateProviderSupport,
  violations: Violations,
  warnings: string[],
): ReadonlyMap<string, CertificateProviderConfig> {
  const providers = new Map<string, CertificateProviderConfig>();
  if (json === undefined) return providers;
  for (const [name, entry] of readObject(json, violations) ?? []) {
    const place = violations.key(name);
    const fields = readObject(entry, place);
    if (fields === undefined) continue;
    const pluginName = readRequiredString(fields, 'plugin_name', place);
    const before = violations.count;
    const config = readOpaqueObject(fields, 'config', place);
    if (pluginName === undefined || violations.count > before) continue;
    if (support.has(pluginName)) {
      support.check?.({ pluginName, config }, place.at('config'));
      providers.set(name, { pluginName, config });
    } else {
      const plugin = JSON.stringify(pluginName);
      const path = `certificate_providers[${JSON.stringify(name)}]`;
      warnings.push(`${path} is ignored: plugin ${plugin} is not registered`);
    }
  }
  return providers;
}

/**
 * Parses the map of authorities (gRFC A47).
 * @param topLevelServers The default servers of an authority.
 */
function parseAuthorities(
  json: unknown,
  topLevelServers: readonly ServerConfig[],
  support: BootstrapSupport,
  violations: Violations,
): ReadonlyMap<string, AuthorityConfig> {
  const authorities = new Map<string, AuthorityConfig>();
  if (json === undefined) return authorities;
  for (const [name, entry] of readObject(json, violations) ?? []) {
    const place = violations.key(name);
    const fields = readObject(entry, place);
    if (fields === undefined) continue;
    const own = parseServers(fields.get('xds_servers') ?? [], support, place.at('xds_servers'));
    authorities.set(name, {
      clientListenerResourceNameTemplate: readTemplate(fields, name, place),
      servers: own.length === 0 ? topLevelServers : own,
      fallbackOnReachabilityOnly: readBoolean(
        fields,
        'fallback_on_reachability_only',
        false,
        place,
      ),
    });
  }
  return authorities;
}

/** Reads the template of an authority, which must start with the prefix of that authority (gRFC A47). */
function readTemplate(fields: JsonFields, authority: string, violations: Violations): string {
  const name = 'client_listener_resource_name_template';
  const prefix = `xdstp://${percentEncodeAuthority(authority)}/`;
  const template = readString(fields, name, violations);
  if (template === undefined) return `${prefix}envoy.config.listener.v3.Listener/%s`;
  if (!template.startsWith(prefix)) violations.at(name).add(`must start with ${prefix}`);
  return template;
}

const ANONYMOUS: NodeConfig = { id: '', cluster: '', locality: undefined, metadata: undefined };

/** Parses the node (gRFC A27). All members are optional. Fields set by the client, such as `user_agent_name`, are ignored. */
function parseNode(json: unknown, violations: Violations): NodeConfig {
  if (json === undefined) return ANONYMOUS;
  const fields = readObject(json, violations);
  if (fields === undefined) return ANONYMOUS;
  const metadata = readOpaqueObject(fields, 'metadata', violations);
  return {
    id: readString(fields, 'id', violations) ?? '',
    cluster: readString(fields, 'cluster', violations) ?? '',
    locality: parseLocality(fields, violations.at('locality')),
    metadata: metadata && new Map(Object.entries(metadata)),
  };
}

function parseLocality(node: JsonFields, violations: Violations): LocalityConfig | undefined {
  if (!node.has('locality')) return undefined;
  const fields = readObject(node.get('locality'), violations);
  if (fields === undefined) return undefined;
  // The JSON form of protocol buffers allows both names.
  const subZone = fields.has('sub_zone') ? 'sub_zone' : 'subZone';
  return {
    region: readString(fields, 'region', violations) ?? '',
    zone: readString(fields, 'zone', violations) ?? '',
    subZone: readString(fields, subZone, violations) ?? '',
  };
}
