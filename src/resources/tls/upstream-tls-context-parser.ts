import type { TransportSocket } from '../../wire/generated/envoy/config/core/v3/base';
import { UpstreamTlsContext } from '../../wire/generated/envoy/extensions/transport_sockets/tls/v3/tls';
import type { Violations } from '../../util/violations';
import {
  parseIdentity,
  parseValidation,
  unpackTlsContext,
  type CertificateContext,
} from './common-tls-context-parser';
import type { UpstreamTls } from './tls';

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
