// Configurations that differ in the fields of the context.
import {
  accept,
  common,
  ID,
  identity,
  IDENTITY,
  instance,
  MESH,
  mutual,
  names,
  regex,
  reject,
  roots,
  ROOTS,
  system,
} from './contexts.mjs';

/** By title: the context, and what becomes of a call to the server `spiffe`, which requires a certificate of clients. */
export const fields = {
  'no matchers': [mutual(), accept],
  'the older field of the identity': [
    common({ tls_certificate_certificate_provider_instance: MESH, validation_context: ROOTS }),
    accept,
  ],
  'both fields of the identity': [
    common({
      tls_certificate_certificate_provider_instance: instance('stranger'),
      tls_certificate_provider_instance: MESH,
      validation_context: ROOTS,
    }),
    accept,
  ],
  'the older fields of both': [
    common({
      tls_certificate_certificate_provider_instance: MESH,
      validation_context_certificate_provider_instance: MESH,
    }),
    accept,
  ],
  'the older field of the roots': [
    common({ ...IDENTITY, validation_context_certificate_provider_instance: MESH }),
    accept,
  ],
  'combined: the roots by default': [
    common({ ...IDENTITY, combined_validation_context: { default_validation_context: ROOTS } }),
    accept,
  ],
  'combined: the older field of the roots': [
    common({
      ...IDENTITY,
      combined_validation_context: {
        default_validation_context: {},
        validation_context_certificate_provider_instance: MESH,
      },
    }),
    accept,
  ],
  'combined: both fields of the roots': [
    common({
      ...IDENTITY,
      combined_validation_context: {
        default_validation_context: ROOTS,
        validation_context_certificate_provider_instance: instance('other-roots'),
      },
    }),
    accept,
  ],
  'combined: as istiod sends it': [
    common({
      tls_certificate_certificate_provider_instance: instance('default', 'default'),
      tls_certificate_provider_instance: instance('default', 'default'),
      combined_validation_context: {
        default_validation_context: {
          ca_certificate_provider_instance: instance('default', 'ROOTCA'),
          match_subject_alt_names: [{ exact: ID }],
        },
        validation_context_certificate_provider_instance: instance('default', 'ROOTCA'),
      },
    }),
    accept,
  ],
  'combined: as istiod sends it, another service account': [
    common({
      tls_certificate_provider_instance: instance('default', 'default'),
      combined_validation_context: {
        default_validation_context: {
          ca_certificate_provider_instance: instance('default', 'ROOTCA'),
          match_subject_alt_names: [{ exact: 'spiffe://td.test/ns/a/sa/other' }],
        },
      },
    }),
    reject,
  ],
  'combined: a matcher that is not satisfied': [
    common({
      ...IDENTITY,
      combined_validation_context: {
        default_validation_context: { ...ROOTS, match_subject_alt_names: [{ exact: 'x' }] },
      },
    }),
    reject,
  ],
  'combined: nothing by default': [
    common({ ...IDENTITY, combined_validation_context: {} }),
    reject,
  ],
  'a name of the certificates': [
    common({
      tls_certificate_provider_instance: instance('mesh', 'x'),
      validation_context: { ca_certificate_provider_instance: instance('mesh', 'y') },
    }),
    accept,
  ],
  'no identity': [identity(undefined), reject],
  'an identity of another authority': [roots('stranger'), reject],
  'an instance without an identity': [identity('roots-only'), reject],
  'an instance without roots': [roots('identity-only'), reject],
  'roots of an instance without an identity': [
    mutual({ ca_certificate_provider_instance: instance('roots-only') }),
    accept,
  ],
  'the identity of an instance without roots': [
    common({
      tls_certificate_provider_instance: instance('identity-only'),
      validation_context: ROOTS,
    }),
    accept,
  ],
  'roots of another authority': [roots('other-roots'), reject],
  'roots of another authority, of another instance than the identity': [
    mutual({ ca_certificate_provider_instance: instance('other-roots') }),
    reject,
  ],
  'an intermediate authority as the only root': [roots('intermediate'), reject],
  'files that do not exist': [roots('absent'), reject],
  'unknown instance: roots': [roots('unheard-of'), reject],
  'unknown instance: identity': [identity('unheard-of'), reject],
  'no context at all': [{}, reject],
  'an empty context': [common({}), reject],
  'no roots': [common({ ...IDENTITY, validation_context: {} }), reject],
  'no roots, only matchers': [
    common({ ...IDENTITY, validation_context: { match_subject_alt_names: [{ exact: ID }] } }),
    reject,
  ],
  'TLS parameters': [common({ ...IDENTITY, validation_context: ROOTS, tls_params: {} }), reject],
  'ALPN protocols': [
    common({ ...IDENTITY, validation_context: ROOTS, alpn_protocols: ['h2'] }),
    accept,
  ],
  'a custom handshaker': [
    common({ ...IDENTITY, validation_context: ROOTS, custom_handshaker: { name: 'x' } }),
    reject,
  ],
  'certificates in the resource, without an instance': [
    common({
      tls_certificates: [{ certificate_chain: { filename: '/x' } }],
      validation_context: ROOTS,
    }),
    reject,
  ],
  'certificates by SDS, without an instance': [
    common({
      tls_certificate_sds_secret_configs: [{ name: 'x' }],
      validation_context: ROOTS,
    }),
    reject,
  ],
  'roots by SDS': [
    common({ ...IDENTITY, validation_context_sds_secret_config: { name: 'x' } }),
    reject,
  ],
  'roots in the resource': [
    common({ ...IDENTITY, validation_context: { trusted_ca: { filename: '/x' } } }),
    reject,
  ],
  verify_certificate_spki: [mutual({ verify_certificate_spki: ['x'] }), reject],
  verify_certificate_hash: [mutual({ verify_certificate_hash: ['00'] }), reject],
  require_signed_certificate_timestamp: [
    mutual({ require_signed_certificate_timestamp: true }),
    reject,
  ],
  'require_signed_certificate_timestamp: false': [
    mutual({ require_signed_certificate_timestamp: false }),
    accept,
  ],
  'a list of revoked certificates': [mutual({ crl: { filename: '/x' } }), reject],
  'a custom validator': [mutual({ custom_validator_config: { name: 'x' } }), reject],
  max_verify_depth: [mutual({ max_verify_depth: 1 }), reject],
  allow_expired_certificate: [mutual({ allow_expired_certificate: true }), accept],
  'accept untrusted': [mutual({ trust_chain_verification: 'ACCEPT_UNTRUSTED' }), accept],
  allow_renegotiation: [mutual({}, { allow_renegotiation: true }), accept],
  max_session_keys: [mutual({}, { max_session_keys: 0 }), accept],
  'a matcher: empty exact': [names({ exact: '' }), reject],
  'a matcher: empty prefix': [names({ prefix: '' }), reject],
  'a matcher: empty suffix': [names({ suffix: '' }), reject],
  'a matcher: a regular expression that is none': [names(regex('a(')), reject],
  'a matcher: without a pattern': [names({}), reject],
  'the roots of the system, which are others': [system(), reject],
  'the roots of the system beside an instance': [mutual({ system_root_certs: {} }), accept],
  'sni: one that the server has': [mutual({}, { sni: 'server.test' }), accept],
  'sni: one that the server has not': [mutual({}, { sni: 'a.test' }), accept],
  'sni: an address': [mutual({}, { sni: '127.0.0.1' }), accept],
  'sni: 255 characters': [
    mutual({}, { sni: `${'a'.repeat(63)}.`.repeat(3) + 'a'.repeat(63) }),
    accept,
  ],
  'sni: 256 characters': [mutual({}, { sni: `${'a'.repeat(63)}.`.repeat(4) }), reject],
};
