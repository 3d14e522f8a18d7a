// A Listener of a server, and changes of its parts. A variant is a function of `{ name, host, port }` that returns proto3 JSON.
import { typed } from '../harness/resources.mjs';

const HCM = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

export const router = {
  name: 'router',
  typed_config: typed('envoy.extensions.filters.http.router.v3.Router'),
};
export const httpFilter = (name, type, config, rest = {}) => ({
  name,
  typed_config: typed(type, config),
  ...rest,
});
export const unknownFilter = (rest) =>
  httpFilter('unknown', 'interop.test.UnknownFilter', {}, rest);

const anyPath = { match: { prefix: '' }, non_forwarding_action: {} };

/** Inline routes: one for all requests, with changes. */
export const routesWith = (changes = {}, host = {}) => ({
  route_config: {
    name: 'inline',
    virtual_hosts: [{ name: 'all', domains: ['*'], routes: [{ ...anyPath, ...changes }], ...host }],
  },
});

export const manager = (changes = {}) => ({
  name: 'manager',
  typed_config: typed(HCM, { ...routesWith(), http_filters: [router], ...changes }),
});

export const chain = (match, rest = {}) => ({
  filters: [manager()],
  ...(match !== undefined && { filter_chain_match: match }),
  ...rest,
});

export const addressOf = ({ host, port }) => ({
  socket_address: { address: host, port_value: port },
});

/** With these changes, which may depend on the address. */
export const listener =
  (changes = {}) =>
  (server) => ({
    name: server.name,
    address: addressOf(server),
    filter_chains: [chain()],
    ...(typeof changes === 'function' ? changes(server) : changes),
  });

/** With other filter chains. */
export const chains = (...list) => listener({ filter_chains: list });

/** With one filter chain and these changes of its HttpConnectionManager. */
export const hcm = (changes) => chains(chain(undefined, { filters: [manager(changes)] }));

/** With these filters before the router. */
export const filters = (...list) => hcm({ http_filters: [...list, router] });
