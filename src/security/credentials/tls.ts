import { createSecureContext } from 'node:tls';
import type { Socket } from 'node:net';
import {
  CallCredentials,
  ChannelCredentials,
  credentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { withoutAddress } from '../../grpc-js/host-internals';
import type { UpstreamTls } from '../../resources/tls/tls';
import { parseCertificateFiles, type CertificateFilesConfig } from '../providers/certificate-files';
import { MAX_BUNDLE_BYTES } from '../providers/certificate-limits';
import { clientContexts } from '../client/client-contexts';
import { checkHostName } from '../peer/check-host-name';
import { tlsOptions } from '../contexts/tls-options';
import { XdsSecureConnector } from '../client/secure-connector';
import { TlsPolicy } from '../client/tls-policy';
import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { currentTlsVariables } from '../../util/grpc-js-variables';
import type { ChannelCredentialsType } from './define-channel-credentials';
import { FileCertificates } from './file-certificates';
import { LoadedCertificates } from '../contexts/loaded-certificates';

const ROOTS_FILE = { maxBytes: MAX_BUNDLE_BYTES };

/** The instance of a policy whose source has only one. */
const INSTANCE = { instanceName: 'tls', certificateName: '' };

/** Credentials whose certificates are read from files, which may change. */
class FileTlsCredentials extends ChannelCredentials {
  private policy: TlsPolicy | undefined;

  constructor(
    private readonly config: CertificateFilesConfig,
    private readonly certificates: FileCertificates,
    private readonly clock: Clock,
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
    this.policy ??= new TlsPolicy('', this.tlsFor(target), this.certificates.source);
    const { policy, clock } = this;
    // With a trust bundle map, a server may have any SPIFFE ID of the trust domains, each verified by its own bundle (gRFC A87).
    return this.config.roots?.field === 'spiffe_trust_bundle_map_file'
      ? new XdsSecureConnector(policy, options, callCredentials, clock)
      : new HostNameConnector(policy, { target, options, callCredentials, clock });
  }

  private tlsFor({ path }: GrpcUri): UpstreamTls {
    const { roots, identity } = this.config;
    return {
      sni: path,
      autoHostSni: false,
      autoSniSanValidation: false,
      sanMatchers: [],
      rootCertificates:
        roots === undefined ? { kind: 'system' } : { kind: 'instance', ...INSTANCE },
      identity: identity === undefined ? undefined : INSTANCE,
    };
  }
}

/** Constructor options of a {@link HostNameConnector}. */
interface HostNameConnectorOptions {
  readonly target: GrpcUri;
  readonly options: ChannelOptions;
  readonly callCredentials: CallCredentials | undefined;
  readonly clock: Clock;
}

/**
 * Secures the connections of one subchannel as grpc-js does, which compares the host name of the target, but with the TLS
 * contexts of this package: made once for all connections with the same certificates.
 */
class HostNameConnector implements SecureConnector {
  private readonly certificates: LoadedCertificates;

  constructor(
    policy: TlsPolicy,
    private readonly options: HostNameConnectorOptions,
  ) {
    const describe = (text: string) => `${policy.subject}: ${text}`;
    this.certificates = new LoadedCertificates(policy, {
      clock: options.clock,
      describe,
    });
  }

  getCallCredentials(): CallCredentials {
    return this.options.callCredentials ?? CallCredentials.createEmpty();
  }

  waitForReady(): Promise<void> {
    return this.certificates.wait();
  }

  /** Performs a handshake with the certificates as of now. @throws Error why it failed. */
  async connect(socket: Socket): ReturnType<SecureConnector['connect']> {
    const { target, options } = this.options;
    const { roots, identity } = this.certificates.get();
    const context = clientContexts.get({
      roots: roots === 'system' ? undefined : roots.certificates,
      identity,
    });
    const secured = credentials.createFromSecureContext(context, {
      checkServerIdentity: checkHostName,
    });
    return withoutAddress(secured._createSecureConnector(target, options)).connect(socket);
  }

  destroy(): void {
    this.certificates.release();
  }
}

/**
 * Credentials of type `tls` (gRFC A65): `ca_certificate_file`, `certificate_file` with `private_key_file`,
 * `spiffe_trust_bundle_map_file` (gRFC A87) and `refresh_interval`, all of them optional. The files are read when a channel
 * is made, which fails if they cannot be used, and again when they change. With a trust bundle map, the SPIFFE ID of the
 * server is checked in place of its host name.
 */
export function createTlsCredentialsType(options: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly spiffeBundles: boolean;
}): ChannelCredentialsType {
  const rules = { spiffeBundles: options.spiffeBundles, isFileRequired: false };
  return {
    type: 'tls',
    parse(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config === undefined) return undefined;
      return () => {
        const certificates = FileCertificates.load(config, options);
        if (!certificates.ok) return certificates;
        return ok(new FileTlsCredentials(config, certificates.value, options.clock));
      };
    },
    parseForHttps(json, violations) {
      const config = parseCertificateFiles(json, rules, violations);
      if (config === undefined) return undefined;
      if (config.roots?.field === 'spiffe_trust_bundle_map_file')
        return violations.at(config.roots.field).add('cannot be used for HTTPS');
      return () => FileCertificates.load(config, options);
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
