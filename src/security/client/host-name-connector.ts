import type { Socket } from 'node:net';
import {
  CallCredentials,
  credentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { LoadedCertificates, processContexts } from '../providers/loaded-certificates';
import type { ReadyMaterial } from './ready-certificates';
import type { TlsPolicy } from './tls-policy';

/** Constructor options of a {@link HostNameConnector}. */
export interface HostNameConnectorOptions {
  readonly target: GrpcUri;
  readonly options: ChannelOptions;
  readonly callCredentials: CallCredentials | undefined;
  readonly clock: Clock;
}

/**
 * Secures the connections of one subchannel as grpc-js does, which compares the host name of the target, but with the TLS
 * contexts of this package: made once for all connections with the same certificates, in steps where these are many.
 */
export class HostNameConnector implements SecureConnector {
  private readonly certificates: LoadedCertificates;

  constructor(
    policy: TlsPolicy,
    private readonly options: HostNameConnectorOptions,
  ) {
    const describe = (text: string) => `${policy.subject}: ${text}`;
    this.certificates = new LoadedCertificates(policy, { clock: options.clock, describe });
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
    const context = processContexts.get({ roots: listOf(roots), identity });
    const secured = credentials.createFromSecureContext(context);
    return secured._createSecureConnector(target, options).connect(socket);
  }

  destroy(): void {
    this.certificates.release();
  }
}

function listOf(roots: ReadyMaterial['roots']): readonly string[] | undefined {
  return roots === 'system' ? undefined : roots.certificates;
}
