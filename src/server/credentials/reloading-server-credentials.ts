import type { CertificateProviderConfig } from '../../bootstrap/bootstrap';
import type { ServerCredentials } from '../../grpc-js';
import type { DownstreamTls } from '../../resources/tls/tls';
import {
  BOOLEAN,
  checkOptions,
  objectOf,
  optional,
  POSITIVE_MILLISECONDS,
  STRING,
  TEXT,
  ANYTHING,
  type MembersOf,
  type Rule,
} from '../../util/check-arguments';
import { systemClock } from '../../util/clock';
import { HandshakeLog } from './handshake-log';
import { certificatesOf, serverLogger } from './process-certificates';
import { ServerTlsCredentials } from './server-tls-credentials';
import { XdsError } from '../../util/xds-error';

/** The certificate of a server and its key, in files that are read again when they change. */
export interface CertificateFilesSource {
  /** In PEM: the certificate of the server first, then its issuers. */
  readonly certificateFile: string;
  /** In PEM, not encrypted. */
  readonly privateKeyFile: string;
  /**
   * How often files are read even if the system reports no change, in milliseconds, at least 1,000. Default: 600,000, as in
   * gRFC A29.
   */
  readonly refreshIntervalMs?: number | undefined;
}

/** Secrets of a secret discovery server, such as the agents of SPIRE and Istio. */
export interface SecretDiscoverySource {
  /** Such as `unix:///run/spire/sockets/agent.sock`: a socket or a loopback address, since keys are sent unencrypted. */
  readonly serverUri: string;
  /** The name of the secret with the certificate and its key. Default: `default`. */
  readonly certificateSecret?: string | undefined;
  /** The name of the secret with the trusted authorities. Default: `ROOTCA`. */
  readonly trustSecret?: string | undefined;
  /** `node.id` of requests. Default: empty. */
  readonly nodeId?: string | undefined;
}

/** An instance of a certificate provider, as in `certificate_providers` of a bootstrap (gRFC A29). */
export interface CertificateProviderSource {
  /** `file_watcher`, `sds`, or one that was registered by `registerCertificateProvider`. */
  readonly pluginName: string;
  /** Default: an empty object. */
  readonly config?: object | undefined;
  /** The name of the certificates; the provider defines its meaning. Default: empty. */
  readonly certificateName?: string | undefined;
}

/** Certificate revocation lists of the authorities that sign the certificates of clients (gRFC A69). */
export interface ClientRevocationLists {
  /** A directory with files of lists in PEM or DER, which are read again when they change. Default: none. */
  readonly crlDirectory?: string | undefined;
  /** One such file, in place of a directory. Default: none. */
  readonly crlFile?: string | undefined;
  /** Whether a client is refused if no list says whether its certificate is revoked. Default: no. */
  readonly failRevocationUndetermined?: boolean | undefined;
}

/** The authorities that sign the certificates of clients, and which of these certificates are revoked. */
export type ClientTrust = ClientRevocationLists &
  (
    | {
        /** Certificates in PEM. Each is an anchor. */
        readonly caCertificateFile: string;
      }
    | {
        /** A SPIFFE trust bundle map: an authority vouches only for identities of its own trust domain (gRFC A87). */
        readonly spiffeTrustBundleMapFile: string;
      }
  );

/** Options of `createReloadingServerCredentials`. Give exactly one of the first three. */
export interface ReloadingServerCredentialsOptions {
  /** The certificate of the server, from files. */
  readonly files?: CertificateFilesSource | undefined;
  /** The certificate of the server, from a secret discovery server. */
  readonly sds?: SecretDiscoverySource | undefined;
  /** The certificate of the server, from a certificate provider. */
  readonly certificateProvider?: CertificateProviderSource | undefined;
  /**
   * The authorities that sign the certificates of clients; `none` if no certificate is requested. Default: the authorities of the
   * secret discovery server or of the certificate provider; with `files`, none.
   */
  readonly trust?: ClientTrust | 'none' | undefined;
  /**
   * Whether clients without a certificate are refused. Otherwise a certificate is requested, and verified if it is presented.
   * Default: yes, unless no certificate is requested.
   */
  readonly requireClientCertificate?: boolean | undefined;
}

const CALLER = 'createReloadingServerCredentials()';

const FILES: MembersOf<CertificateFilesSource> = {
  certificateFile: TEXT,
  privateKeyFile: TEXT,
  refreshIntervalMs: optional(POSITIVE_MILLISECONDS),
};
const SDS: MembersOf<SecretDiscoverySource> = {
  serverUri: TEXT,
  certificateSecret: optional(TEXT),
  trustSecret: optional(TEXT),
  nodeId: optional(STRING),
};
const PROVIDER: MembersOf<CertificateProviderSource> = {
  pluginName: TEXT,
  config: optional(ANYTHING),
  certificateName: optional(STRING),
};
const OPTIONS: MembersOf<ReloadingServerCredentialsOptions> = {
  files: optional(objectOf(FILES)),
  sds: optional(objectOf(SDS)),
  certificateProvider: optional(objectOf(PROVIDER)),
  trust: optional({
    legal: '"none", or an object with caCertificateFile or spiffeTrustBundleMapFile',
    accepts: isTrust,
  }),
  requireClientCertificate: optional(BOOLEAN),
};

const TRUST_FIELDS: ReadonlyMap<string, Rule> = new Map([
  ['caCertificateFile', TEXT],
  ['spiffeTrustBundleMapFile', TEXT],
  ['crlDirectory', optional(TEXT)],
  ['crlFile', optional(TEXT)],
  ['failRevocationUndetermined', optional(BOOLEAN)],
]);

function isTrust(value: unknown): boolean {
  if (value === 'none') return true;
  if (typeof value !== 'object' || value === null) return false;
  const isValid = ([name, member]: [string, unknown]) => TRUST_FIELDS.get(name)?.accepts(member);
  if (!Object.entries(value).every(isValid)) return false;
  return 'caCertificateFile' in value !== 'spiffeTrustBundleMapFile' in value;
}

/** Names of instances, as messages have them. */
const IDENTITY = 'server-certificate';
const TRUST = 'client-trust';

const FILES_PLUGIN = 'file_watcher';

/**
 * Creates credentials for `bindAsync` of any `grpc.Server`: TLS whose certificates are replaced while it serves, without
 * closing a connection. A certificate, key or authority that cannot be read or used replaces nothing, and is logged. Until there
 * are certificates, connections are closed.
 *
 * @throws XdsError if an option is unknown or invalid, or if a client certificate is required and none can be trusted.
 *
 * @example
 * ```ts
 * import { createReloadingServerCredentials } from 'grpc-xds/server';
 *
 * const credentials = createReloadingServerCredentials({
 *   files: { certificateFile: '/certs/tls.crt', privateKeyFile: '/certs/tls.key' },
 *   trust: { caCertificateFile: '/certs/ca.crt' },
 * });
 * server.bindAsync('0.0.0.0:50051', credentials, (error) => console.log(error ?? 'bound'));
 * ```
 */
export function createReloadingServerCredentials(
  options: ReloadingServerCredentialsOptions,
): ServerCredentials {
  checkOptions(CALLER, options, OPTIONS);
  const { pluginName, config = {}, certificateName = '' } = sourceOf(options);
  const instances = new Map<string, CertificateProviderConfig>([
    [IDENTITY, { pluginName, config }],
  ]);
  const identity = { instanceName: IDENTITY, certificateName };
  const { files, sds, trust = files === undefined ? 'own' : 'none' } = options;
  const { requireClientCertificate = trust !== 'none' } = options;
  if (trust === 'none' && requireClientCertificate) {
    throw new XdsError(
      'XDS_OPTION_INVALID',
      `requireClientCertificate of ${CALLER} needs the option trust: there are no authorities to verify clients by`,
    );
  }
  if (typeof trust === 'object') instances.set(TRUST, trustInstance(trust, files));
  const roots = trust === 'own' ? identity : { instanceName: TRUST, certificateName: '' };
  const clientValidation: DownstreamTls['clientValidation'] = {
    rootCertificates: { kind: 'instance', ...roots },
    sanMatchers: [],
  };
  const node = { id: sds?.nodeId ?? '', cluster: '', locality: undefined, metadata: undefined };
  return new ServerTlsCredentials({
    tls: {
      identity,
      clientValidation: trust === 'none' ? undefined : clientValidation,
      requireClientCertificate,
    },
    certificates: certificatesOf(CALLER, instances, node),
    clock: systemClock,
    log: new HandshakeLog({
      subject: 'server credentials: ',
      clock: systemClock,
      logger: serverLogger,
    }),
  });
}

/** Returns the source of the certificate of the server. */
function sourceOf({
  files,
  sds,
  certificateProvider,
}: ReloadingServerCredentialsOptions): CertificateProviderSource {
  const found = [
    files && { pluginName: FILES_PLUGIN, config: filesConfig(files) },
    sds && { pluginName: 'sds', config: sdsConfig(sds) },
    certificateProvider,
  ];
  const [source, ...others] = found.filter((each) => each !== undefined);
  if (source !== undefined && others.length === 0) return source;
  throw new XdsError(
    'XDS_OPTION_INVALID',
    `${CALLER} takes exactly one of the options files, sds and certificateProvider`,
  );
}

function filesConfig({
  certificateFile,
  privateKeyFile,
  ...files
}: CertificateFilesSource): object {
  return {
    certificate_file: certificateFile,
    private_key_file: privateKeyFile,
    refresh_interval: refreshInterval(files),
  };
}

function sdsConfig({ serverUri, certificateSecret, trustSecret }: SecretDiscoverySource): object {
  return {
    sds_server: { server_uri: serverUri, channel_creds: [{ type: 'insecure' }] },
    tls_certificate_secret: certificateSecret,
    validation_context_secret: trustSecret,
  };
}

function trustInstance(
  trust: ClientTrust,
  files: CertificateFilesSource | undefined,
): CertificateProviderConfig {
  const given: ClientRevocationLists & {
    readonly caCertificateFile?: string;
    readonly spiffeTrustBundleMapFile?: string;
  } = trust;
  const config = {
    ca_certificate_file: given.caCertificateFile,
    spiffe_trust_bundle_map_file: given.spiffeTrustBundleMapFile,
    crl_directory: given.crlDirectory,
    crl_file: given.crlFile,
    fail_revocation_undetermined: given.failRevocationUndetermined,
    refresh_interval: refreshInterval(files ?? {}),
  };
  return { pluginName: FILES_PLUGIN, config };
}

function refreshInterval({
  refreshIntervalMs: ms,
}: Pick<CertificateFilesSource, 'refreshIntervalMs'>): string | undefined {
  return ms === undefined ? undefined : `${ms / 1000}s`;
}
