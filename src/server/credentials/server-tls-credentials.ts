import type { SecureContextOptions, Server } from 'node:tls';
import { ServerCredentials } from '../../grpc-js';
import type { CertificateInstance, DownstreamTls } from '../../resources/tls/tls';
import { tlsOptions } from '../../security/contexts/tls-options';
import type {
  CertificateSource,
  CertificateWatch,
  Identity,
} from '../../security/providers/certificate-provider';
import {
  NO_SESSION_TICKETS,
  ServerHandshakes,
  type ServerHandshakesOptions,
} from './server-handshakes';
import type { ClientVerification } from './verify-client';

/** Constructor options of the credentials. */
export interface ServerTlsOptions extends ServerHandshakesOptions {
  readonly certificates: CertificateSource;
}

/** The certificates of new handshakes. */
interface ServerCertificates {
  readonly identity: Identity;
  readonly roots: ClientVerification['roots'];
}

type HostWatcher = Parameters<ServerCredentials['_addWatcher']>[0];

/**
 * Credentials of a server whose certificates are replaced while it serves, and whose clients are verified by the rules of
 * gRFCs A29 and A87. For `bindAsync` and `createConnectionInjector` of any `grpc.Server`. Certificates are watched while a
 * server uses the credentials. A connection uses those as of its accept; until there are any, connections are closed.
 */
export class ServerTlsCredentials extends ServerCredentials {
  private readonly handshakes: ServerHandshakes;
  private watches: readonly CertificateWatch[] = [];
  private current: ServerCertificates | undefined;

  constructor(private readonly options: ServerTlsOptions) {
    const handshakes = new ServerHandshakes(options);
    super(handshakes.createServerOptions());
    this.handshakes = handshakes;
  }

  /** Called by grpc-js for each server that it creates with these credentials, before that accepts connections. */
  override _addWatcher(watcher: HostWatcher): void {
    super._addWatcher(watcher);
    if (this.getWatcherCount() === 1) this.start();
    else watcher(this._getSecureContextOptions());
  }

  /** Called by grpc-js when such a server has closed. */
  override _removeWatcher(watcher: HostWatcher): void {
    super._removeWatcher(watcher);
    if (this.getWatcherCount() === 0) this.stop();
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  /** Logs the handshakes of a server that fail before it is known by a client that gets as far as being verified. */
  watchFailures(server: Server): void {
    this.handshakes.watchFailures(server);
  }

  private start(): void {
    const { tls, certificates } = this.options;
    this.watches = instancesOf(tls).map((each) => certificates.watch(each, () => this.update()));
    this.update();
  }

  private stop(): void {
    for (const watch of this.watches) watch.release();
    this.watches = [];
    this.current = undefined;
    this.updateSecureContextOptions(null);
  }

  /** What cannot be read replaces nothing: the providers keep the last good certificates, and log why. */
  private update(): void {
    const next = this.read();
    const { current } = this;
    if (next === undefined) return;
    if (next.identity === current?.identity && next.roots === current.roots) return;
    this.current = next;
    this.handshakes.use(next.roots);
    this.updateSecureContextOptions(contextOptions(next));
  }

  private read(): ServerCertificates | undefined {
    const [identityWatch, rootsWatch] = this.watches;
    const identity = identityWatch?.current.identity;
    if (identity?.ok !== true) return undefined;
    const { clientValidation } = this.options.tls;
    if (clientValidation === undefined) return { identity: identity.value, roots: undefined };
    if (rootsWatch === undefined) return { identity: identity.value, roots: 'system' };
    const { roots } = rootsWatch.current;
    return roots?.ok === true ? { identity: identity.value, roots: roots.value } : undefined;
  }
}

/** Returns the certificates that a server with this TLS watches: its own, and the authorities of clients unless they are of the system. */
export function instancesOf({
  identity,
  clientValidation,
}: DownstreamTls): readonly CertificateInstance[] {
  const roots = clientValidation?.rootCertificates;
  return roots?.kind === 'instance' ? [identity, roots] : [identity];
}

function contextOptions({ identity, roots }: ServerCertificates): SecureContextOptions {
  const { secureOptions, ...options } = tlsOptions();
  return {
    ...options,
    secureOptions: secureOptions | NO_SESSION_TICKETS,
    ...(typeof roots === 'object' && { ca: [...roots.certificates] }),
    cert: identity.certificateChain,
    key: identity.privateKey,
  };
}
