import { Cluster } from '../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { createClusterResourceType } from '../../src/resources/cluster/cluster-parser';
import type { UpstreamTls } from '../../src/resources/tls/tls';
import { edsClusterJson, type Json } from '../support/xds-json';
import {
  decodeBytes,
  encode,
  encodeMessage,
  extensions,
  types,
  valueOf,
  violationsOf,
} from './decode-json';

const TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
const AT = 'transport_socket.typed_config';
const COMMON = `${AT}.common_tls_context`;
const CONTEXT = `${COMMON}.validation_context`;

/** The types of a client with both features of later gRFCs. */
const complete = createClusterResourceType({ ...extensions, systemRootCerts: true, sni: true });

const instance = (instance_name: string, certificate_name = ''): Json => ({
  instance_name,
  certificate_name,
});
const ca: Json = { ca_certificate_provider_instance: instance('default', 'ROOTCA') };
const cluster = (context: Json, name = 'envoy.transport_sockets.tls'): Json =>
  edsClusterJson('c', { transport_socket: { name, typed_config: { '@type': TYPE, ...context } } });
/** A cluster with a valid context that is changed in one place. */
const withCommon = (common: Json, context: Json = {}): Json =>
  cluster({ common_tls_context: { validation_context: ca, ...common }, ...context });
const withValidation = (validation: Json): Json =>
  withCommon({ validation_context: { ...ca, ...validation } });

const parse = (json: Json, type = complete): UpstreamTls | undefined => valueOf(type, json).tls;
const reject = (json: Json, type = complete) => violationsOf(type, json);

const rootCertificates = { kind: 'instance', instanceName: 'default', certificateName: 'ROOTCA' };

describe('the transport socket of a cluster', () => {
  it('is absent where the control plane asks for no TLS', () => {
    expect(parse(edsClusterJson('c'))).toBeUndefined();
  });

  it('is taken over with everything that it says', () => {
    const json = withCommon(
      {
        tls_certificate_provider_instance: instance('other', 'id'),
        alpn_protocols: ['h2'],
        validation_context: {
          ...ca,
          trusted_ca: { filename: '/ignored' },
          match_subject_alt_names: [
            { exact: 'spiffe://cluster.local/ns/n/sa/s' },
            { prefix: 'SPIFFE://', ignore_case: true },
          ],
          require_signed_certificate_timestamp: false,
        },
      },
      { sni: 'backend.example.com', auto_host_sni: true, auto_sni_san_validation: true },
    );
    expect(parse(json)).toEqual({
      sni: 'backend.example.com',
      autoHostSni: true,
      autoSniSanValidation: true,
      rootCertificates,
      identity: { instanceName: 'other', certificateName: 'id' },
      sanMatchers: [
        {
          type: 'any',
          matcher: { kind: 'exact', text: 'spiffe://cluster.local/ns/n/sa/s', ignoreCase: false },
        },
        { type: 'any', matcher: { kind: 'prefix', text: 'spiffe://', ignoreCase: true } },
      ],
    });
  });

  it.each<[string, Json]>([
    ['the validation context', { validation_context: ca }],
    [
      'the default part of the combined context',
      { combined_validation_context: { default_validation_context: ca } },
    ],
    [
      'the older field of the combined context, if the default part names none',
      {
        combined_validation_context: {
          default_validation_context: {},
          validation_context_certificate_provider_instance: instance('default', 'ROOTCA'),
        },
      },
    ],
    [
      'the older field of the combined context, without a default part',
      {
        combined_validation_context: {
          validation_context_certificate_provider_instance: instance('default', 'ROOTCA'),
        },
      },
    ],
    [
      'the default part rather than the older field',
      {
        combined_validation_context: {
          default_validation_context: ca,
          validation_context_certificate_provider_instance: instance('other'),
        },
      },
    ],
    [
      'the older field',
      { validation_context_certificate_provider_instance: instance('default', 'ROOTCA') },
    ],
  ])('has its root certificates from %s', (_from, common) => {
    expect(parse(cluster({ common_tls_context: common }))).toEqual({
      sni: '',
      autoHostSni: false,
      autoSniSanValidation: false,
      rootCertificates,
      identity: undefined,
      sanMatchers: [],
    });
  });

  it('has its own certificate from the newer field, else from the older one', () => {
    const older: Json = { tls_certificate_certificate_provider_instance: instance('other') };
    const newer: Json = { tls_certificate_provider_instance: instance('default') };
    expect(parse(withCommon(older))?.identity?.instanceName).toBe('other');
    expect(parse(withCommon({ ...older, ...newer }))?.identity?.instanceName).toBe('default');
    const ignored: Json = { tls_certificates: [{}], tls_certificate_sds_secret_configs: [{}] };
    expect(parse(withCommon({ ...newer, ...ignored }))?.identity?.instanceName).toBe('default');
  });

  it('may use the roots of the system (gRFC A82), unless it names an instance', () => {
    const system: Json = { system_root_certs: {} };
    const alone = withCommon({ validation_context: system });
    expect(parse(alone)?.rootCertificates).toEqual({ kind: 'system' });
    expect(parse(withValidation(system))?.rootCertificates).toEqual(rootCertificates);
    expect(reject(alone, types.cluster)).toEqual([
      `${CONTEXT}.ca_certificate_provider_instance: field not present`,
    ]);
  });

  it('has typed matchers for names, which replace the others as in Envoy', () => {
    const typed = (san_type: string): Json => ({ san_type, matcher: { exact: 'x' } });
    const json = withValidation({
      match_typed_subject_alt_names: ['EMAIL', 'DNS', 'URI', 'IP_ADDRESS'].map(typed),
      match_subject_alt_names: [{ exact: 'y' }],
    });
    const matcher = { kind: 'exact', text: 'x', ignoreCase: false };
    expect(parse(json)?.sanMatchers).toEqual(
      ['email', 'dns', 'uri', 'ip'].map((type) => ({ type, matcher })),
    );
  });
});

describe('the contexts of a cluster in several fields of the same number', () => {
  const TLS = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
  const names: Json = { match_subject_alt_names: [{ exact: 'a.example.com' }] };
  /** A cluster whose context is the encodings of several, one after the other: the merged context. */
  const merged = (...commons: readonly Json[]) => {
    const contexts = commons.map((common) => encodeMessage(TLS, { common_tls_context: common }));
    const any = { typeUrl: TYPE, value: Buffer.concat(contexts) };
    const bytes = Cluster.decode(encode(types.cluster, edsClusterJson('c')));
    const configType = { $case: 'typedConfig' as const, value: any };
    const transportSocket = { name: 'envoy.transport_sockets.tls', configType };
    return Cluster.encode({ ...bytes, transportSocket }).finish();
  };

  it.each<[string, readonly Json[]]>([
    ['names and then the roots', [{ validation_context: names }, { validation_context: ca }]],
    ['roots and then the names', [{ validation_context: ca }, { validation_context: names }]],
  ])('keep the names of servers: %s', (_case, commons) => {
    const { result } = decodeBytes(types.cluster, merged(...commons));
    if (!result.ok) throw new Error(result.error.join());
    expect(result.value.tls?.sanMatchers).toHaveLength(1);
  });
});

describe('the transport socket of a cluster is rejected', () => {
  it.each<[string, Json, readonly string[]]>([
    [
      'a socket of another name',
      cluster({ common_tls_context: { validation_context: ca } }, 'tls'),
      ['transport_socket.name: must be envoy.transport_sockets.tls, not "tls"'],
    ],
    ['no common context', cluster({}), [`${COMMON}: field not present`]],
    [
      'no validation context',
      cluster({ common_tls_context: {} }),
      [`${COMMON}: must have validation_context or combined_validation_context`],
    ],
    [
      'no default part in the combined context',
      cluster({ common_tls_context: { combined_validation_context: {} } }),
      [`${COMMON}.combined_validation_context.default_validation_context: field not present`],
    ],
    [
      'a validation context from SDS',
      cluster({ common_tls_context: { validation_context_sds_secret_config: { name: 's' } } }),
      [
        `${COMMON}.validation_context_sds_secret_config: unsupported: use ca_certificate_provider_instance in validation_context`,
      ],
    ],
    [
      'no root certificates',
      withCommon({ validation_context: { trusted_ca: { filename: '/ca.pem' } } }),
      [`${CONTEXT}.ca_certificate_provider_instance: field not present`],
    ],
    [
      'instances that the bootstrap does not have',
      cluster({
        common_tls_context: {
          tls_certificate_provider_instance: instance('who'),
          validation_context: { ca_certificate_provider_instance: instance('') },
        },
      }),
      [
        `${COMMON}.tls_certificate_provider_instance.instance_name: "who" is not in certificate_providers of the bootstrap`,
        `${CONTEXT}.ca_certificate_provider_instance.instance_name: "" is not in certificate_providers of the bootstrap`,
      ],
    ],
    [
      'an unknown instance in an older field, although all else is right',
      withCommon({ tls_certificate_certificate_provider_instance: instance('who') }),
      [
        `${COMMON}.tls_certificate_certificate_provider_instance.instance_name: "who" is not in certificate_providers of the bootstrap`,
      ],
    ],
    [
      'certificates in the message or from SDS',
      withCommon({ tls_certificates: [{}], tls_certificate_sds_secret_configs: [{ name: 's' }] }),
      [
        `${COMMON}.tls_certificates: unsupported: use tls_certificate_provider_instance`,
        `${COMMON}.tls_certificate_sds_secret_configs: unsupported: use tls_certificate_provider_instance`,
      ],
    ],
    [
      'parameters and a handshaker of its own',
      withCommon({ tls_params: {}, custom_handshaker: { name: 'h' } }),
      [`${COMMON}.tls_params: unsupported`, `${COMMON}.custom_handshaker: unsupported`],
    ],
    [
      'checks that this client does not make',
      withValidation({
        verify_certificate_spki: ['x'],
        verify_certificate_hash: ['x'],
        require_signed_certificate_timestamp: true,
        crl: { filename: '/crl.pem' },
        custom_validator_config: { name: 'v' },
        max_verify_depth: 0,
      }),
      [
        `${CONTEXT}.verify_certificate_spki: unsupported`,
        `${CONTEXT}.verify_certificate_hash: unsupported`,
        `${CONTEXT}.require_signed_certificate_timestamp: unsupported`,
        `${CONTEXT}.crl: unsupported`,
        `${CONTEXT}.custom_validator_config: unsupported`,
        `${CONTEXT}.max_verify_depth: unsupported`,
      ],
    ],
    [
      'matchers that match nothing or anything',
      withValidation({ match_subject_alt_names: [{ prefix: '' }, {}] }),
      [
        `${CONTEXT}.match_subject_alt_names[0].prefix: must not be empty`,
        `${CONTEXT}.match_subject_alt_names[1]: must have exact, prefix, suffix, contains or safe_regex`,
      ],
    ],
    [
      'typed matchers without a type that is supported, or without a matcher',
      withValidation({
        match_typed_subject_alt_names: [
          { matcher: { exact: 'x' } },
          { san_type: 'OTHER_NAME', matcher: { exact: 'x' } },
          { san_type: 'DNS' },
        ],
      }),
      [
        `${CONTEXT}.match_typed_subject_alt_names[0].san_type: must be EMAIL, DNS, URI or IP_ADDRESS, but is SAN_TYPE_UNSPECIFIED`,
        `${CONTEXT}.match_typed_subject_alt_names[1].san_type: must be EMAIL, DNS, URI or IP_ADDRESS, but is OTHER_NAME`,
        `${CONTEXT}.match_typed_subject_alt_names[2].matcher: field not present`,
      ],
    ],
    [
      'a server name of 256 characters (gRFC A101)',
      withCommon({}, { sni: 'x'.repeat(256) }),
      [`${AT}.sni: must not be longer than 255 characters, but has 256`],
    ],
  ])('with %s', (_what, json, violations) => {
    expect(reject(json)).toEqual(violations);
  });

  it('accepts a server name of 255 characters', () => {
    expect(parse(withCommon({}, { sni: 'x'.repeat(255) }))?.sni).toHaveLength(255);
  });
});
