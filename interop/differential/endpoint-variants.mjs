// ClusterLoadAssignments, each a valid one with one change.
import { typed } from '../harness/resources.mjs';

const socket = (changes = {}) => ({
  socket_address: { address: '127.0.0.1', port_value: 9, ...changes },
});
const endpoint = (address, changes = {}) => ({ endpoint: { address }, ...changes });
const good = endpoint(socket());
const locality = (zone) => ({ region: 'r', zone });
const group = (changes = {}) => ({
  locality: locality('a'),
  load_balancing_weight: 1,
  lb_endpoints: [good],
  ...changes,
});
const assignment = (endpoints, policy) => (cluster_name) => ({
  cluster_name,
  endpoints,
  ...(policy && { policy }),
});
const groups = (...list) => assignment(list);
const endpoints = (...list) => groups(group({ lb_endpoints: list }));
const address = (value) => endpoints(endpoint(value));
const changed = (changes) => endpoints({ ...good, ...changes });
const drops = (...drop_overloads) => assignment([group()], { drop_overloads });
const drop = (numerator, denominator = 'HUNDRED') => ({
  category: 'c',
  drop_percentage: { numerator, denominator },
});
const other = endpoint(socket({ port_value: 10 }));
const inZone = (zone, changes = {}) =>
  group({ locality: locality(zone), lb_endpoints: [other], ...changes });
const additional = (...addresses) =>
  endpoints({
    endpoint: {
      address: socket(),
      additional_addresses: addresses.map((value) => ({ address: value })),
    },
  });
const MAX = 4294967295;
const health = ['UNKNOWN', 'HEALTHY', 'UNHEALTHY', 'DRAINING', 'TIMEOUT', 'DEGRADED'].map(
  (status) => [`health ${status}`, changed({ health_status: status })],
);

export const endpointVariants = {
  'as it should be': groups(group()),
  ...Object.fromEntries(health),
  'no localities': groups(),
  'a locality without endpoints': endpoints(),
  'a locality without a name': groups(group({ locality: undefined })),
  'a locality with an empty name': groups(group({ locality: {} })),
  'a locality without a weight': groups(group({ load_balancing_weight: undefined })),
  'a locality of weight 0': groups(group({ load_balancing_weight: 0 })),
  'a locality without weight and name': groups(
    group({ load_balancing_weight: undefined, locality: undefined }),
  ),
  'two localities': groups(group(), inZone('b')),
  'a locality twice': groups(group(), inZone('a')),
  'a locality in two priorities': groups(group(), inZone('a', { priority: 1 })),
  'a locality twice, once without weight': groups(
    group(),
    inZone('a', { load_balancing_weight: 0 }),
  ),
  'two priorities': groups(group(), inZone('b', { priority: 1 })),
  'no priority 0': groups(group({ priority: 1 })),
  'a gap in the priorities': groups(group(), inZone('b', { priority: 2 })),
  'a gap filled by a locality of weight 0': groups(
    group(),
    inZone('b', { priority: 1, load_balancing_weight: 0 }),
    inZone('c', { priority: 2 }),
  ),
  'a priority above 128': groups(group({ priority: 129 })),
  'locality weights of 2^32 - 1': groups(group({ load_balancing_weight: MAX })),
  'locality weights above 2^32 - 1': groups(group({ load_balancing_weight: MAX }), inZone('b')),
  'locality weights above 2^32 - 1 in two priorities': groups(
    group({ load_balancing_weight: MAX }),
    inZone('b', { priority: 1 }),
  ),
  'an endpoint without an address': endpoints({ endpoint: {} }),
  'an endpoint that is empty': endpoints({}),
  'an endpoint by name': endpoints({ endpoint_name: 'x' }),
  'a pipe': address({ pipe: { path: '/tmp/x' } }),
  'an internal address': address({ envoy_internal_address: { server_listener_name: 'x' } }),
  'an empty address': address({}),
  'an address of IPv6': address(socket({ address: '::1' })),
  'an address of IPv6 in brackets': address(socket({ address: '[::1]' })),
  'an address that is a name': address(socket({ address: 'localhost' })),
  'an address without text': address(socket({ address: '' })),
  'an address with a resolver': address(socket({ resolver_name: 'r' })),
  'an address of UDP': address(socket({ protocol: 'UDP' })),
  'port 0': address(socket({ port_value: 0 })),
  'port 65535': address(socket({ port_value: 65535 })),
  'port 65536': address(socket({ port_value: 65536 })),
  'no port': address({ socket_address: { address: '127.0.0.1' } }),
  'a named port': address({ socket_address: { address: '127.0.0.1', named_port: 'http' } }),
  'two endpoints': endpoints(good, other),
  'an address twice in a locality': endpoints(good, good),
  'an address of IPv6 in two spellings': endpoints(
    endpoint(socket({ address: '2001:db8::1' })),
    endpoint(socket({ address: '2001:db8:0::1' })),
  ),
  'an address of IPv6 in two cases': endpoints(
    endpoint(socket({ address: '2001:db8::a' })),
    endpoint(socket({ address: '2001:db8::A' })),
  ),
  'an address of IPv4, and mapped to IPv6': endpoints(
    endpoint(socket({ address: '127.0.0.1' })),
    endpoint(socket({ address: '::ffff:127.0.0.1' })),
  ),
  'an address in two localities': groups(group(), inZone('b', { lb_endpoints: [good] })),
  'an address in two priorities': groups(
    group(),
    inZone('b', { priority: 1, lb_endpoints: [good] }),
  ),
  'endpoint weight 5': changed({ load_balancing_weight: 5 }),
  'endpoint weight 0': changed({ load_balancing_weight: 0 }),
  'endpoint weights above 2^32 - 1': endpoints(
    { ...good, load_balancing_weight: MAX },
    { ...other, load_balancing_weight: MAX },
  ),
  'a wrong endpoint that is not healthy': endpoints(good, {
    endpoint: { address: { pipe: { path: '/tmp/x' } } },
    health_status: 'UNHEALTHY',
  }),
  'a wrong endpoint in a locality of weight 0': groups(
    group(),
    inZone('b', { load_balancing_weight: 0, lb_endpoints: [{ endpoint: {} }] }),
  ),
  'one more address': additional(socket({ address: '::1' })),
  'one more address that is a pipe': additional({ pipe: { path: '/tmp/x' } }),
  'one more address that is the first': additional(socket()),
  'a drop': drops(drop(10)),
  'a drop of nothing': drops(drop(0)),
  'a drop of more than all': drops(drop(200)),
  'a drop in ten thousand': drops(drop(5, 'TEN_THOUSAND')),
  'a drop in a million': drops(drop(5, 'MILLION')),
  'a drop with an unknown denominator': drops(drop(5, 9)),
  'a drop without a percentage': drops({ category: 'c' }),
  'a drop without a category': drops({ drop_percentage: { numerator: 5 } }),
  'two drops of one category': drops(drop(5), drop(6)),
  'over-provisioning': assignment([group()], { overprovisioning_factor: 140 }),
  'over-provisioning of 0': assignment([group()], { overprovisioning_factor: 0 }),
  'endpoints that grow old': assignment([group()], { endpoint_stale_after: '5s' }),
  'endpoint metadata': changed({
    metadata: { filter_metadata: { 'envoy.lb': { hash_key: 'x' } } },
  }),
  'a hash key that is no text': changed({
    metadata: { filter_metadata: { 'envoy.lb': { hash_key: 5 } } },
  }),
  'typed metadata of an unknown type': changed({
    metadata: { typed_filter_metadata: { x: typed('interop.test.Unknown') } },
  }),
  'typed metadata that is an address': changed({
    metadata: {
      typed_filter_metadata: {
        'envoy.http11_proxy_transport_socket.proxy_address': typed('envoy.config.core.v3.Address', {
          socket_address: { address: '127.0.0.1', port_value: 1 },
        }),
      },
    },
  }),
  'typed metadata that is a wrong address': changed({
    metadata: {
      typed_filter_metadata: {
        'envoy.http11_proxy_transport_socket.proxy_address': typed('envoy.config.core.v3.Address', {
          pipe: { path: '/tmp/x' },
        }),
      },
    },
  }),
  'locality metadata': groups(group({ metadata: { filter_metadata: { x: { y: 1 } } } })),
  'a host name': endpoints({ endpoint: { address: socket(), hostname: 'a.test' } }),
  LEDS: groups(
    group({
      lb_endpoints: [],
      leds_cluster_locality_config: { leds_config: { ads: {} }, leds_collection_name: 'x' },
    }),
  ),
  'a list of locality endpoints': groups({
    locality: locality('a'),
    load_balancing_weight: 1,
    load_balancer_endpoints: { lb_endpoints: [good] },
  }),
};
