// Listeners of servers whose TLS changes.
import { typed } from '../harness/resources.mjs';
import { chain, chains } from './server-listener.mjs';

const TLS = 'envoy.extensions.transport_sockets.tls.v3';
const IDENTITY = { tls_certificate_provider_instance: { instance_name: 'default' } };
const ROOTS = { ca_certificate_provider_instance: { instance_name: 'default' } };
const UNKNOWN = { instance_name: 'unknown' };

const socket = (typed_config, name = 'envoy.transport_sockets.tls') =>
  chains(chain(undefined, { transport_socket: { name, ...(typed_config && { typed_config }) } }));
const tls = (context) => socket(typed(`${TLS}.DownstreamTlsContext`, context));
/** With a common context, and changes of what is around it. */
const common = (context, rest = {}) => tls({ common_tls_context: context, ...rest });
/** With an identity and changes of the common context. */
const identity = (changes) => common({ ...IDENTITY, ...changes });
const around = (rest) => common(IDENTITY, rest);
/** With an identity and a validation context. */
const validation = (changes, rest) =>
  common({ ...IDENTITY, validation_context: { ...ROOTS, ...changes } }, rest);
const required = { require_client_certificate: true };
const extension = { name: 'x', typed_config: typed('interop.test.Unknown') };
const names = [{ exact: 'spiffe://td/ns/a/sa/web' }];
const secret = { name: 'x', sds_config: { ads: {} } };

export const serverTlsVariants = {
  tls: {
    'an identity': common(IDENTITY),
    'an identity and roots': validation({}),
    'an identity and roots, required': validation({}, required),
    'roots as a default, required': common(
      { ...IDENTITY, combined_validation_context: { default_validation_context: ROOTS } },
      required,
    ),
    'required: false': around({ require_client_certificate: false }),
    'required without roots': around(required),
    'the deprecated fields': common(
      {
        tls_certificate_certificate_provider_instance: { instance_name: 'default' },
        validation_context_certificate_provider_instance: { instance_name: 'default' },
      },
      required,
    ),
    'no configuration': socket(undefined),
    'an empty context': tls({}),
    'an empty common context': common({}),
    'another name': socket(
      typed(`${TLS}.DownstreamTlsContext`, { common_tls_context: IDENTITY }),
      'tls',
    ),
    'the context of a client': socket(
      typed(`${TLS}.UpstreamTlsContext`, { common_tls_context: IDENTITY }),
    ),
    raw_buffer: socket(
      typed('envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer'),
      'envoy.transport_sockets.raw_buffer',
    ),
    'roots without an identity': common({ validation_context: ROOTS }),
    'an unknown identity': common({ tls_certificate_provider_instance: UNKNOWN }),
    'unknown roots': validation({ ca_certificate_provider_instance: UNKNOWN }),
    'unknown roots, required': validation({ ca_certificate_provider_instance: UNKNOWN }, required),
    'a validation context without roots': common({ ...IDENTITY, validation_context: {} }),
    'a validation context without roots, required': common(
      { ...IDENTITY, validation_context: {} },
      required,
    ),
    'a combined context without roots': common({
      ...IDENTITY,
      combined_validation_context: { default_validation_context: {} },
    }),
    'names without roots': common({
      ...IDENTITY,
      validation_context: { match_subject_alt_names: names },
    }),
    'roots of the system': common({ ...IDENTITY, validation_context: { system_root_certs: {} } }),
    'roots in a file': common({
      ...IDENTITY,
      validation_context: { trusted_ca: { filename: '/tmp/x' } },
    }),
    'roots by SDS': identity({ validation_context_sds_secret_config: secret }),
    'an identity by SDS': common({ tls_certificate_sds_secret_configs: [secret] }),
    'an identity by SDS, too': identity({ tls_certificate_sds_secret_configs: [secret] }),
    'an identity in a file': common({
      tls_certificates: [{ certificate_chain: { filename: '/tmp/x' } }],
    }),
    'a required server name': around({ require_sni: true }),
    'a required server name: false': around({ require_sni: false }),
    'strict stapling': around({ ocsp_staple_policy: 'STRICT_STAPLING' }),
    'required stapling': around({ ocsp_staple_policy: 'MUST_STAPLE' }),
    parameters: identity({ tls_params: {} }),
    'a custom handshaker': identity({ custom_handshaker: extension }),
    'key hashes': validation({ verify_certificate_spki: ['eA=='] }),
    'certificate hashes': validation({ verify_certificate_hash: ['x'] }),
    'signed timestamps': validation({ require_signed_certificate_timestamp: true }),
    'signed timestamps: false': validation({ require_signed_certificate_timestamp: false }),
    'a revocation list': validation({ crl: { filename: '/tmp/x' } }),
    'a custom validator': validation({ custom_validator_config: extension }),
    'a depth of verification': validation({ max_verify_depth: 3 }),
    names: validation({ match_subject_alt_names: names }),
    'typed names': validation({
      match_typed_subject_alt_names: [{ san_type: 'URI', matcher: names[0] }],
    }),
    'an empty name': validation({ match_subject_alt_names: [{ prefix: '' }] }),
    'trusted files, too': validation({ trusted_ca: { filename: '/tmp/x' } }),
    'a watched directory': validation({ watched_directory: { path: '/tmp' } }),
    'expired certificates': validation({ allow_expired_certificate: true }),
    'untrusted certificates': validation({ trust_chain_verification: 'ACCEPT_UNTRUSTED' }),
    'protocols of ALPN': identity({ alpn_protocols: ['h2'] }),
    'a lifetime of sessions': around({ session_timeout: '5s' }),
    'keys of session tickets': around({ session_ticket_keys: {} }),
    'no session tickets': around({ disable_stateless_session_resumption: true }),
  },
};
