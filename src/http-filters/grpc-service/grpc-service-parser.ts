import type { CredentialConfig, ServerConfig, ServiceCredentials } from '../../bootstrap/bootstrap';
import { hasResolver } from '../../grpc-js/resolver-registry';
import { isTrusted, type TypedBytes } from '../../resources/extension-points';
import { decodeMessage, typeNameOf } from '../../resources/shared/any';
import type { CertificateInstance } from '../../resources/tls/tls';
import { parseInstance } from '../../resources/tls/tls-context-parser';
import { checkHeaderName, parseHeaderValue } from '../../resources/shared/header-mutation-parser';
import { InstanceTls, type ServiceInstance } from '../../security/providers/instance-tls';
import { durationToMs, type ProtoDuration } from '../../util/duration';
import { checkServerUri } from '../../util/server-uri';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { HeaderValue } from '../../wire/generated/envoy/config/core/v3/base';
import type {
  GrpcService as GrpcServiceMessage,
  GrpcService_GoogleGrpc as GoogleGrpc,
} from '../../wire/generated/envoy/config/core/v3/grpc_service';
import { AccessTokenCredentials } from '../../wire/generated/envoy/extensions/grpc_service/call_credentials/access_token/v3/access_token_credentials';
import { TlsCredentials } from '../../wire/generated/envoy/extensions/grpc_service/channel_credentials/tls/v3/tls_credentials';
import { XdsCredentials } from '../../wire/generated/envoy/extensions/grpc_service/channel_credentials/xds/v3/xds_credentials';

/** A service that a filter calls (gRFC A102). */
export interface GrpcService extends ServiceCredentials {
  readonly target: string;
  /** Limit on each call in milliseconds; `undefined` for none. */
  readonly timeoutMs: number | undefined;
  /** Headers of each call. */
  readonly metadata: readonly (readonly [name: string, value: string | Buffer])[];
  /** Equal for services that share a channel. It has their secrets: never shown. */
  readonly key: string;
}

/** Characters of a name or a value, and less. */
const MAX_LENGTH = 16_384;
const PREFIX = 'envoy.extensions.grpc_service';
const GOOGLE_DEFAULT = `${PREFIX}.channel_credentials.google_default.v3.GoogleDefaultCredentials`;
const INSECURE = `${PREFIX}.channel_credentials.insecure.v3.InsecureCredentials`;
const TLS = `${PREFIX}.channel_credentials.tls.v3.TlsCredentials`;
const XDS = `${PREFIX}.channel_credentials.xds.v3.XdsCredentials`;
const ACCESS_TOKEN = `${PREFIX}.call_credentials.access_token.v3.AccessTokenCredentials`;

/**
 * Parses a service; `undefined` after adding a violation (gRFC A102). Only a trusted server may choose the credentials, which are
 * those of the bootstrap otherwise.
 *
 * @param server The server that the resource came from; `undefined` if that is not known, and not trusted.
 */
export function parseGrpcService(
  { targetSpecifier, timeout, initialMetadata }: GrpcServiceMessage,
  server: ServerConfig | undefined,
  violations: Violations,
): GrpcService | undefined {
  const before = violations.count;
  if (targetSpecifier?.$case !== 'googleGrpc') return violations.add('must have google_grpc');
  const at = violations.at('google_grpc');
  const { targetUri: target } = targetSpecifier.value;
  checkTarget(target, at.at('target_uri'));
  const credentials =
    server !== undefined && isTrusted(server)
      ? parseCredentials(targetSpecifier.value, server, at)
      : allowedCredentials(target, server, at.at('target_uri'));
  const timeoutMs = timeout && parseTimeout(timeout, violations.at('timeout'));
  const metadata = initialMetadata.map((header, i) =>
    parseHeader(header, violations.at('initial_metadata').index(i)),
  );
  if (credentials === undefined || violations.count > before) return undefined;
  const { channelCreds, callCreds } = credentials;
  const key = JSON.stringify([target, channelCreds, callCreds]);
  return { target, channelCreds, callCreds, timeoutMs, metadata, key };
}

function checkTarget(target: string, violations: Violations): void {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(target) ?? [];
  const checked = scheme === 'xds' ? undefined : checkServerUri(target);
  if (target === '') violations.add('must not be empty');
  else if (checked?.ok === false) violations.add(checked.error);
  else if (scheme !== '' && !hasResolver(scheme)) {
    violations.add(`must be a gRPC target: there is no resolver for ${quoteText(scheme)}`);
  }
}

function allowedCredentials(
  target: string,
  server: ServerConfig | undefined,
  violations: Violations,
): ServiceCredentials | undefined {
  const allowed = server?.allowedServices?.get(target);
  return (
    allowed ??
    violations.add(
      `${quoteText(target)} must be in allowed_grpc_services of the bootstrap, or the management server must have the feature ` +
        'trusted_xds_server',
    )
  );
}

function parseCredentials(
  { channelCredentialsPlugin, callCredentialsPlugin }: GoogleGrpc,
  server: ServerConfig,
  violations: Violations,
): ServiceCredentials | undefined {
  const channelCreds = parseChannelCredentials(
    channelCredentialsPlugin,
    server,
    violations.at('channel_credentials_plugin'),
  );
  const callAt = violations.at('call_credentials_plugin');
  const callCreds = callCredentialsPlugin.flatMap(({ typeUrl, value }, i) => {
    if (typeNameOf(typeUrl) !== ACCESS_TOKEN) return [];
    const message = decodeMessage(AccessTokenCredentials, value, callAt.index(i));
    if (message?.token === '') callAt.index(i).at('token').add('must not be empty');
    return message === undefined
      ? []
      : [{ type: 'access_token', config: { token: message.token } }];
  });
  return channelCreds && { channelCreds, callCreds };
}

/** Returns the first credentials of a supported type. */
function parseChannelCredentials(
  plugins: readonly TypedBytes[],
  server: ServerConfig,
  violations: Violations,
): CredentialConfig | undefined {
  for (const [i, { typeUrl, value }] of plugins.entries()) {
    switch (typeNameOf(typeUrl)) {
      case GOOGLE_DEFAULT:
        return { type: 'google_default', config: undefined };
      case INSECURE:
        return { type: 'insecure', config: undefined };
      case XDS: {
        const at = violations.index(i).at('fallback_credentials');
        const message = decodeMessage(XdsCredentials, value, violations.index(i));
        if (message === undefined) return undefined;
        if (message.fallbackCredentials === undefined) return at.add('field not present');
        const fallback = parseChannelCredentials([message.fallbackCredentials], server, at);
        return fallback && { type: 'xds', config: { fallback } };
      }
      case TLS: {
        const config = parseTls(value, server, violations.index(i));
        return config && { type: 'tls', config };
      }
    }
  }
  const types = plugins.map(({ typeUrl }) => quoteText(typeNameOf(typeUrl))).join(', ');
  return violations.add(
    types === '' ? 'must not be empty' : `none of the types ${types} is supported`,
  );
}

/** @returns `undefined` after adding a violation. */
function parseTls(
  bytes: Uint8Array,
  { serviceCertificates }: ServerConfig,
  violations: Violations,
): InstanceTls | undefined {
  const message = decodeMessage(TlsCredentials, bytes, violations);
  if (message === undefined) return undefined;
  const { rootCertificateProvider: root, identityCertificateProvider: identity } = message;
  const rootAt = violations.at('root_certificate_provider');
  if (root === undefined) return rootAt.add('field not present');
  const find = (reference: CertificateInstance, at: Violations): ServiceInstance | undefined => {
    const { certificateProviders = new Map() } = serviceCertificates ?? {};
    const instance = parseInstance(reference, { certificateProviders }, at);
    const provider = serviceCertificates?.certificateProviders.get(reference.instanceName);
    return instance && provider && { ...instance, provider };
  };
  const rootInstance = find(root, rootAt);
  const identityInstance =
    identity && find(identity, violations.at('identity_certificate_provider'));
  if (rootInstance === undefined || serviceCertificates === undefined) return undefined;
  return new InstanceTls(rootInstance, identityInstance, serviceCertificates.node);
}

function parseTimeout(timeout: ProtoDuration, violations: Violations): number | undefined {
  const timeoutMs = durationToMs(timeout, violations);
  return timeoutMs === 0 ? violations.add('must be greater than 0') : timeoutMs;
}

/** @returns anything after adding a violation. */
function parseHeader(
  header: HeaderValue,
  violations: Violations,
): readonly [string, string | Buffer] {
  const name = header.key.toLowerCase();
  const nameAt = violations.at('key');
  if (checkHeaderName(name, nameAt) && (name.startsWith(':') || name === 'host')) {
    nameAt.add(`must not be ${quoteText(name)}, which gRPC sets`);
  }
  const value = parseHeaderValue(header, (bytes) => bytes, violations) ?? '';
  if (name.length >= MAX_LENGTH) nameAt.add(`must be shorter than ${MAX_LENGTH} characters`);
  if (value.length >= MAX_LENGTH)
    violations.at('value').add(`must be shorter than ${MAX_LENGTH} bytes`);
  return [name, value];
}
