import type { envoy } from '../../src/control-plane';

type Filter = envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter;
type Policies = Readonly<Record<string, envoy.config.rbac.v3.Policy>>;
type Principal = envoy.config.rbac.v3.Principal;
type Permission = envoy.config.rbac.v3.Permission;

const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC';

/** Returns an RBAC filter with the name that istiod gives to those of an action. */
export function rbacJson(policies: Policies, action: 'ALLOW' | 'DENY' = 'ALLOW'): Filter {
  const suffix = action === 'DENY' ? '.DENY' : '';
  return {
    name: `envoy.filters.http.rbac${suffix}`,
    typed_config: { '@type': TYPE, rules: { action, policies } },
  };
}

export const anyone: Principal = { any: true };
export const anything: Permission = { any: true };

/** Matches the identities of a namespace, as istiod writes them. */
export function inNamespace(name: string): Principal {
  return { authenticated: { principal_name: { safe_regex: { regex: `.*/ns/${name}/.*` } } } };
}

/** Matches an identity. @param id Without the scheme `spiffe://`. */
export function withIdentity(id: string): Principal {
  return { authenticated: { principal_name: { exact: `spiffe://${id}` } } };
}
