import type { DataSource } from '../../wire/generated/envoy/config/core/v3/base';
import type {
  CertificateValidationContext,
  TlsCertificate,
} from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/common';
import { Secret as SecretMessage } from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/secret';
import { SPIFFECertValidatorConfig } from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config';
import { checkRestrictions } from '../../resources/tls/tls-context-parser';
import { decodeMessage, unpackAny } from '../../resources/shared/any';
import { createResourceType } from '../../resources/resource-parser';
import { asBuffer } from '../../util/bytes';
import { assertNever } from '../../util/errors';
import { MAX_AUTHORITIES, MAX_SECRET_BYTES } from '../../util/limits';
import { countOccurrences } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import type { Identity, TrustedRoots } from './certificate-provider';
import { parseIdentity, parsePemCertificates } from './pem';
import { isTrustDomain } from '../peer/spiffe-id';
import { rootsOfBundles } from './trust-bundle-map';

/** A secret that can be used. */
export interface Secret<T> {
  readonly value: T;
  /** Describes the parts that are not used. Default: none. */
  readonly skipped?: string | undefined;
}

/** Text after which OpenSSL would find a revocation list. */
const REVOCATION_LIST = '-----BEGIN X509 CRL-----';

const spiffeValidatorType = {
  typeName: 'envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig',
  decoder: SPIFFECertValidatorConfig,
};

type SecretKind = NonNullable<SecretMessage['type']>;

const FIELDS = {
  tlsCertificate: 'tls_certificate',
  validationContext: 'validation_context',
  sessionTicketKeys: 'session_ticket_keys',
  genericSecret: 'generic_secret',
} as const;

/** Creates the type of secrets that are a certificate with its key: `tls_certificate`. */
export function createIdentitySecretType(): ResourceType<Secret<Identity>> {
  return createSecretType(({ type }, violations) => {
    if (type?.$case !== 'tlsCertificate') return addWrongKind('tlsCertificate', type, violations);
    return parseTlsCertificate(type.value, violations.at(FIELDS.tlsCertificate));
  });
}

/**
 * Creates the type of secrets that are authorities to trust: `validation_context`.
 * @param spiffeBundles Whether authorities may be for one trust domain each (gRFC A87).
 */
export function createRootsSecretType(spiffeBundles: boolean): ResourceType<Secret<TrustedRoots>> {
  return createSecretType(({ type }, violations) => {
    if (type?.$case !== 'validationContext') {
      return addWrongKind('validationContext', type, violations);
    }
    const at = violations.at(FIELDS.validationContext);
    return parseValidationContext(type.value, spiffeBundles, at);
  });
}

/** No message has a part of the secret, since it goes to logs and back to the server. */
function createSecretType<T>(
  parse: (message: SecretMessage, violations: Violations) => Secret<T> | undefined,
): ResourceType<Secret<T>> {
  return createResourceType({
    typeName: 'envoy.extensions.transport_sockets.tls.v3.Secret',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.secret.v3.SecretDiscoveryService',
      noun: 'Secrets',
    },
    describeSkipped: ({ skipped }) => skipped,
    parse(bytes, _context, violations) {
      checkSize(asBuffer(bytes), violations);
      if (violations.count > 0) return undefined;
      const message = decodeMessage(SecretMessage, bytes, violations);
      const value = message && parse(message, violations);
      return value && { value };
    },
  });
}

function checkSize(bytes: Buffer, violations: Violations): void {
  if (bytes.length > MAX_SECRET_BYTES) {
    violations.add(`larger than ${MAX_SECRET_BYTES} bytes`);
  } else if (countOccurrences(bytes, '-----BEGIN ', MAX_AUTHORITIES) > MAX_AUTHORITIES) {
    violations.add(`more than ${MAX_AUTHORITIES} certificates and keys`);
  }
}

function addWrongKind(
  expected: keyof typeof FIELDS,
  found: SecretKind | undefined,
  violations: Violations,
): undefined {
  const kind = found === undefined ? 'a secret of an unknown kind' : FIELDS[found.$case];
  return violations.add(`must be ${FIELDS[expected]}, not ${kind}`);
}

function parseTlsCertificate(
  { certificateChain, privateKey }: TlsCertificate,
  violations: Violations,
): Secret<Identity> | undefined {
  const chain = readInline(certificateChain, violations.at('certificate_chain'));
  const key = readInline(privateKey, violations.at('private_key'));
  if (chain === undefined || key === undefined) return undefined;
  const identity = parseIdentity(chain, key);
  if (identity.ok) return { value: identity.value };
  return violations.add(`cannot be used: ${identity.error}`);
}

function parseValidationContext(
  message: CertificateValidationContext,
  spiffeBundles: boolean,
  violations: Violations,
): Secret<TrustedRoots> | undefined {
  checkRestrictions(message, violations, spiffeBundles);
  const { trustedCa, customValidatorConfig: validator } = message;
  const place = violations.at('custom_validator_config');
  if (validator !== undefined && !spiffeBundles) return undefined;
  const certificates =
    validator === undefined ? parseAuthorities(trustedCa, violations.at('trusted_ca')) : undefined;
  const roots =
    validator === undefined
      ? certificates && { certificates }
      : parseSpiffeValidator(validator.typedConfig, place.at('typed_config'));
  return roots && { value: roots, skipped: describeSkipped(message) };
}

/** The names that a server may have are those that the cluster says. */
function describeSkipped({
  matchTypedSubjectAltNames,
  matchSubjectAltNames,
}: CertificateValidationContext): string | undefined {
  if (matchTypedSubjectAltNames.length + matchSubjectAltNames.length === 0) return undefined;
  return 'matchers of subject alternative names in a secret are ignored: those of the cluster apply';
}

function parseSpiffeValidator(
  config: Parameters<typeof unpackAny>[0],
  violations: Violations,
): TrustedRoots | undefined {
  const message = unpackAny(config, spiffeValidatorType, violations);
  if (message === undefined) return undefined;
  const at = violations.at('trust_domains');
  const bundles = new Map<string, readonly string[]>();
  for (const [position, { name, trustBundle }] of message.trustDomains.entries()) {
    const place = at.index(position);
    if (!isTrustDomain(name)) place.at('name').add('not a name of a trust domain');
    if (bundles.has(name)) place.at('name').add('duplicate');
    bundles.set(name, parseAuthorities(trustBundle, place.at('trust_bundle')) ?? []);
  }
  if (bundles.size === 0) return at.add('must not be empty');
  return rootsOfBundles(bundles);
}

function parseAuthorities(
  source: DataSource | undefined,
  violations: Violations,
): readonly string[] | undefined {
  const text = readInline(source, violations);
  if (text === undefined) return undefined;
  if (text.includes(REVOCATION_LIST)) return violations.add('revocation lists are unsupported');
  const certificates = parsePemCertificates(text);
  return certificates.ok ? certificates.value : violations.add(certificates.error);
}

/** Files of a server's choice are not read: it may be on another machine, and `file_watcher` reads files. */
function readInline(source: DataSource | undefined, violations: Violations): string | undefined {
  const specifier = source?.specifier;
  switch (specifier?.$case) {
    case undefined:
      return violations.add('field not present');
    case 'inlineString':
      return specifier.value;
    case 'inlineBytes':
      return Buffer.from(specifier.value).toString();
    case 'filename':
    case 'environmentVariable':
      return violations.add(
        'must be inline: files and variables are not read (file_watcher reads files)',
      );
    default:
      return assertNever(specifier);
  }
}
