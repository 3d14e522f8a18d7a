import type { Json } from './xds-json';

const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC';

/** Returns an RBAC filter with the name that istiod gives to those of an action. */
export function rbacJson(policies: Json, action: 'ALLOW' | 'DENY' = 'ALLOW'): Json {
  const suffix = action === 'DENY' ? '.DENY' : '';
  return {
    name: `envoy.filters.http.rbac${suffix}`,
    typed_config: { '@type': TYPE, rules: { action, policies } },
  };
}

export const anyone: Json = { any: true };
export const anything: Json = { any: true };

/** Matches the identities of a namespace, as istiod writes them. */
export function inNamespace(name: string): Json {
  return { authenticated: { principal_name: { safe_regex: { regex: `.*/ns/${name}/.*` } } } };
}

/** Matches an identity. @param id Without the scheme `spiffe://`. */
export function withIdentity(id: string): Json {
  return { authenticated: { principal_name: { exact: `spiffe://${id}` } } };
}
