import type { TransportSocket } from '../../wire/generated/envoy/config/core/v3/base';
import {
  DownstreamTlsContext,
  DownstreamTlsContext_OcspStaplePolicy as OcspStaplePolicy,
} from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/tls';
import type { Violations } from '../../util/violations';
import { enumName } from '../shared/any';
import {
  parseIdentity,
  parseValidation,
  unpackTlsContext,
  type CertificateContext,
} from './common-tls-context-parser';
import type { DownstreamTls } from './tls';

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
  const { validationContextType } = common;
  const clientValidation = validationContextType && parseValidation(common, context, commonAt);
  const { requireClientCertificate = false, requireSni, ocspStaplePolicy } = message;
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
