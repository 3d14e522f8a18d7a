import { readBoolean, readObject, readString, type JsonFields } from '../util/json-fields';
import type { Violations } from '../util/violations';
import type { AuthorityConfig, ServerConfig } from './bootstrap';
import { percentEncodeAuthority } from './percent-encoding';
import { parseServers, type BootstrapSupport } from './server-config-parser';

/**
 * Reads the map of authorities (gRFC A47).
 * @param topLevelServers The servers of an authority that names none itself.
 */
export function parseAuthorities(
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

/** The template of an authority, which may lead only to names of that authority (gRFC A47). */
function readTemplate(fields: JsonFields, authority: string, violations: Violations): string {
  const name = 'client_listener_resource_name_template';
  const prefix = `xdstp://${percentEncodeAuthority(authority)}/`;
  const template = readString(fields, name, violations);
  if (template === undefined) return `${prefix}envoy.config.listener.v3.Listener/%s`;
  if (!template.startsWith(prefix)) violations.at(name).add(`must start with ${prefix}`);
  return template;
}
