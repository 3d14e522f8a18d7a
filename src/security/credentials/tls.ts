import { createSecureContext } from 'node:tls';
import type { Socket } from 'node:net';
import {
  ChannelCredentials,
  credentials,
  type CallCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { withoutAddress } from '../../grpc-js/host-internals';
import type { UpstreamTls } from '../../resources/tls/tls';
import {
  CertificateFiles,
  parseCertificateFiles,
  type CertificateFilesConfig,
  type CertificateFilesOptions,
} from '../providers/certificate-files';
import type { CertificateSource } from '../providers/certificate-provider';
import { clientContext } from '../contexts/client-contexts';
import { PolicyConnector } from '../client/policy-connector';
import { checkHostName, serverCheckOf } from '../peer/check-host-name';
import { tlsOptions } from '../contexts/tls-options';
import { XdsSecureConnector } from '../client/secure-connector';
import { TlsPolicy } from '../client/tls-policy';
import type { Clock } from '../../util/clock';
import { MAX_BUNDLE_BYTES } from '../../util/limits';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { currentTlsVariables } from '../../util/grpc-js-variables';
import type { CredentialsType } from './credentials-registry';

const ROOTS_FILE = { maxBytes: MAX_BUNDLE_BYTES };

/** The instance of a policy whose source has only one. */
const INSTANCE = { instanceName: 'tls', certificateName: '' };

/** The certificates of TLS credentials. */
type TlsCertificates = Pick<UpstreamTls, 'rootCertificates' | 'identity'>;

/** Credentials whose certificates may change. */
export class TlsCredentials extends ChannelCredentials {
  private policy: TlsPolicy | undefined;

  /** @param checksHostName Whether the host name of the server is compared with its certificate, or its SPIFFE ID (gRFC A87). */
  constructor(
    private readonly certificates: TlsCertificates,
    private readonly source: CertificateSource,
    private readonly clock: Clock,
    private readonly checksHostName = true,
  ) {
    super();
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    target: GrpcUri,
    options: ChannelOptions,
    callCredentials?: CallCredentials,
  ): SecureConnector {
    this.policy ??= this.createPolicy(target);
    const { policy, clock } = this;
    return this.checksHostName
      ? new HostNameConnector(policy, { target, options }, callCredentials, clock)
      : new XdsSecureConnector(policy, options, callCredentials, clock);
  }

  private createPolicy({ path }: GrpcUri): TlsPolicy {
    const tls: UpstreamTls = {
      sni: path,
      autoHostSni: false,
      autoSniSanValidation: false,
      sanMatchers: [],
      ...this.certificates,
    };
    return new TlsPolicy('', tls, this.source);
  }
}

/** Creates credentials whose certificates are read from files. */
function createFileTls(
  { roots, identity }: CertificateFilesConfig,
  files: CertificateFiles,
  clock: Clock,
): ChannelCredentials {
  const certificates: TlsCertificates = {
    rootCertificates: roots === undefined ? { kind: 'system' } : { kind: 'instance', ...INSTANCE },
    identity: identity && INSTANCE,
  };
  // Whatever instance it names.
  const source: CertificateSource = {
    nodeId: '',
    watch: (_instance, onChanged) => files.watch(onChanged),
  };
  // With a trust bundle map, a server may have any SPIFFE ID of the trust domains, each verified by its own bundle (gRFC A87).
  const checksHostName = roots?.field !== 'spiffe_trust_bundle_map_file';
  return new TlsCredentials(certificates, source, clock, checksHostName);
}

/**
 * Secures the connections of one subchannel as grpc-js does, which compares the host name of the target, but with the TLS
 * contexts of this package: made once for all connections with the same certificates.
 */
class HostNameConnector extends PolicyConnector {
  constructor(
    policy: TlsPolicy,
    private readonly subchannel: { readonly target: GrpcUri; readonly options: ChannelOptions },
    callCredentials: CallCredentials | undefined,
    clock: Clock,
  ) {
    super(policy, '', callCredentials, clock);
  }

  async connect(socket: Socket): ReturnType<SecureConnector['connect']> {
    const { target, options } = this.subchannel;
    const { roots, identity } = this.certificates;
    const [trusted, checkServerIdentity] =
      roots === 'system' ? [undefined, checkHostName] : [roots.certificates, serverCheckOf(roots)];
    const context = clientContext(trusted, identity);
    const secured = credentials.createFromSecureContext(context, { checkServerIdentity });
    return withoutAddress(secured._createSecureConnector(target, options)).connect(socket);
  }
}

/** Reads files for the first time. @returns the certificates, or which file cannot be used and why. */
export function loadCertificateFiles(
  config: CertificateFilesConfig,
  { clock, logger }: Pick<CertificateFilesOptions, 'clock' | 'logger'>,
): Result<CertificateFiles, string> {
  // A failure is the reason why the server cannot be used, which is logged there.
  const options = { clock, logger, subject: '', logsFirstFailure: false };
  const files = new CertificateFiles(config, options);
  files.read();
  const { roots, identity } = files.current;
  if (config.roots !== undefined && roots?.ok === false) return roots;
  if (config.identity !== undefined && identity?.ok === false) return identity;
  return ok(files);
}

/**
 * Credentials of type `tls` (gRFC A65): `ca_certificate_file`, `certificate_file` with `private_key_file`,
 * `spiffe_trust_bundle_map_file` (gRFC A87), `crl_directory` or `crl_file` and `refresh_interval`, all of them optional. The files are read when a channel
 * is made, which fails if they cannot be used, and again when they change. With a trust bundle map, the SPIFFE ID of the
 * server is checked in place of its host name.
 */
export function createTlsCredentialsType(options: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly spiffeBundles: boolean;
}): CredentialsType<ChannelCredentials> {
  const rules = { spiffeBundles: options.spiffeBundles, isFileRequired: false };
  return {
    type: 'tls',
    parse(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config === undefined) return undefined;
      return () => {
        const files = loadCertificateFiles(config, options);
        return files.ok ? ok(createFileTls(config, files.value, options.clock)) : files;
      };
    },
    parseForHttps(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config?.roots?.field === 'spiffe_trust_bundle_map_file')
        return violations.at(config.roots.field).add('cannot be used for HTTPS');
      return config && (() => loadCertificateFiles(config, options));
    },
  };
}

/** Creates credentials that trust the roots of the system, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH. */
export function createSystemTls(
  { rootsPath } = currentTlsVariables(),
): Result<ChannelCredentials, string> {
  const ca = rootsPath === undefined ? undefined : readRegularFile(rootsPath, ROOTS_FILE);
  if (ca?.ok === false) return err(`${rootsPath} cannot be read: ${ca.error}`);
  const context = createSecureContext({ ...tlsOptions(), ...(ca && { ca: ca.value }) });
  return ok(credentials.createFromSecureContext(context, { checkServerIdentity: checkHostName }));
}
