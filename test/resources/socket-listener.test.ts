import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SocketListener } from '../../src/resources/listener/listener';
import {
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { encode, types, valueOf, violationsOf } from './decode-json';

const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const TLS = `${TYPE}/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext`;

const type = types.listener;

const manager = (extra: Json = {}): Json => ({
  name: 'hcm',
  typed_config: {
    '@type': MANAGER,
    rds: { route_config_name: 'r', config_source: { ads: {} } },
    http_filters: [routerFilter],
    ...extra,
  },
});
const chain = (match?: Json, extra: Json = {}): Json => ({
  name: 'c',
  filters: [manager()],
  ...(match && { filter_chain_match: match }),
  ...extra,
});
const socket = (address = '10.0.0.1', extra: Json = {}): Json => ({
  socket_address: { address, port_value: 8080, ...extra },
});
const listener = (chains: readonly Json[], extra: Json = {}): Json => ({
  name: 'inbound',
  address: socket(),
  filter_chains: chains,
  ...extra,
});
const withMatch = (match: Json) => listener([chain(match)]);
const ranges = (...texts: readonly string[]): Json[] =>
  texts.map((text) => {
    const [address_prefix, prefix_len] = text.split('/');
    return { address_prefix, ...(prefix_len !== undefined && { prefix_len: Number(prefix_len) }) };
  });

function parse(json: Json): SocketListener {
  const value = valueOf(type, json);
  if (value.kind !== 'socket') throw new Error('not a socket listener');
  return value;
}
const reject = (json: Json) => violationsOf(type, json);
const rangesOf = (match: Json) =>
  parse(withMatch(match)).filterChains[0]?.match.prefixRanges.map(
    ({ bytes, prefixLength }) => `${[...bytes].join('.')}/${prefixLength}`,
  );

describe('a listener of a server (gRFC A36)', () => {
  it('has its address and its filter chains', () => {
    const json = listener([chain({ source_type: 'EXTERNAL', source_ports: [1, 65_535] })], {
      default_filter_chain: chain({ destination_port: 1 }, { name: 'rest' }),
    });
    const httpConnectionManager = {
      routes: { kind: 'rds', routeConfigName: 'r' },
      httpFilters: [expect.objectContaining({ name: 'router' })],
      maxStreamDurationMs: undefined,
    };
    expect(valueOf(type, json)).toEqual({
      kind: 'socket',
      name: 'inbound',
      address: { host: '10.0.0.1', port: 8080 },
      isTcp: true,
      filterChains: [
        {
          name: 'c',
          httpConnectionManager,
          tls: undefined,
          match: {
            prefixRanges: [],
            isRawBuffer: false,
            source: 'external',
            sourcePrefixRanges: [],
            sourcePorts: [1, 65_535],
          },
        },
      ],
      defaultFilterChain: { name: 'rest', httpConnectionManager, tls: undefined },
      unmatchable: [],
      encoded: encode(type, json),
    });
  });

  it('may have its routes in itself', () => {
    const inline = manager({
      rds: undefined,
      route_config: routeConfigJson('in', [routeToCluster('c')]),
    });
    const [first] = parse(listener([chain(undefined, { filters: [inline] })])).filterChains;
    expect(first?.httpConnectionManager.routes).toMatchObject({
      kind: 'inline',
      routeConfig: { name: 'in' },
    });
  });

  it('is one for clients with an API listener, whatever is in its filter chains', () => {
    const json = listener([chain({ prefix_ranges: ranges('nowhere') }, { filters: [] })]);
    expect(reject(json)).toHaveLength(2);
    const api_listener = { api_listener: manager()['typed_config'] };
    expect(valueOf(type, { ...json, api_listener })).toMatchObject({
      kind: 'api',
      name: 'inbound',
      httpConnectionManager: { routes: { kind: 'rds', routeConfigName: 'r' } },
    });
  });

  it('may be nearly as large as one message, though its beginning is read twice', () => {
    const additional_addresses = Array.from({ length: 40_000 }, () => ({}));
    expect(parse(listener([chain()], { additional_addresses })).filterChains).toHaveLength(1);
  });

  it('may be for another transport than TCP', () => {
    expect(
      parse(listener([chain()], { address: socket('::', { protocol: 'UDP' }) })),
    ).toMatchObject({ address: { host: '::', port: 8080 }, isTcp: false });
  });

  it('may be for inbound traffic, and have additional addresses', () => {
    const extra = { traffic_direction: 'INBOUND', additional_addresses: [{ address: socket() }] };
    expect(parse(listener([chain()], extra)).filterChains).toHaveLength(1);
  });

  it.each<[string, Json, string]>([
    ['no name', { name: '' }, 'name: must not be empty'],
    ['listener filters', { listener_filters: [{ name: 'f' }] }, 'listener_filters: must be empty'],
    ['the original destination', { use_original_dst: true }, 'use_original_dst: must be false'],
    [
      'outbound traffic',
      { traffic_direction: 'OUTBOUND' },
      'traffic_direction: must not be OUTBOUND on a listener of a server',
    ],
    [
      'no address',
      { address: undefined },
      'must have api_listener, as a listener for clients, or address',
    ],
    ['an empty address', { address: {} }, 'address.socket_address: field not present'],
    [
      'a unix socket',
      { address: { pipe: { path: '/p' } } },
      'address.socket_address: field not present',
    ],
    [
      'a host name',
      { address: socket('localhost') },
      'address.socket_address.address: must be a literal IP address, not "localhost"',
    ],
    [
      'a named port',
      { address: socket('::1', { port_value: undefined, named_port: 'http' }) },
      'address.socket_address.port_value: field not present',
    ],
    ['no chain', { filter_chains: [] }, 'must have filter_chains or default_filter_chain'],
  ])('is rejected with %s', (_what, extra, violation) => {
    expect(reject(listener([chain()], extra))).toEqual([violation]);
  });

  it('is rejected with more than 1000 filter chains', () => {
    const chains = Array.from({ length: 1001 }, (_, i) => chain({ source_ports: [i + 1] }));
    expect(parse(listener(chains.slice(1))).filterChains).toHaveLength(1000);
    expect(reject(listener(chains))).toEqual([
      'filter_chains: must not have more than 1000 entries, but has 1001',
    ]);
  });
});

describe('the filters of a filter chain', () => {
  const other: Json = {
    name: 'x',
    typed_config: { '@type': `${TYPE}/google.protobuf.Duration`, value: '1s' },
  };
  const struct: Json = {
    name: 's',
    typed_config: { '@type': `${TYPE}/xds.type.v3.TypedStruct`, type_url: MANAGER, value: {} },
  };

  it.each<[string, readonly Json[], readonly string[]]>([
    ['none', [], ['must have an HttpConnectionManager']],
    ['no name', [{ ...manager(), name: '' }], ['[0].name: must not be empty']],
    [
      'two connection managers',
      [manager(), { ...manager(), name: 'second' }],
      ['[0]: an HttpConnectionManager must be the last filter'],
    ],
    [
      'a connection manager that is not the last',
      [manager(), other],
      [
        '[0]: an HttpConnectionManager must be the last filter',
        '[1].typed_config: unsupported network filter google.protobuf.Duration',
      ],
    ],
    [
      'another filter',
      [other, manager()],
      ['[0].typed_config: unsupported network filter google.protobuf.Duration'],
    ],
    [
      'a name twice',
      [{ ...other, name: 'hcm' }, manager()],
      [
        '[0].typed_config: unsupported network filter google.protobuf.Duration',
        '[1].name: duplicate name "hcm"',
      ],
    ],
    ['a TypedStruct', [struct], ['[0].typed_config: must be a message, not a TypedStruct']],
    ['no config', [{ name: 'hcm' }], ['[0].typed_config: field not present']],
    [
      'no routes',
      [manager({ rds: undefined })],
      ['[0].typed_config: must have rds or route_config'],
    ],
    [
      'trusted hops',
      [manager({ xff_num_trusted_hops: 1 })],
      ['[0].typed_config.xff_num_trusted_hops: must be 0, not 1'],
    ],
    [
      'no router',
      [manager({ http_filters: [] })],
      ['[0].typed_config.http_filters: must have at least one supported filter, the router'],
    ],
  ])('are rejected: %s', (_what, filters, violations) => {
    const at = (path: string) =>
      violations.map((text) => `${path}.filters${text.startsWith('[') ? '' : ': '}${text}`);
    expect(reject(listener([chain(undefined, { filters })]))).toEqual(at('filter_chains[0]'));
    const inDefault = listener([], { default_filter_chain: { filters } });
    expect(reject(inDefault)).toEqual(at('default_filter_chain'));
  });
});

describe('the match of a filter chain', () => {
  it('has ranges of addresses, without the bits after their prefix', () => {
    expect(rangesOf({ prefix_ranges: ranges('10.1.2.255/12', '0.0.0.0', '1.2.3.4/200') })).toEqual([
      '10.0.0.0/12',
      '0.0.0.0/0',
      '1.2.3.4/32',
    ]);
    const six = ranges('2001:db8:ffff::1/33', '::/0', '1:2:3:4:5:6:7:8/128');
    expect(rangesOf({ prefix_ranges: six })).toEqual([
      '32.1.13.184.128.0.0.0.0.0.0.0.0.0.0.0/33',
      '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0/0',
      '0.1.0.2.0.3.0.4.0.5.0.6.0.7.0.8/128',
    ]);
  });

  it('has IPv4 ranges where IPv6 ranges stand for them', () => {
    const mapped = ranges('::ffff:10.1.2.3/112', '::ffff:0:0/96', '::ffff:0:0/64');
    expect(rangesOf({ prefix_ranges: mapped })).toEqual([
      '10.1.0.0/16',
      '0.0.0.0/0',
      '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0/64',
    ]);
  });

  it('has plaintext as a criterion', () => {
    const chains = [chain({ transport_protocol: 'raw_buffer' }), chain({})];
    const isRawBuffer = parse(listener(chains)).filterChains.map(({ match }) => match.isRawBuffer);
    expect(isRawBuffer).toEqual([true, false]);
  });

  it.each<[string, Json]>([
    ['destination_port', { destination_port: 80 }],
    ['server_names', { server_names: ['a.example'] }],
    ['transport_protocol', { transport_protocol: 'tls' }],
    ['application_protocols', { application_protocols: ['h2'] }],
  ])('never matches with %s, and the chain is left out', (criterion, match) => {
    const value = parse(listener([chain(match), chain(undefined, { name: 'used' })]));
    expect(value.filterChains.map(({ name }) => name)).toEqual(['used']);
    expect(value.unmatchable).toEqual([{ name: 'c', criterion }]);
    expect(type.describeSkipped(value)).toBe(
      `filter chains that match no connection of a gRPC server, not used: "c" (${criterion})`,
    );
  });

  it('has destination port 0 as an unset one', () => {
    const value = parse(listener([chain({ destination_port: 0 })]));
    expect(value.filterChains.map(({ name }) => name)).toEqual(['c']);
    expect(value.unmatchable).toEqual([]);
  });

  it('leaves out nothing of a listener for clients, nor of one whose chains all match', () => {
    expect(type.describeSkipped(valueOf(type, listenerJson('a', 'r')))).toBeUndefined();
    expect(type.describeSkipped(parse(listener([chain()])))).toBeUndefined();
  });

  it.each<[string, Json, string]>([
    [
      'a host name',
      { prefix_ranges: ranges('10.0.0.0/8', 'localhost') },
      'prefix_ranges[1].address_prefix: must be a literal IP address, not "localhost"',
    ],
    [
      'an address with a zone',
      { source_prefix_ranges: ranges('fe80::1%eth0') },
      'source_prefix_ranges[0].address_prefix: must be a literal IP address, not "fe80::1%eth0"',
    ],
    [
      'ranges of the direct source',
      { direct_source_prefix_ranges: ranges('10.0.0.0/8') },
      'direct_source_prefix_ranges: unsupported: use source_prefix_ranges',
    ],
    [
      'an unknown type of source',
      { source_type: 7 },
      'source_type: must be ANY, SAME_IP_OR_LOOPBACK or EXTERNAL, but is 7',
    ],
    ['port 0', { source_ports: [1, 0] }, 'source_ports[1]: must be from 1 to 65535, but is 0'],
    [
      'a port that is too high',
      { source_ports: [65_536] },
      'source_ports[0]: must be from 1 to 65535, but is 65536',
    ],
    [
      'a range twice, in two spellings',
      { prefix_ranges: ranges('10.1.0.0/8', '11.0.0.0/8', '::ffff:10.2.0.0/104') },
      'prefix_ranges[2]: is the same as [0]',
    ],
    [
      'a range of sources twice',
      { source_prefix_ranges: ranges('::/0', '::/0') },
      'source_prefix_ranges[1]: is the same as [0]',
    ],
    ['a port twice', { source_ports: [1, 2, 2] }, 'source_ports[2]: is the same as [1]'],
    [
      'a value twice of what never matches',
      { server_names: ['a', 'a'] },
      'server_names[1]: is the same as [0]',
    ],
    [
      'a protocol twice',
      { application_protocols: ['h2', 'h2'] },
      'application_protocols[1]: is the same as [0]',
    ],
    [
      'too many values',
      { server_names: Array.from({ length: 1001 }, (_, i) => `n${i}`) },
      'server_names: must not have more than 1000 entries, but has 1001',
    ],
  ])('is rejected with %s', (_what, match, violation) => {
    expect(reject(withMatch(match))).toEqual([`filter_chains[0].filter_chain_match.${violation}`]);
  });

  it.each<[string, Json, Json]>([
    ['no criteria', {}, {}],
    ['destination port 0', {}, { destination_port: 0 }],
    [
      'equal ranges',
      { prefix_ranges: ranges('10.1.0.0/8') },
      { prefix_ranges: ranges('10.2.0.0/8') },
    ],
    [
      'an IPv4-mapped range',
      { source_prefix_ranges: ranges('10.0.0.0/8') },
      { source_prefix_ranges: ranges('1.0.0.0/8', '::ffff:10.0.0.0/104') },
    ],
    ['one port in common', { source_ports: [1, 2] }, { source_ports: [2, 3] }],
    ['criteria that never match', { server_names: ['a', 'b'] }, { server_names: ['b'] }],
  ])('must not be that of another chain: %s', (_what, a, b) => {
    expect(reject(listener([chain(a), chain(b)]))).toEqual([
      'filter_chains[1].filter_chain_match: has the same matching criteria as filter_chains[0]',
    ]);
  });

  it.each<[string, Json, Json]>([
    ['a range of all addresses', {}, { prefix_ranges: ranges('0.0.0.0/0') }],
    [
      'all addresses of the other family',
      { prefix_ranges: ranges('::/0') },
      { prefix_ranges: ranges('0.0.0.0/0') },
    ],
    [
      'lengths of prefixes',
      { prefix_ranges: ranges('10.0.0.0/8') },
      { prefix_ranges: ranges('10.0.0.0/9') },
    ],
    ['sources', { source_type: 'EXTERNAL' }, { source_type: 'SAME_IP_OR_LOOPBACK' }],
    ['transport protocols', { transport_protocol: 'raw_buffer' }, {}],
    ['destination ports', { destination_port: 1 }, { destination_port: 2 }],
    [
      'one criterion of two',
      { source_ports: [1], prefix_ranges: ranges('10.0.0.0/8') },
      { source_ports: [1], prefix_ranges: ranges('11.0.0.0/8') },
    ],
  ])('differs from that of another chain by %s', (_what, a, b) => {
    const value = parse(listener([chain(a), chain(b)]));
    expect(value.filterChains.length + value.unmatchable.length).toBe(2);
  });
});

describe('the TLS of a filter chain (gRFC A29)', () => {
  const instance = (instance_name: string): Json => ({ instance_name });
  const ca: Json = { ca_certificate_provider_instance: instance('default') };
  const identity: Json = { tls_certificate_provider_instance: instance('other') };
  const withTls = (context: Json, name = 'envoy.transport_sockets.tls') =>
    listener([
      chain(undefined, {
        transport_socket: { name, typed_config: { '@type': TLS, ...context } },
      }),
    ]);
  const withCommon = (common: Json, context: Json = {}) =>
    withTls({ common_tls_context: { ...identity, ...common }, ...context });
  const tlsOf = (json: Json) => parse(json).filterChains[0]?.tls;
  const rootCertificates = { kind: 'instance', instanceName: 'default', certificateName: '' };

  it('may request no certificates of clients', () => {
    expect(tlsOf(withCommon({}, { require_client_certificate: false }))).toEqual({
      identity: { instanceName: 'other', certificateName: '' },
      clientValidation: undefined,
      requireClientCertificate: false,
    });
  });

  it.each<[string, Json]>([
    ['validation context', { validation_context: {} }],
    ['combined one', { combined_validation_context: { default_validation_context: {} } }],
  ])('requests no certificates of clients for an empty %s', (_form, common) => {
    expect(tlsOf(withCommon(common))).toMatchObject({ clientValidation: undefined });
    expect(reject(withCommon(common, { require_client_certificate: true }))).toHaveLength(1);
  });

  it.each([true, false])('validates the certificates of clients, required: %s', (required) => {
    const matchers = [{ prefix: 'spiffe://td/' }];
    const common = { validation_context: { ...ca, match_subject_alt_names: matchers } };
    expect(tlsOf(withCommon(common, { require_client_certificate: required }))).toMatchObject({
      clientValidation: {
        rootCertificates,
        sanMatchers: [
          { type: 'any', matcher: { kind: 'prefix', text: 'spiffe://td/', ignoreCase: false } },
        ],
      },
      requireClientCertificate: required,
    });
  });

  it('ignores what does not concern gRPC', () => {
    const context = { session_timeout: '1s', require_sni: false, ocsp_staple_policy: 0 };
    expect(tlsOf(withCommon({ alpn_protocols: ['h2'] }, context))).toBeDefined();
  });

  const AT = 'filter_chains[0].transport_socket';
  const COMMON = `${AT}.typed_config.common_tls_context`;

  it.each<[string, Json, string]>([
    [
      'another name',
      withTls({ common_tls_context: identity }, 'tls'),
      `${AT}.name: must be envoy.transport_sockets.tls, not "tls"`,
    ],
    ['no common context', withTls({}), `${COMMON}: field not present`],
    [
      'no certificate',
      withTls({ common_tls_context: {} }),
      `${COMMON}.tls_certificate_provider_instance: field not present`,
    ],
    [
      'an unknown provider',
      withTls({ common_tls_context: { tls_certificate_provider_instance: instance('none') } }),
      `${COMMON}.tls_certificate_provider_instance.instance_name: "none" is not in certificate_providers of the bootstrap`,
    ],
    [
      'a certificate in itself',
      withTls({ common_tls_context: { tls_certificates: [{}] } }),
      `${COMMON}.tls_certificates: unsupported: use tls_certificate_provider_instance`,
    ],
    [
      'the roots of the system',
      withCommon({ validation_context: { system_root_certs: {} } }),
      `${COMMON}.validation_context.ca_certificate_provider_instance: field not present`,
    ],
    [
      'roots from a secret',
      withCommon({ validation_context_sds_secret_config: { name: 's' } }),
      `${COMMON}.validation_context_sds_secret_config: unsupported: use ca_certificate_provider_instance in validation_context`,
    ],
    [
      'required certificates that nothing validates',
      withCommon({}, { require_client_certificate: true }),
      `${AT}.typed_config.require_client_certificate: needs a validation context`,
    ],
    [
      'a required server name',
      withCommon({}, { require_sni: true }),
      `${AT}.typed_config.require_sni: unsupported`,
    ],
    [
      'required staples',
      withCommon({}, { ocsp_staple_policy: 'MUST_STAPLE' }),
      `${AT}.typed_config.ocsp_staple_policy: must be LENIENT_STAPLING, not MUST_STAPLE`,
    ],
    ['parameters', withCommon({ tls_params: {} }), `${COMMON}.tls_params: unsupported`],
    [
      'a handshaker',
      withCommon({ custom_handshaker: { name: 'h' } }),
      `${COMMON}.custom_handshaker: unsupported`,
    ],
    [
      'a revocation list',
      withCommon({ validation_context: { ...ca, crl: { inline_string: '' } } }),
      `${COMMON}.validation_context.crl: unsupported`,
    ],
  ])('is rejected with %s', (_what, json, violation) => {
    expect(reject(json)).toEqual([violation]);
  });
});

describe('the listeners that istiod sends', () => {
  /** Istiod's encoder writes a wrapper such as `BoolValue` as a message. */
  const unwrap = (_key: string, value: unknown): unknown =>
    typeof value === 'object' &&
    value !== null &&
    'value' in value &&
    Object.keys(value).length === 1
      ? value.value
      : value;

  function read(name: string): SocketListener {
    const path = join(__dirname, '..', 'fixtures', 'istiod', `${name}.json`);
    const [listener]: readonly Json[] = JSON.parse(readFileSync(path, 'utf8'), unwrap);
    const entries = Object.entries(listener ?? {}).filter(([field]) => field !== '@type');
    return parse(Object.fromEntries(entries));
  }

  const routes = {
    kind: 'inline',
    routeConfig: {
      name: 'inbound',
      virtualHosts: [
        {
          domains: ['*'],
          routes: [{ action: { kind: 'non-forwarding' } }],
        },
      ],
    },
  };

  it('are for mutual TLS with PeerAuthentication STRICT', () => {
    const own = { instanceName: 'default', certificateName: 'default' };
    const rootCertificates = {
      kind: 'instance',
      instanceName: 'default',
      certificateName: 'ROOTCA',
    };
    expect(read('inbound-strict')).toMatchObject({
      name: 'xds.istio.io/grpc/lds/inbound/10.244.0.2:50051',
      address: { host: '10.244.0.2', port: 50051 },
      filterChains: [
        {
          name: 'inbound-mtls',
          httpConnectionManager: { routes },
          tls: {
            identity: own,
            clientValidation: { rootCertificates, sanMatchers: [] },
            requireClientCertificate: true,
          },
        },
      ],
      defaultFilterChain: undefined,
      unmatchable: [],
    });
  });

  it('are for plaintext with PeerAuthentication DISABLE', () => {
    const [first, ...others] = read('inbound-plaintext').filterChains;
    expect(first).toMatchObject({
      name: 'inbound-plaintext',
      httpConnectionManager: { routes },
      tls: undefined,
    });
    expect(others).toEqual([]);
  });
});
