// Listeners of servers, in proto3 JSON.
const TYPE = 'type.googleapis.com';
const FILTERS = `${TYPE}/envoy.extensions.filters`;

/** What every client calls. */
const PATH = '/demo.Echo/Say';
const router = {
  name: 'router',
  typed_config: { '@type': `${FILTERS}.http.router.v3.Router` },
};
const routeOf = (match) => ({ match, non_forwarding_action: {} });
const paths = (count) => Array.from({ length: count }, (_, i) => `/demo.Service${i}/Method`);

/** So many routes by path, of which the last one is that of the calls. */
const routesOf = (count) =>
  count === 1
    ? [routeOf({ prefix: '' })]
    : [...paths(count - 1), PATH].map((path) => routeOf({ path }));

/** A policy as istiod sends those of an AuthorizationPolicy: one path, one method, and the addresses of callers. */
const policyOf = (path) => ({
  permissions: [
    {
      and_rules: {
        rules: [
          { or_rules: { rules: [{ url_path: { path: { exact: path } } }] } },
          {
            or_rules: {
              rules: [{ header: { name: ':method', string_match: { exact: 'POST' } } }],
            },
          },
        ],
      },
    },
  ],
  principals: [
    {
      and_ids: {
        ids: [
          {
            or_ids: { ids: [{ direct_remote_ip: { address_prefix: '127.0.0.0', prefix_len: 8 } }] },
          },
        ],
      },
    },
  ],
});

/** So many policies that allow, of which only the last one allows the calls. */
const rbacOf = (count) => {
  const named = [...paths(count - 1), PATH].map((path, i) => [
    `policy-${String(i).padStart(5, '0')}`,
    policyOf(path),
  ]);
  return {
    name: 'rbac',
    typed_config: {
      '@type': `${FILTERS}.http.rbac.v3.RBAC`,
      rules: { action: 'ALLOW', policies: Object.fromEntries(named) },
    },
  };
};

const instance = { instance_name: 'default' };
/** Mutual TLS as istiod sends it for STRICT. */
const strict = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
    },
    require_client_certificate: true,
  },
};

/** @param kind `{ routes, rules, tls }`: the numbers of routes and of policies, and whether it has TLS. */
exports.serverListener = (port, { routes = 1, rules = 0, tls = false }) => ({
  name: `server/127.0.0.1:${port}`,
  address: { socket_address: { address: '127.0.0.1', port_value: port } },
  filter_chains: [
    {
      filters: [
        {
          name: 'manager',
          typed_config: {
            '@type': `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
            route_config: {
              virtual_hosts: [{ name: 'all', domains: ['*'], routes: routesOf(routes) }],
            },
            http_filters: [...(rules > 0 ? [rbacOf(rules)] : []), router],
          },
        },
      ],
      ...(tls && { transport_socket: strict }),
    },
  ],
});
