import type { FeatureFlags } from '../util/feature-flags';
import { readObject, readRequiredString, type JsonFields } from '../util/json-fields';
import { err, ok, type Result } from '../util/result';
import { Violations } from '../util/violations';
import { parseAuthorities } from './authority-parser';
import type { Bootstrap, CertificateProviderConfig, ServerConfig } from './bootstrap';
import { parseNode } from './node-parser';
import { readOpaqueObject } from './opaque-object';
import { parseServers, type BootstrapSupport } from './server-config-parser';

/** The features that a bootstrap can have members of. */
export type BootstrapFlags = Pick<FeatureFlags, 'federation' | 'fallback' | 'endpointFallback'>;

const ALL_ON: BootstrapFlags = { federation: true, fallback: true, endpointFallback: true };

/**
 * Reads a bootstrap (gRFC A27 and those that extend it). Unknown members are ignored everywhere, and so are
 * credentials of unknown types as long as one of a known type is there.
 *
 * @param json What `JSON.parse` returned.
 * @param source Where it was read from, for messages.
 * @param support The types of credentials that can be made.
 * @param flags Members of features that are off are ignored. Default: all are on.
 * @returns the bootstrap, or everything that is wrong with it, each as `path: reason`.
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
  const servers = parseTopLevelServers(fields, support, violations.at('xds_servers'));
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
    clientDefaultListenerResourceNameTemplate: flags.federation
      ? readDefaultTemplate(fields, violations)
      : '%s',
    certificateProviders: parseCertificateProviders(
      fields.get('certificate_providers'),
      violations.at('certificate_providers'),
    ),
  };
  return violations.count === 0 ? ok(withoutFeatures(bootstrap, flags)) : err(violations.all);
}

/** Drops what features that are off have brought: servers after the first (A71), an earlier fallback (A95). */
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

function readDefaultTemplate(fields: JsonFields, violations: Violations): string {
  const name = 'client_default_listener_resource_name_template';
  if (!fields.has(name)) return '%s';
  return readRequiredString(fields, name, violations) ?? '%s';
}

/** Reads the certificate providers (gRFC A29). One of an unknown plugin is an error only where it is used. */
function parseCertificateProviders(
  json: unknown,
  violations: Violations,
): ReadonlyMap<string, CertificateProviderConfig> {
  const providers = new Map<string, CertificateProviderConfig>();
  if (json === undefined) return providers;
  for (const [name, entry] of readObject(json, violations) ?? []) {
    const place = violations.key(name);
    const fields = readObject(entry, place);
    if (fields === undefined) continue;
    const pluginName = readRequiredString(fields, 'plugin_name', place);
    const config = readOpaqueObject(fields, 'config', place);
    if (pluginName !== undefined) providers.set(name, { pluginName, config });
  }
  return providers;
}
