// Security configurations that are rejected, and fields that are ignored (gRFC A29).

import { fails, overTls, tls } from '../contexts';
import type { TlsCase } from '../tls-case';
import type { Json } from '../../support/xds-json';

const instance = { instance_name: 'root' };
const IDENTITY = { tls_certificate_provider_instance: instance };
const ROOTS = { ca_certificate_provider_instance: instance };
const extension = {
  name: 'x',
  typed_config: { '@type': 'type.googleapis.com/google.protobuf.StringValue', value: 'x' },
};
const inline = { inline_string: 'x' };

/** By the part of the text that names the field. */
const rejected: Readonly<Record<string, Json>> = {
  tls_params: tls({ common: { tls_params: {} } }),
  custom_handshaker: tls({ common: { custom_handshaker: extension } }),
  verify_certificate_spki: tls({ validation: { verify_certificate_spki: ['AA=='] } }),
  verify_certificate_hash: tls({ validation: { verify_certificate_hash: ['00'] } }),
  require_signed_certificate_timestamp: tls({
    validation: { require_signed_certificate_timestamp: true },
  }),
  crl: tls({ validation: { crl: inline } }),
  custom_validator_config: tls({ validation: { custom_validator_config: extension } }),
  max_verify_depth: tls({ validation: { max_verify_depth: 1 } }),
  tls_certificates: tls({ common: { tls_certificates: [{ certificate_chain: inline }] } }),
  tls_certificate_sds_secret_configs: tls({
    common: { tls_certificate_sds_secret_configs: [{ name: 'x' }] },
  }),
  validation_context_sds_secret_config: {
    common_tls_context: { validation_context_sds_secret_config: { name: 'x' } },
  },
  'must have validation_context': { common_tls_context: IDENTITY },
  'common_tls_context: field not present': {},
  'ca_certificate_provider_instance: field not present': {
    common_tls_context: { validation_context: {} },
  },
  'ca_certificate_provider_instance.instance_name: "unknown" is not': tls({ roots: 'unknown' }),
  'tls_certificate_provider_instance.instance_name: "unknown" is not': tls({ identity: 'unknown' }),
  'match_subject_alt_names[0].prefix': tls({
    validation: { match_subject_alt_names: [{ prefix: '' }] },
  }),
  'match_subject_alt_names[0].safe_regex': tls({
    validation: { match_subject_alt_names: [{ safe_regex: { regex: '(' } }] },
  }),
  'match_typed_subject_alt_names[0].san_type': tls({
    validation: { match_typed_subject_alt_names: [{ matcher: { exact: 'x' } }] },
  }),
  'match_typed_subject_alt_names[0].matcher': tls({
    validation: { match_typed_subject_alt_names: [{ san_type: 'DNS' }] },
  }),
};

/** Configurations that are as good as the shortest one. */
const accepted: Readonly<Record<string, Json>> = {
  'alpn_protocols, ignored': tls({ common: { alpn_protocols: ['http/1.1'] } }),
  'trusted_ca, ignored': tls({ validation: { trusted_ca: inline } }),
  'require_signed_certificate_timestamp: false': tls({
    validation: { require_signed_certificate_timestamp: false },
  }),
  'the older field of the identity': {
    common_tls_context: {
      tls_certificate_certificate_provider_instance: instance,
      validation_context: ROOTS,
    },
  },
  'the older field of the roots': {
    common_tls_context: { validation_context_certificate_provider_instance: instance },
  },
  'a combined context': {
    common_tls_context: {
      combined_validation_context: { default_validation_context: ROOTS },
    },
  },
  'a combined context with the older field': {
    common_tls_context: {
      combined_validation_context: {
        default_validation_context: {},
        validation_context_certificate_provider_instance: instance,
      },
    },
  },
  'the newer fields before the older ones': {
    common_tls_context: {
      tls_certificate_certificate_provider_instance: { instance_name: 'key of another' },
      ...IDENTITY,
      combined_validation_context: {
        default_validation_context: ROOTS,
        validation_context_certificate_provider_instance: { instance_name: 'other-root' },
      },
    },
  },
};

const typed = (type: string, content: Json = {}): Json => ({
  '@type': `type.googleapis.com/envoy.extensions.transport_sockets.${type}`,
  ...content,
});
const sockets: Readonly<Record<string, readonly [socket: Json, text: string]>> = {
  'another name': [
    { name: 'tls', typed_config: typed('tls.v3.UpstreamTlsContext', tls()) },
    'must be envoy.transport_sockets.tls',
  ],
  'without a config': [{ name: 'envoy.transport_sockets.tls' }, 'typed_config'],
  'another type': [
    { name: 'envoy.transport_sockets.tls', typed_config: extension.typed_config },
    'typed_config',
  ],
};

export const configurationCases: readonly TlsCase[] = [
  ...Object.entries(rejected).map(([text, context]) => ({
    group: 'configuration: rejected',
    name: text,
    tls: context,
    expected: fails(text),
  })),
  ...Object.entries(sockets).map(([name, [socket, text]]) => ({
    group: 'configuration: rejected',
    name: `transport_socket: ${name}`,
    socket,
    expected: fails(text),
  })),
  {
    group: 'configuration: rejected',
    name: 'under TLS credentials of the application',
    credentials: 'tls',
    tls: tls({ common: { tls_params: {} } }),
    expected: fails('tls_params'),
  },
  ...Object.entries(accepted).map(([name, context]) => ({
    group: 'configuration: accepted',
    name,
    tls: context,
    expected: overTls(),
  })),
];
