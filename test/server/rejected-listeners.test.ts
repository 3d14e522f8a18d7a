import type { Client } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  rdsRoutes,
  serverChain,
  strictTls,
  XdsServerWorld,
} from '../support/xds-server-world';

const TYPE = 'type.googleapis.com';
const LISTENER = `${TYPE}/envoy.config.listener.v3.Listener`;

let world: XdsServerWorld;
let client: Client;

beforeAll(async () => {
  world = await XdsServerWorld.start();
  const config = {
    certificate_file: '/none',
    private_key_file: '/none',
    ca_certificate_file: '/none',
  };
  world.bootstrapExtra = {
    certificate_providers: { default: { plugin_name: 'file_watcher', config } },
  };
  world.serve([world.listener()]);
  await world.bind(world.server());
  client = world.client();
});

afterAll(() => world.stop());

const ofManager = (manager: Json) => () => ({ chains: [serverChain(manager)] });
const ofChain = (extra: Json) => () => ({ chains: [serverChain(undefined, extra)] });
const ofListener = (extra: Json) => () => ({ chains: [serverChain()], extra });
const ofFilters = (...filters: readonly Json[]) =>
  ofManager({ ...inlineRoutes(), http_filters: filters });
const ofPolicy = (permission: Json, principal: Json = { any: true }) =>
  ofFilters(rbacFilter('DENY', [permission], [principal]), routerFilter);
const ofNegation = (rule: Json) =>
  ofPolicy({ and_rules: { rules: [{ or_rules: { rules: [{ not_rule: rule }] } }] } });
const ofNegatedId = (id: Json) =>
  ofPolicy({ any: true }, { and_ids: { ids: [{ or_ids: { ids: [{ not_id: id }] } }] } });
const ofTls = (extra: Json) => ofChain(strictTls(extra));
const instance = { instance_name: 'default' };
const ofCommon = (extra: Json) =>
  ofTls({
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
      ...extra,
    },
  });
const ofValidation = (extra: Json) =>
  ofCommon({ validation_context: { ca_certificate_provider_instance: instance, ...extra } });
const typed = (type: string, extra: Json = {}): Json => ({ '@type': `${TYPE}/${type}`, ...extra });
const filter = (name: string, type: string): Json => ({ name, typed_config: typed(type) });
const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
const extension = { name: 'x', typed_config: typed('test.Unknown') };
const [manager] = serverChain().filters as readonly Json[];
const match = (filter_chain_match: Json, name = ''): Json =>
  serverChain(undefined, { filter_chain_match, name });

interface Rejected {
  readonly chains: readonly Json[];
  readonly extra?: Json;
}

const CASES: readonly (readonly [name: string, create: () => Rejected])[] = [
  ['listener filters', ofListener({ listener_filters: [extension] })],
  ['use_original_dst', ofListener({ use_original_dst: true })],
  ['no socket address', ofListener({ address: { pipe: { path: '/x' } } })],
  ['an empty address', ofListener({ address: { socket_address: { address: '', port_value: 1 } } })],
  [
    'a named port',
    ofListener({ address: { socket_address: { address: '127.0.0.1', named_port: 'x' } } }),
  ],
  ['outbound traffic', ofListener({ traffic_direction: 'OUTBOUND' })],
  ['no chain', () => ({ chains: [] })],
  ['two chains without a match', () => ({ chains: [serverChain(), serverChain()] })],
  [
    'equal matches',
    () => ({ chains: [match({ source_ports: [1, 2] }), match({ source_ports: [2] })] }),
  ],
  [
    'equal matches that match nothing',
    () => ({ chains: [match({ server_names: ['a'] }), match({ server_names: ['b', 'a'] })] }),
  ],
  [
    'equal ranges in other words',
    () => {
      const of = (address_prefix: string, prefix_len: number) =>
        match({ prefix_ranges: [{ address_prefix, prefix_len }] });
      return { chains: [of('10.1.2.3', 8), of('::ffff:10.0.0.0', 104)] };
    },
  ],
  [
    'no IP address',
    () => ({ chains: [match({ source_prefix_ranges: [{ address_prefix: 'x' }] })] }),
  ],
  ['an unknown source', () => ({ chains: [match({ source_type: 7 })] })],
  [
    'sources of another kind',
    () => ({ chains: [match({ direct_source_prefix_ranges: [{ address_prefix: '1.1.1.1' }] })] }),
  ],
  ['no network filter', ofChain({ filters: [] })],
  ['an unknown network filter', ofChain({ filters: [extension] })],
  ['an unknown network filter before', ofChain({ filters: [extension, manager] })],
  ['two connection managers', ofChain({ filters: [manager, { ...manager, name: 'b' }] })],
  ['a default chain that is not valid', ofListener({ default_filter_chain: { filters: [] } })],
  ['hops', ofManager({ ...inlineRoutes(), xff_num_trusted_hops: 1 })],
  [
    'detection of addresses',
    ofManager({ ...inlineRoutes(), original_ip_detection_extensions: [extension] }),
  ],
  ['no routes', ofManager({})],
  [
    'routes of another source',
    ofManager({ rds: { route_config_name: 'r', config_source: { path: '/x' } } }),
  ],
  ['routes without a name', ofManager(rdsRoutes(''))],
  [
    'routes that are not valid',
    ofManager(inlineRoutes([{ match: {}, non_forwarding_action: {} }])),
  ],
  ['no HTTP filters', ofFilters()],
  ['optional HTTP filters only', ofFilters({ ...extension, is_optional: true })],
  ['an unknown HTTP filter', ofFilters(extension, routerFilter)],
  ['an HTTP filter of clients', ofFilters(filter('fault', FAULT), routerFilter)],
  ['an HTTP filter without a name', ofFilters({ ...routerFilter, name: '' })],
  [
    'HTTP filters of one name',
    ofFilters(rbacFilter('DENY', [{ any: true }]), { ...routerFilter, name: 'rbac' }),
  ],
  ['a router before the end', ofFilters(routerFilter, rbacFilter('DENY', [{ any: true }]))],
  ['two routers', ofFilters(routerFilter, { ...routerFilter, name: 'b' })],
  [
    'an override that is not valid',
    ofManager(
      inlineRoutes([
        {
          match: { prefix: '' },
          non_forwarding_action: {},
          typed_per_filter_config: {
            rbac: typed('envoy.extensions.filters.http.rbac.v3.RBACPerRoute', {
              rbac: { rules: { action: 9 } },
            }),
          },
        },
      ]),
    ),
  ],
  ['a negated URI template', ofNegation({ uri_template: extension })],
  ['a negated matcher', ofNegation({ matcher: extension })],
  ['a negated sourced metadata', ofNegation({ sourced_metadata: {} })],
  ['a negated nothing', ofNegation({})],
  ['a negated false', ofNegation({ any: false })],
  [
    'a negated header of gRPC',
    ofNegation({ header: { name: 'GRPC-Status', present_match: true } }),
  ],
  ['a negated scheme', ofNegation({ header: { name: ':Scheme', present_match: true } })],
  ['a negated empty list', ofNegation({ or_rules: {} })],
  ['a negated address that is none', ofNegation({ destination_ip: { address_prefix: 'x' } })],
  [
    'a negated expression that is none',
    ofNegation({ url_path: { path: { safe_regex: { regex: '(' } } } }),
  ],
  [
    'a negated filter state',
    ofNegatedId({ filter_state: { key: 'x', string_match: { exact: 'x' } } }),
  ],
  ['a negated custom principal', ofNegatedId({ custom: extension })],
  ['a negated sourced metadata of a principal', ofNegatedId({ sourced_metadata: {} })],
  ['a negated principal that is nothing', ofNegatedId({})],
  ['no identity', ofCommon({ tls_certificate_provider_instance: undefined })],
  ['an unknown instance', ofCommon({ tls_certificate_provider_instance: { instance_name: 'x' } })],
  ['no authorities', ofValidation({ ca_certificate_provider_instance: undefined })],
  [
    'authorities of the system',
    ofValidation({ ca_certificate_provider_instance: undefined, system_root_certs: {} }),
  ],
  [
    'unknown authorities',
    ofValidation({ ca_certificate_provider_instance: { instance_name: 'x' } }),
  ],
  ['a required certificate that is not validated', ofCommon({ validation_context: undefined })],
  ['required SNI', ofTls({ require_sni: true })],
  ['stapling', ofTls({ ocsp_staple_policy: 'MUST_STAPLE' })],
  ['parameters of TLS', ofCommon({ tls_params: {} })],
  ['a handshaker', ofCommon({ custom_handshaker: extension })],
  ['hashes of certificates', ofValidation({ verify_certificate_hash: ['x'] })],
  ['hashes of keys', ofValidation({ verify_certificate_spki: ['x'] })],
  ['timestamps', ofValidation({ require_signed_certificate_timestamp: true })],
  ['revocations', ofValidation({ crl: { inline_string: 'x' } })],
  ['a validator', ofValidation({ custom_validator_config: extension })],
  [
    'authorities by SDS',
    ofCommon({
      validation_context: undefined,
      validation_context_sds_secret_config: { name: 'x' },
    }),
  ],
  [
    'TLS of clients',
    ofChain({
      transport_socket: {
        name: 'envoy.transport_sockets.tls',
        typed_config: typed('envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext'),
      },
    }),
  ],
  [
    'another transport',
    ofChain({ transport_socket: { ...extension, name: 'envoy.transport_sockets.tap' } }),
  ],
];

const stateOf = () => world.controlPlane.clients()[0]?.types.get(LISTENER);

it.each(CASES)(
  'a Listener with %s is rejected, and the one before stays in use',
  async (name, create) => {
    // Without the members that are `undefined`.
    const { chains, extra } = JSON.parse(JSON.stringify(create())) as Rejected;
    const before = stateOf()?.sentVersion;
    world.serve([world.listener(chains, extra)]);
    const state = await eventually(
      stateOf,
      (now) => now?.sentVersion !== before && now?.rejection?.version === now?.sentVersion,
    );
    expect(state?.ackedVersion).not.toBe(state?.sentVersion);
    // A chain that the control plane had left out would be rejected, too.
    expect(state?.rejection?.message.includes('must have filter_chains')).toBe(name === 'no chain');
    expect(await callServer(client)).toBe('OK');
  },
);

it('all of them have closed no connection', () => {
  expect(world.peers.size).toBe(1);
  expect(world.states).toEqual([{ state: 'SERVING', error: undefined }]);
});
