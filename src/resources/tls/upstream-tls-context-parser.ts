import type { TransportSocket } from '../../wire/generated/envoy/config/core/v3/base';
import {
  UpstreamTlsContext,
  type CommonTlsContext,
} from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/tls';
import { quoteText } from '../../util/cut-text';
import type { Violations } from '../../util/violations';
import { unpackAny } from '../shared/any';
import {
  parseValidation,
  parseInstance,
  type CertificateContext,
} from './certificate-validation-parser';
import type { CertificateInstance, UpstreamTls } from '../cluster/cluster';

const SOCKET_NAME = 'envoy.transport_sockets.tls';
/** As in Envoy (gRFC A101). */
const MAX_SNI_LENGTH = 255;

const upstreamTlsContextType = {
  typeName: 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
  decoder: UpstreamTlsContext,
};

/**
 * Parses `Cluster.transport_socket` (gRFC A29). It is validated whether or not the credentials of the channel use it.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseUpstreamTls(
  { name, configType }: TransportSocket,
  context: CertificateContext,
  violations: Violations,
): UpstreamTls | undefined {
  if (name !== SOCKET_NAME) {
    violations.at('name').add(`must be ${SOCKET_NAME}, not ${quoteText(name)}`);
  }
  const at = violations.at('typed_config');
  const message = unpackAny(configType?.value, upstreamTlsContextType, at);
  if (message === undefined) return undefined;
  const common = message.commonTlsContext;
  const commonAt = at.at('common_tls_context');
  if (common === undefined) return commonAt.add('field not present');
  checkUnsupported(common, commonAt);
  const identity = parseIdentity(common, context, commonAt);
  const validation = parseValidation(common, context, commonAt);
  return validation && { ...parseSni(message, context, at), ...validation, identity };
}

function checkUnsupported(
  { tlsParams, customHandshaker }: CommonTlsContext,
  violations: Violations,
): void {
  if (tlsParams !== undefined) violations.at('tls_params').add('unsupported');
  if (customHandshaker !== undefined) violations.at('custom_handshaker').add('unsupported');
}

/** The older field counts where the newer one is not set; Istio sets both. */
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

/** The fields of gRFC A101. Where it is switched off they are ignored (gRFC A29). */
function parseSni(
  { sni, autoHostSni, autoSniSanValidation }: UpstreamTlsContext,
  { readSni }: CertificateContext,
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
