import type { SocketListener } from '../../../src/resources/listener/listener';
import { isSameListener } from '../../../src/server/listener/usable-listener';
import { createClientParts } from '../../../src/runtime/examine/client-parts';
import { systemClock } from '../../../src/util/clock';
import { encode, serverWith } from '../../resources/decode-json';
import { routerFilter, socketListenerJson, type Json } from '../../support/xds-json';
import { inlineRoutes, rbacFilter, serverChain, strictTls } from '../../support/xds-server-world';
import { decodeWhole } from '../../../src/xds-client/resource-type';

const { types } = createClientParts({ clock: systemClock, env: {} });
const certificateProviders = new Set(['default']);

interface Parts {
  readonly listener?: Json;
  readonly chain?: Json;
  readonly manager?: Json;
  readonly tls?: Json;
  readonly route?: Json;
  readonly host?: Json;
  readonly rbac?: Json;
  readonly others?: readonly Json[];
}

/** A listener with one chain, which has TLS, RBAC and a route, and with parts that are added. */
function listenerWith(parts: Parts = {}): Json {
  const rbac = rbacFilter('DENY', [{ url_path: { path: { safe_regex: { regex: '/a.*' } } } }]);
  const config = rbac.typed_config as Json;
  const route = { match: { prefix: '' }, non_forwarding_action: {}, ...parts.route };
  const host = { name: 'all', domains: ['*'], routes: [route], ...parts.host };
  const manager = {
    route_config: { virtual_hosts: [host] },
    http_filters: [{ ...rbac, typed_config: { ...config, ...parts.rbac } }, routerFilter],
    ...parts.manager,
  };
  const chain = serverChain(manager, { name: 'one', ...strictTls(parts.tls), ...parts.chain });
  return socketListenerJson('inbound', [chain, ...(parts.others ?? [])], parts.listener);
}

function read(parts: Parts): SocketListener {
  return decode(encode(types.listener, listenerWith(parts)));
}

function decode(bytes: Uint8Array): SocketListener {
  const context = { server: serverWith(), certificateProviders, previous: () => undefined };
  const { result } = decodeWhole(types.listener, bytes, context);
  if (!result.ok) throw new Error(result.error.join('\n'));
  const { value } = result;

  if (value.kind !== 'socket') throw new Error('not for servers');
  return value;
}

const same = (a: Parts, b: Parts) => isSameListener(read(a), read(b));

const instance = { instance_name: 'default' };
const tlsInstances: Json = {
  tls_certificate_provider_instance: instance,
  validation_context: { ca_certificate_provider_instance: instance },
};

/** A chain that no connection matches. */
const unmatchable = (name: string): Json => ({
  ...serverChain(),
  name,
  filter_chain_match: { transport_protocol: 'tls' },
});

const plainText: Json = {
  ...serverChain(),
  name: 'plain',
  filter_chain_match: { transport_protocol: 'raw_buffer' },
};

describe('listeners are the same to a server that differ in', () => {
  it.each<[string, Parts, Parts?]>([
    ['metadata of a virtual host', { host: { metadata: { filter_metadata: { a: { b: 1 } } } } }],
    ['metadata of a route', { route: { metadata: { filter_metadata: { a: { b: 1 } } } } }],
    [
      'the protocols of TLS',
      { tls: { common_tls_context: { ...tlsInstances, alpn_protocols: ['h2'] } } },
    ],
    [
      'stapling',
      { tls: { ocsp_staple_policy: 'LENIENT_STAPLING' } },
      { tls: { require_sni: false } },
    ],
    [
      'the name of the network filter',
      {
        chain: { filters: serverChain(inlineRoutes(), {}).filters },
      },
      {
        chain: {
          filters: (serverChain().filters as readonly Json[]).map((each) => ({
            ...each,
            name: 'other',
          })),
        },
      },
    ],
    ['the direction', { listener: { traffic_direction: 'INBOUND' } }],
    ['a statistics prefix of the manager', { manager: { stat_prefix: 'x' } }],
    [
      'a timeout of calls of clients',
      {
        manager: { common_http_protocol_options: { max_stream_duration: '9s' } },
      },
    ],
    [
      'chains that match no connection',
      { others: [unmatchable('a')] },
      { others: [unmatchable('b')] },
    ],
    [
      'the way to write an address',
      {
        listener: { address: { socket_address: { address: '::ffff:10.0.0.1', port_value: 8080 } } },
      },
    ],
  ])('%s', (_, extra, other = {}) => {
    const [a, b] = [read(other), read(extra)];
    expect(Buffer.compare(a.encoded, b.encoded)).not.toBe(0);
    expect(isSameListener(a, b)).toBe(true);
  });
});

it('listeners are the same that differ in fields and extensions that are not read', () => {
  const one = read({});
  // Field 1000, a number.
  const unknown = Buffer.from([0xc0, 0x3e, 1]);
  const bytes = Buffer.concat([one.encoded, unknown]);
  const other = decode(bytes);
  expect(isSameListener(one, other)).toBe(true);
});

describe('listeners are not the same that differ in', () => {
  it.each<[string, Parts]>([
    ['the match of a chain', { chain: { filter_chain_match: { source_type: 'EXTERNAL' } } }],
    ['the name of a chain', { chain: { name: 'two' } }],
    ['the number of chains', { others: [plainText] }],
    ['the default chain', { listener: { default_filter_chain: serverChain() } }],
    ['required certificates', { tls: { require_client_certificate: false } }],
    ['a filter', { manager: { http_filters: [routerFilter] } }],
    ['rules', { rbac: rbacFilter('ALLOW', [{ any: true }]).typed_config as Json }],
    ['a route', { route: { match: { prefix: '/a' } } }],
    ['the domains of a virtual host', { host: { domains: ['a.example'] } }],
    [
      'audits',
      {
        rbac: {
          rules: {
            ...((rbacFilter('DENY', [{ any: true }]).typed_config as Json).rules as Json),
            audit_logging_options: { audit_condition: 'ON_DENY' },
          },
        },
      },
    ],
  ])('%s', (_, extra) => {
    expect(same({}, extra)).toBe(false);
    expect(same(extra, {})).toBe(false);
    expect(same(extra, extra)).toBe(true);
  });
});
