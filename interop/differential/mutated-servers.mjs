// Listeners of servers that use many fields, each of which is then changed in every way.
import { typed } from '../harness/resources.mjs';
import {
  chain,
  filters,
  hcm,
  httpFilter,
  listener,
  router,
  routesWith,
} from './server-listener.mjs';

const TLS = 'envoy.extensions.transport_sockets.tls.v3';
const RBAC = 'envoy.extensions.filters.http.rbac.v3';
const instance = { instance_name: 'default', certificate_name: 'c' };
const regex = (text) => ({ regex: text });
const range = (address_prefix, prefix_len) => ({ address_prefix, prefix_len });

const downstreamTls = (context, rest) =>
  listener({
    filter_chains: [
      chain(undefined, {
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: typed(`${TLS}.DownstreamTlsContext`, {
            common_tls_context: context,
            ...rest,
          }),
        },
      }),
    ],
  });

const rules = (permissions, principals, rest = {}) => ({
  rules: { action: 'DENY', policies: { p: { permissions, principals } }, ...rest },
});
const rbac = (permissions, principals, rest) =>
  filters(httpFilter('rbac', `${RBAC}.RBAC`, rules(permissions, principals, rest)));
const any = [{ any: true }];

const optionalUnknown = {
  name: 'unknown',
  typed_config: typed('interop.test.UnknownFilter'),
  is_optional: true,
};

/** By title: Listeners as functions of the server. */
export const serverBases = {
  chains: listener({
    traffic_direction: 'INBOUND',
    filter_chains: [
      chain(
        {
          prefix_ranges: [range('10.0.0.0', 8), range('2001:db8::', 32)],
          source_prefix_ranges: [range('11.0.0.0', 8)],
          source_ports: [80],
          source_type: 'EXTERNAL',
          transport_protocol: 'raw_buffer',
        },
        { name: 'first' },
      ),
      chain({ destination_port: 80, server_names: ['shop.test'], application_protocols: ['h2'] }),
    ],
    default_filter_chain: chain(
      { prefix_ranges: [range('10.0.0.0', 8)], source_type: 'EXTERNAL', source_ports: [1] },
      { name: 'default' },
    ),
  }),
  'original destination': listener({ use_original_dst: false }),
  manager: hcm({
    common_http_protocol_options: { max_stream_duration: '1s' },
    http_filters: [optionalUnknown, router],
  }),
  routes: hcm(
    routesWith(
      {
        name: 'r',
        match: {
          prefix: '/shop/',
          headers: [{ name: 'a', string_match: { prefix: 'x' } }],
          runtime_fraction: { default_value: { numerator: 5, denominator: 'HUNDRED' } },
        },
        typed_per_filter_config: {
          rbac: typed(`${RBAC}.RBACPerRoute`, { rbac: rules(any, any) }),
        },
      },
      { domains: ['shop.test', '*'] },
    ),
  ),
  TLS: downstreamTls(
    {
      tls_certificate_provider_instance: instance,
      validation_context: {
        ca_certificate_provider_instance: instance,
      },
    },
    {
      require_client_certificate: true,
      full_scan_certs_on_sni_mismatch: false,
      disable_stateless_session_resumption: false,
    },
  ),
  'TLS, not required': downstreamTls({
    tls_certificate_provider_instance: instance,
    validation_context: { ca_certificate_provider_instance: instance },
  }),
  'TLS, combined': downstreamTls(
    {
      tls_certificate_provider_instance: instance,
      combined_validation_context: {
        default_validation_context: { ca_certificate_provider_instance: instance },
      },
    },
    { require_client_certificate: true },
  ),
  permissions: rbac(
    [
      { and_rules: { rules: any } },
      { or_rules: { rules: any } },
      { any: true },
      { header: { name: 'h', safe_regex_match: regex('x') } },
      { url_path: { path: { exact: '/shop/Buy' } } },
      { url_path: { path: { safe_regex: regex('/shop/.*') } } },
      { destination_ip: range('10.0.0.0', 8) },
      { destination_port: 80 },
      { not_rule: { any: true } },
      { metadata: { filter: 'f', path: [{ key: 'k' }], value: { present_match: true } } },
      { requested_server_name: { exact: '' } },
    ],
    any,
  ),
  principals: rbac(any, [
    { and_ids: { ids: any } },
    { or_ids: { ids: any } },
    { any: true },
    { authenticated: { principal_name: { exact: 'spiffe://a' } } },
    { authenticated: { principal_name: { safe_regex: regex('spiffe://.*') } } },
    { source_ip: range('10.0.0.0', 8) },
    { direct_remote_ip: range('10.0.0.0', 8) },
    { remote_ip: range('::1', 128) },
    { header: { name: 'h', exact_match: 'x' } },
    { url_path: { path: { prefix: '/shop' } } },
    { not_id: { any: true } },
  ]),
  audit: rbac(any, any, {
    audit_logging_options: {
      audit_condition: 'ON_DENY',
      logger_configs: [
        {
          audit_logger: {
            name: 'stdout',
            typed_config: typed('envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog'),
          },
          is_optional: false,
        },
      ],
    },
  }),
};
