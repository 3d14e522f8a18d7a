import type { TransportSocket } from '../../wire/generated/envoy/config/core/v3/base';
import {
  SubjectAltNameMatcher_SanType as SanTypeMessage,
  type CertificateProviderPluginInstance,
  CertificateValidationContext,
  type SubjectAltNameMatcher,
} from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/common';
import {
  DownstreamTlsContext,
  DownstreamTlsContext_OcspStaplePolicy as OcspStaplePolicy,
  UpstreamTlsContext,
  type CommonTlsContext,
} from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/tls';
import { quoteText } from '../../util/text';
import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { CertificateProviders } from '../../xds-client/resource-type';
import type { RegexCompiler } from '../extension-points';
import { enumName } from '../../util/enum-name';
import { unpackAny, type AnyType } from '../shared/any';
import { parseStringMatcher } from '../matching/string-matcher-parser';
import type {
  CertificateInstance,
  DownstreamTls,
  PeerValidation,
  SanMatcher,
  SanType,
  UpstreamTls,
} from './tls';

/** What TLS settings are parsed with. */
interface CertificateContext {
  readonly regexes: RegexCompiler;
  /** The provider instances of the bootstrap. */
  readonly certificateProviders: CertificateProviders;
  /** Whether `system_root_certs` is read (gRFC A82). */
  readonly readSystemRoots: boolean;
}

/** As in Envoy (gRFC A101). */
const MAX_SNI_LENGTH = 255;

const upstreamTlsContextType = {
  typeName: 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
  decoder: UpstreamTlsContext,
};

interface UpstreamContext extends CertificateContext {
  /** Whether the fields about server names are read (gRFC A101). */
  readonly readSni: boolean;
}

/**
 * Parses `Cluster.transport_socket` (gRFC A29). It is validated whether or not the credentials of the channel use it.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseUpstreamTls(
  socket: TransportSocket,
  context: UpstreamContext,
  violations: Violations,
): UpstreamTls | undefined {
  const unpacked = unpackTlsContext(socket, upstreamTlsContextType, violations);
  if (unpacked === undefined) return undefined;
  const { message, common, at } = unpacked;
  const commonAt = at.at('common_tls_context');
  const identity = parseIdentity(common, context, commonAt);
  const validation = parseValidation(common, context, commonAt);
  return validation && { ...parseSni(message, context, at), ...validation, identity };
}

/** The fields of gRFC A101. Where it is switched off they are ignored (gRFC A29). */
function parseSni(
  { sni, autoHostSni, autoSniSanValidation }: UpstreamTlsContext,
  { readSni }: UpstreamContext,
  violations: Violations,
): Pick<UpstreamTls, 'sni' | 'autoHostSni' | 'autoSniSanValidation'> {
  if (!readSni) return { sni: '', autoHostSni: false, autoSniSanValidation: false };
  if (sni.length > MAX_SNI_LENGTH) {
    violations
      .at('sni')
      .add(`must not be longer than ${MAX_SNI_LENGTH} characters, but has ${sni.length}`);
  }
  return { sni, autoHostSni, autoSniSanValidation };
}

const downstreamTlsContextType = {
  typeName: 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
  decoder: DownstreamTlsContext,
};

/**
 * Parses `FilterChain.transport_socket` (gRFC A29). It is validated whether or not the credentials of the server use it.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseDownstreamTls(
  socket: TransportSocket,
  context: CertificateContext,
  violations: Violations,
): DownstreamTls | undefined {
  const unpacked = unpackTlsContext(socket, downstreamTlsContextType, violations);
  if (unpacked === undefined) return undefined;
  const { message, common, at } = unpacked;
  const commonAt = at.at('common_tls_context');
  const before = violations.count;
  const identity = parseIdentity(common, context, commonAt);
  if (identity === undefined && violations.count === before) {
    commonAt.at('tls_certificate_provider_instance').add('field not present');
  }
  const { requireClientCertificate = false, requireSni, ocspStaplePolicy } = message;
  const { validationContextType } = common;
  const isRead = requireClientCertificate || !isEmptyValidation(common);
  const clientValidation =
    validationContextType && isRead ? parseValidation(common, context, commonAt) : undefined;
  if (requireClientCertificate && validationContextType === undefined) {
    at.at('require_client_certificate').add('needs a validation context');
  }
  if (requireSni === true) at.at('require_sni').add('unsupported');
  if (ocspStaplePolicy !== OcspStaplePolicy.LENIENT_STAPLING) {
    const policy = enumName(OcspStaplePolicy, ocspStaplePolicy);
    at.at('ocsp_staple_policy').add(`must be LENIENT_STAPLING, not ${policy}`);
  }
  return identity && { identity, clientValidation, requireClientCertificate };
}

/** Whether a validation context is empty: a server that requires no certificates then requests none (decisions/resource-validation.md). */
function isEmptyValidation({ validationContextType: type }: CommonTlsContext): boolean {
  switch (type?.$case) {
    case 'validationContext':
      return isEmpty(type.value);
    case 'combinedValidationContext': {
      const { defaultValidationContext, ...others } = type.value;
      const isAlone = Object.values(others).every((value) => value === undefined);
      return isAlone && defaultValidationContext !== undefined && isEmpty(defaultValidationContext);
    }
    default:
      return false;
  }
}

function isEmpty(context: CertificateValidationContext): boolean {
  return CertificateValidationContext.encode(context).finish().length === 0;
}

const SOCKET_NAME = 'envoy.transport_sockets.tls';

const sanTypes: ReadonlyMap<SanTypeMessage, SanType> = new Map([
  [SanTypeMessage.EMAIL, 'email'],
  [SanTypeMessage.DNS, 'dns'],
  [SanTypeMessage.URI, 'uri'],
  [SanTypeMessage.IP_ADDRESS, 'ip'],
]);

/** A message with a common TLS context. */
interface TlsContextMessage {
  readonly commonTlsContext: CommonTlsContext | undefined;
}

/** The TLS context of a transport socket, and its common part. */
interface UnpackedTlsContext<M> {
  readonly message: M;
  readonly common: CommonTlsContext;
  /** Where the context is. */
  readonly at: Violations;
}

/**
 * Unpacks the TLS context of a transport socket. Fields of the common part that change handshakes in an unsupported way are
 * violations.
 *
 * @returns `undefined` after adding a violation.
 */
function unpackTlsContext<M extends TlsContextMessage>(
  { name, configType }: TransportSocket,
  type: AnyType<M>,
  violations: Violations,
): UnpackedTlsContext<M> | undefined {
  if (name !== SOCKET_NAME) {
    violations.at('name').add(`must be ${SOCKET_NAME}, not ${quoteText(name)}`);
  }
  const at = violations.at('typed_config');
  const message = unpackAny(configType?.value, type, at);
  if (message === undefined) return undefined;
  const { commonTlsContext: common } = message;
  const commonAt = at.at('common_tls_context');
  if (common === undefined) return commonAt.add('field not present');
  if (common.tlsParams !== undefined) commonAt.at('tls_params').add('unsupported');
  if (common.customHandshaker !== undefined) commonAt.at('custom_handshaker').add('unsupported');
  return { message, common, at };
}

/** Parses `validation_context_type` (gRFC A29); `undefined` after adding a violation. */
function parseValidation(
  { validationContextType: type }: CommonTlsContext,
  context: CertificateContext,
  violations: Violations,
): PeerValidation | undefined {
  switch (type?.$case) {
    case 'validationContext':
      return parseContext(type.value, undefined, context, violations.at('validation_context'));
    case 'combinedValidationContext': {
      const at = violations.at('combined_validation_context');
      const { defaultValidationContext, validationContextCertificateProviderInstance } = type.value;
      const older = validationContextCertificateProviderInstance;
      const place = at.at('default_validation_context');
      if (defaultValidationContext !== undefined) {
        return parseContext(defaultValidationContext, older, context, place);
      }
      if (older === undefined) {
        place.add('field not present');
        return undefined;
      }
      return withoutMatchers(
        parseInstance(older, context, at.at('validation_context_certificate_provider_instance')),
      );
    }
    case 'validationContextCertificateProviderInstance': {
      const at = violations.at('validation_context_certificate_provider_instance');
      return withoutMatchers(parseInstance(type.value, context, at));
    }
    case 'validationContextSdsSecretConfig':
      return violations
        .at('validation_context_sds_secret_config')
        .add('unsupported: use ca_certificate_provider_instance in validation_context');
    case undefined:
      return violations.add('must have validation_context or combined_validation_context');
    default:
      return assertNever(type);
  }
}

/**
 * Parses the reference to the own certificate. The older field counts where the newer one is not set; Istio sets both.
 *
 * @returns `undefined` if there is none, or after adding a violation.
 */
function parseIdentity(
  common: CommonTlsContext,
  context: CertificateContext,
  violations: Violations,
): CertificateInstance | undefined {
  const current = common.tlsCertificateProviderInstance;
  if (current !== undefined) {
    return parseInstance(current, context, violations.at('tls_certificate_provider_instance'));
  }
  const older = common.tlsCertificateCertificateProviderInstance;
  if (older !== undefined) {
    const at = violations.at('tls_certificate_certificate_provider_instance');
    return parseInstance(older, context, at);
  }
  const instead = 'unsupported: use tls_certificate_provider_instance';
  if (common.tlsCertificates.length > 0) violations.at('tls_certificates').add(instead);
  if (common.tlsCertificateSdsSecretConfigs.length > 0) {
    violations.at('tls_certificate_sds_secret_configs').add(instead);
  }
  return undefined;
}

/** Parses a reference to a provider instance, which must be in the bootstrap; `undefined` after adding a violation. */
export function parseInstance(
  { instanceName, certificateName }: CertificateProviderPluginInstance,
  { certificateProviders }: Pick<CertificateContext, 'certificateProviders'>,
  violations: Violations,
): CertificateInstance | undefined {
  if (certificateProviders.has(instanceName)) return { instanceName, certificateName };
  return violations
    .at('instance_name')
    .add(`${quoteText(instanceName)} is not in certificate_providers of the bootstrap`);
}

function withoutMatchers(instance: CertificateInstance | undefined): PeerValidation | undefined {
  return instance && { rootCertificates: { kind: 'instance', ...instance }, sanMatchers: [] };
}

/** @param older What counts if the context itself names no instance. */
function parseContext(
  message: CertificateValidationContext,
  older: CertificateProviderPluginInstance | undefined,
  context: CertificateContext,
  violations: Violations,
): PeerValidation | undefined {
  checkRestrictions(message, violations, false);
  const sanMatchers = parseSanMatchers(message, context, violations);
  const at = violations.at('ca_certificate_provider_instance');
  const reference = message.caCertificateProviderInstance ?? older;
  if (reference !== undefined) {
    const instance = parseInstance(reference, context, at);
    return instance && { rootCertificates: { kind: 'instance', ...instance }, sanMatchers };
  }
  if (context.readSystemRoots && message.systemRootCerts !== undefined) {
    return { rootCertificates: { kind: 'system' }, sanMatchers };
  }
  return at.add('field not present');
}

/**
 * Adds the restrictions that are not supported. To ignore one would be to trust certificates that the server does not.
 *
 * @param allowsValidator Whether there may be a `custom_validator_config`.
 */
export function checkRestrictions(
  message: CertificateValidationContext,
  violations: Violations,
  allowsValidator: boolean,
): void {
  const unsupported = (field: string): void => violations.at(field).add('unsupported');
  if (message.verifyCertificateSpki.length > 0) unsupported('verify_certificate_spki');
  if (message.verifyCertificateHash.length > 0) unsupported('verify_certificate_hash');
  if (message.requireSignedCertificateTimestamp === true) {
    unsupported('require_signed_certificate_timestamp');
  }
  if (message.crl !== undefined) unsupported('crl');
  if (message.customValidatorConfig !== undefined && !allowsValidator) {
    unsupported('custom_validator_config');
  }
  // Ignored by other clients, which lets chains pass that the control plane does not accept.
  if (message.maxVerifyDepth !== undefined) unsupported('max_verify_depth');
}

/** Typed matchers replace the others, as in Envoy. To ignore them would be to accept every certificate. */
function parseSanMatchers(
  { matchTypedSubjectAltNames: typed, matchSubjectAltNames: untyped }: CertificateValidationContext,
  { regexes }: CertificateContext,
  violations: Violations,
): readonly SanMatcher[] {
  const typedAt = violations.at('match_typed_subject_alt_names');
  const untypedAt = violations.at('match_subject_alt_names');
  const typedMatchers = typed.map((message, i) => parseTyped(message, regexes, typedAt.index(i)));
  const untypedMatchers = untyped.map((message, i): SanMatcher | undefined => {
    const matcher = parseStringMatcher(message, regexes, untypedAt.index(i));
    return matcher && { type: 'any', matcher };
  });
  const chosen = typed.length > 0 ? typedMatchers : untypedMatchers;
  return chosen.filter((matcher) => matcher !== undefined);
}

function parseTyped(
  { sanType, matcher: message }: SubjectAltNameMatcher,
  regexes: RegexCompiler,
  violations: Violations,
): SanMatcher | undefined {
  const type = sanTypes.get(sanType);
  if (type === undefined) {
    const found = enumName(SanTypeMessage, sanType);
    violations.at('san_type').add(`must be EMAIL, DNS, URI or IP_ADDRESS, but is ${found}`);
  }
  const at = violations.at('matcher');
  if (message === undefined) return at.add('field not present');
  const matcher = parseStringMatcher(message, regexes, at);
  return type && matcher && { type, matcher };
}
