import type {
  CertificateValidationContext,
  TlsCertificate,
} from '../../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/common';
import { Secret } from '../../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/secret';
import { SPIFFECertValidatorConfig } from '../../../src/wire/generated/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config';
import { parseSdsConfig } from '../../../src/security/providers/sds';
import {
  createIdentitySecretType,
  createRootsSecretType,
} from '../../../src/security/providers/secret-parser';
import { Violations } from '../../../src/util/violations';
import { decodeWhole, type ResourceType } from '../../../src/xds-client/resource-type';
import { identitySecret, rootsSecret } from '../../support/sds-server';
import { TestCertificates } from '../../support/test-certificates';
import { serverConfig } from '../../xds-client/harness';

// The config of the certificate provider sds, and which secrets it accepts.

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const leaf = root.sign('leaf');
const other = root.sign('other');
afterAll(() => certificates.close());

type Contents = Parameters<typeof Secret.create>[0];

function decodeBytes<T>(type: ResourceType<T>, bytes: Uint8Array) {
  return decodeWhole(type, bytes, { server: serverConfig('sds'), previous: () => undefined });
}

function decode<T>(type: ResourceType<T>, contents: Contents) {
  const bytes = Secret.encode(Secret.create({ name: 'a', ...contents })).finish();
  const { name, result } = decodeBytes(type, bytes);
  expect(name).toBe('a');
  return result.ok ? result.value : result.error;
}

const identity = createIdentitySecretType();
const roots = createRootsSecretType(true);

const text = (value: string) => ({ specifier: { $case: 'inlineString' as const, value } });
const file = (value: string) => ({ specifier: { $case: 'filename' as const, value } });
const variable = (value: string) => ({
  specifier: { $case: 'environmentVariable' as const, value },
});

const certificate = (
  value: NonNullable<Parameters<typeof TlsCertificate.create>[0]>,
): Contents => ({
  type: { $case: 'tlsCertificate', value },
});
const context = (
  value: NonNullable<Parameters<typeof CertificateValidationContext.create>[0]>,
): Contents => ({
  type: { $case: 'validationContext', value },
});

const spiffe = (
  domains: readonly (readonly [name: string, bundle: string])[],
  typeUrl = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig',
) => {
  const trustDomains = domains.map(([name, bundle]) => ({ name, trustBundle: text(bundle) }));
  const config = SPIFFECertValidatorConfig.create({ trustDomains });
  const value = SPIFFECertValidatorConfig.encode(config).finish();
  return {
    customValidatorConfig: {
      name: 'envoy.tls.cert_validator.spiffe',
      typedConfig: { typeUrl, value },
    },
  };
};

const INLINE = 'must be inline: files and variables are not read (file_watcher reads files)';
const CA = 'validation_context.trusted_ca';
const DOMAINS = 'validation_context.custom_validator_config.typed_config.trust_domains';

describe('a secret with a certificate', () => {
  const pair = { certificateChain: text(leaf.certificate), privateKey: text(leaf.privateKey) };

  it('is the identity, in text or bytes', () => {
    const { certificate: certificateChain, privateKey } = leaf;
    expect(decode(identity, certificate(pair))).toEqual({
      value: { certificateChain, privateKey },
    });
    expect(decode(identity, identitySecret(leaf))).toEqual({
      value: { certificateChain: leaf.certificateChain, privateKey },
    });
  });

  it.each<[string, Contents, readonly string[]]>([
    [
      'without its parts',
      certificate({}),
      [
        'tls_certificate.certificate_chain: field not present',
        'tls_certificate.private_key: field not present',
      ],
    ],
    [
      'in files',
      certificate({ certificateChain: file('/c'), privateKey: file('/k') }),
      [`tls_certificate.certificate_chain: ${INLINE}`, `tls_certificate.private_key: ${INLINE}`],
    ],
    [
      'in a variable',
      certificate({ ...pair, privateKey: variable('KEY') }),
      [`tls_certificate.private_key: ${INLINE}`],
    ],
    [
      'with a key of another certificate',
      certificate({ ...pair, privateKey: text(other.privateKey) }),
      [expect.stringMatching(/^tls_certificate: cannot be used: .*key values mismatch/)],
    ],
    [
      'whose certificate is cut short',
      certificate({ ...pair, certificateChain: text(leaf.certificate.slice(0, 200)) }),
      ['tls_certificate: cannot be used: a PEM block has no end'],
    ],
    [
      'without a key in its text',
      certificate({ ...pair, privateKey: text('') }),
      ['tls_certificate: cannot be used: no private key in PEM found'],
    ],
    ['with authorities', rootsSecret(''), ['must be tls_certificate, not validation_context']],
    [
      'with tickets',
      { type: { $case: 'sessionTicketKeys', value: {} } },
      ['must be tls_certificate, not session_ticket_keys'],
    ],
    [
      'with something else',
      { type: { $case: 'genericSecret', value: {} } },
      ['must be tls_certificate, not generic_secret'],
    ],
    ['that is empty', {}, ['must be tls_certificate, not a secret of an unknown kind']],
  ])('is rejected %s', (_name, contents, violations) => {
    expect(decode(identity, contents)).toEqual(violations);
  });

  it('is rejected if it is larger than 1 MiB, before it is parsed', () => {
    const large = certificate({ ...pair, certificateChain: text(' '.repeat(1024 * 1024)) });
    expect(decode(identity, large)).toEqual(['larger than 1048576 bytes']);
  });

  it.each([
    ['a chain', 500, ['more than 500 certificates and keys']],
    ['a chain', 499, ['tls_certificate: cannot be used: ']],
  ])('is rejected for %s of %d blocks, before they are parsed', (_, count, reasons) => {
    const certificateChain = text('-----BEGIN CERTIFICATE-----\n'.repeat(count));
    const many = certificate({ certificateChain, privateKey: text('-----BEGIN KEY-----') });
    expect(decode(identity, many)).toEqual(
      reasons.map((reason): unknown => expect.stringContaining(reason)),
    );
    const trustedCa = text('-----BEGIN CERTIFICATE-----\n'.repeat(501));
    expect(decode(roots, context({ trustedCa }))).toEqual(['more than 500 certificates and keys']);
  });

  it('is rejected if its bytes are damaged', () => {
    const { result } = decodeBytes(identity, Buffer.from([0x0a, 0x01, 0x61, 0x12, 0x7f]));
    expect(result).toMatchObject({ ok: false, error: [expect.stringContaining('malformed')] });
  });
});

describe('a secret with authorities', () => {
  const ca = { trustedCa: text(root.certificate + otherRoot.certificate) };

  it('is every certificate of it', () => {
    expect(decode(roots, context(ca))).toEqual({
      value: { certificates: [root.certificate, otherRoot.certificate] },
    });
  });

  it('is the authorities of each trust domain, as the agent of SPIRE sends them', () => {
    const domains = [
      ['a.test', root.certificate],
      ['b.test', otherRoot.certificate],
    ] as const;
    expect(decode(roots, context(spiffe(domains)))).toEqual({
      value: {
        certificates: [root.certificate, otherRoot.certificate],
        bundles: new Map([
          ['a.test', [root.certificate]],
          ['b.test', [otherRoot.certificate]],
        ]),
      },
    });
  });

  it('has names that are ignored, which is noted', () => {
    const skipped =
      'matchers of subject alternative names in a secret are ignored: those of the cluster apply';
    const matcher = { matchPattern: { $case: 'exact' as const, value: 'x' } };
    for (const names of [
      { matchSubjectAltNames: [matcher] },
      { matchTypedSubjectAltNames: [{ sanType: 2 as const, matcher }] },
    ]) {
      const value = decode(roots, context({ ...ca, ...names }));
      expect(value).toMatchObject({ skipped });
    }
    expect(roots.describeSkipped({ value: { certificates: [] }, skipped })).toBe(skipped);
  });

  it.each<[string, Contents, readonly string[]]>([
    ['without any', context({}), [`${CA}: field not present`]],
    ['in a file', context({ trustedCa: file('/etc/passwd') }), [`${CA}: ${INLINE}`]],
    ['without text', context({ trustedCa: text('') }), [`${CA}: no certificate in PEM found`]],
    [
      'with a revocation list, which would be ignored',
      context({ trustedCa: text(`${root.certificate}-----BEGIN X509 CRL-----\nAAAA`) }),
      [`${CA}: revocation lists are unsupported`],
    ],
    [
      'with restrictions, which would be ignored',
      context({
        ...ca,
        verifyCertificateSpki: ['a'],
        verifyCertificateHash: ['b'],
        crl: text(''),
        requireSignedCertificateTimestamp: true,
        maxVerifyDepth: 1,
      }),
      [
        'verify_certificate_spki',
        'verify_certificate_hash',
        'require_signed_certificate_timestamp',
        'crl',
        'max_verify_depth',
      ].map((field) => `validation_context.${field}: unsupported`),
    ],
    ['without trust domains', context(spiffe([])), [`${DOMAINS}: must not be empty`]],
    [
      'with trust domains that are not valid',
      context(
        spiffe([
          ['spiffe://a.test', root.certificate],
          ['b.test', ''],
          ['c.test', root.certificate],
          ['c.test', root.certificate],
        ]),
      ),
      [
        `${DOMAINS}[0].name: not a name of a trust domain`,
        `${DOMAINS}[1].trust_bundle: no certificate in PEM found`,
        `${DOMAINS}[3].name: duplicate`,
      ],
    ],
    [
      'with another validator',
      context(spiffe([], 'type.googleapis.com/a.Validator')),
      [
        'validation_context.custom_validator_config.typed_config: must be ' +
          'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig, not a.Validator',
      ],
    ],
    ['with a certificate', certificate({}), ['must be validation_context, not tls_certificate']],
  ])('is rejected %s', (_name, contents, violations) => {
    expect(decode(roots, contents)).toEqual(violations);
  });

  it('is rejected if it is for trust domains and that feature is switched off', () => {
    const domains = [['a.test', root.certificate]] as const;
    expect(decode(createRootsSecretType(false), context(spiffe(domains)))).toEqual([
      'validation_context.custom_validator_config: unsupported',
    ]);
  });
});

describe('the config of sds', () => {
  const support = { channelCreds: new Set(['insecure', 'tls']), callCreds: new Set<string>() };
  const insecure = [{ type: 'insecure' }];

  function parse(config: unknown) {
    const violations = Violations.root();
    return parseSdsConfig(config, support, violations) ?? violations.all;
  }

  it('has the names of SPIRE and Istio unless it says otherwise, and unknown fields are ignored', () => {
    const sds_server = { server_uri: 'unix:/a.sock', channel_creds: insecure, more: 1 };
    expect(parse({ sds_server, more: 1 })).toMatchObject({
      identityName: 'default',
      rootsName: 'ROOTCA',
      server: { serverUri: 'unix:/a.sock', channelCreds: { type: 'insecure' } },
    });
    const names = { tls_certificate_secret: 'spiffe://a/b', validation_context_secret: 'ALL' };
    expect(parse({ sds_server, ...names })).toMatchObject({
      identityName: 'spiffe://a/b',
      rootsName: 'ALL',
    });
  });

  it('chooses the variant of the protocol as any server does', () => {
    const server = { server_uri: 'unix:a', channel_creds: insecure };
    const sds_server = { ...server, server_features: ['grpc_xds_delta', 'unknown'] };
    expect(parse({ sds_server })).toMatchObject({
      server: { features: new Set(['grpc_xds_delta']) },
    });
  });

  const SERVER = 'sds_server';
  it.each<[string, unknown, readonly string[]]>([
    ['no object', 1, ['must be an object', `${SERVER}: field not present`]],
    ['no server', undefined, [`${SERVER}: field not present`]],
    [
      'an empty server',
      { sds_server: {} },
      [`${SERVER}.server_uri: field not present`, `${SERVER}.channel_creds: field not present`],
    ],
    [
      'names that are empty or no text',
      {
        sds_server: { server_uri: 'unix:a', channel_creds: insecure },
        tls_certificate_secret: '',
        validation_context_secret: 1,
      },
      ['tls_certificate_secret: must not be empty', 'validation_context_secret: must be a string'],
    ],
    [
      'a server that does not speak gRPC',
      { sds_server: { server_uri: 'file:///secrets' } },
      [`${SERVER}.server_uri: must be a gRPC target: secrets are sent over gRPC`],
    ],
  ])('may not have %s', (_name, config, violations) => {
    expect(parse(config)).toEqual(violations);
  });

  it.each([
    'unix:///run/a.sock',
    'unix:a',
    '127.0.0.1:1',
    'ipv4:127.1.2.3:1',
    'localhost',
    '[::1]:1',
    'dns:///localhost:1',
    'passthrough:///127.0.0.1:1',
    'ipv6:[::1]:1',
  ])('may have insecure credentials for %s', (server_uri) => {
    expect(parse({ sds_server: { server_uri, channel_creds: insecure } })).toMatchObject({
      server: { serverUri: server_uri },
    });
  });

  it.each([
    '10.0.0.1:1',
    'sds.example.com:1',
    'ipv4:127.0.0.1:1,10.0.0.1:1',
    '127.0.0.1.example.com',
    'localhost.example.com',
    'dns://localhost/sds.example.com',
    '[::2]:1',
  ])('may not have insecure credentials for %s', (server_uri) => {
    const sds_server = { server_uri, channel_creds: insecure };
    expect(parse({ sds_server })).toEqual([
      'sds_server.channel_creds: type "insecure" needs a unix: socket or a loopback address: keys would be sent in clear',
    ]);
    expect(parse({ sds_server: { server_uri, channel_creds: [{ type: 'tls' }] } })).toMatchObject({
      server: { channelCreds: { type: 'tls' } },
    });
  });
});
