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

/** A policy of so many rules that are no paths, and match no call. */
const wideRbacOf = (nodes) => {
  const rules = Array.from({ length: nodes }, () => ({ destination_port: 1 }));
  const policy = { permissions: [{ or_rules: { rules } }], principals: [{ any: true }] };
  const config = { '@type': `${FILTERS}.http.rbac.v3.RBAC` };
  return {
    name: 'rbac',
    typed_config: { ...config, rules: { action: 'DENY', policies: { wide: policy } } },
  };
};

/** Denies calls by a search in a header. */
const searching = {
  name: 'rbac',
  typed_config: {
    '@type': `${FILTERS}.http.rbac.v3.RBAC`,
    rules: {
      action: 'DENY',
      policies: {
        searching: {
          permissions: [{ header: { name: 'x-text', string_match: { contains: 'needle' } } }],
          principals: [{ any: true }],
        },
      },
    },
  },
};

const chainOf = (httpFilters, { routes = 1, tls = false }) => ({
  filters: [
    {
      name: 'manager',
      typed_config: {
        '@type': `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
        route_config: {
          virtual_hosts: [{ name: 'all', domains: ['*'], routes: routesOf(routes) }],
        },
        http_filters: [...httpFilters, router],
      },
    },
  ],
  ...(tls && { transport_socket: strict }),
});

/** So many chains, each for one address of clients, and none of them for that of the calls. */
const furtherChains = (count, kind) =>
  Array.from({ length: count }, (_, i) => ({
    ...chainOf([], kind),
    name: `chain-${i}`,
    filter_chain_match: {
      source_prefix_ranges: [{ address_prefix: `10.0.${i >> 8}.${i & 255}`, prefix_len: 32 }],
    },
  }));

/**
 * @param kind `{ routes, rules, tls }`: the numbers of routes and of policies, and whether it has TLS; for hostile ones `{ chains,
 * nodes, searches }`: the number of further chains, the number of rules in one policy, and whether a header is searched.
 */
exports.serverListener = (port, kind) => {
  const { rules = 0, nodes = 0, chains = 0, searches = false } = kind;
  const filters = [
    ...(rules > 0 ? [rbacOf(rules)] : []),
    ...(nodes > 0 ? [wideRbacOf(nodes)] : []),
    ...(searches ? [searching] : []),
  ];
  return {
    name: `server/127.0.0.1:${port}`,
    address: { socket_address: { address: '127.0.0.1', port_value: port } },
    filter_chains: [chainOf(filters, kind), ...furtherChains(chains, kind)],
  };
};
