import type { Socket } from 'node:net';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { CallCredentials, type ChannelOptions, type SecureConnector } from '../grpc-js';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { systemClock, type Clock } from '../util/clock';
import type { Identity, TrustedRoots } from './certificate-provider';
import { checkPeer } from './check-peer';
import { describeHandshakeError } from './handshake-errors';
import { SecureContexts } from './secure-contexts';
import { watchServerSettings } from './server-settings';
import {
  ENDPOINT_HOSTNAME_ARG,
  serverNameOf,
  sniOf,
  type TlsMaterialWatch,
  type TlsPolicy,
} from './tls-policy';
import { publishHandshake } from './tls-events';

/** The longest that a first load of certificates, and then a handshake, may take. grpc-js has no bound for either. */
const TIMEOUT_MS = 20_000;

const contexts = new SecureContexts();

interface Loaded {
  readonly roots: TrustedRoots | 'system';
  readonly identity: Identity | undefined;
}

/** Secures the connections of one subchannel by the policy of its cluster (gRFC A29). */
export class XdsSecureConnector implements SecureConnector {
  private readonly material: TlsMaterialWatch;
  private readonly serverName: string;
  /** Called when certificates have changed. */
  private readonly waiters = new Set<() => void>();
  private isDestroyed = false;

  constructor(
    private readonly policy: TlsPolicy,
    options: ChannelOptions,
    private readonly callCredentials = CallCredentials.createEmpty(),
    private readonly clock: Clock = systemClock,
  ) {
    policy.markUsed();
    const hostname: unknown = options[ENDPOINT_HOSTNAME_ARG];
    this.serverName = serverNameOf(policy.tls, typeof hostname === 'string' ? hostname : '');
    this.material = policy.watch(() => {
      for (const notify of [...this.waiters]) notify();
    });
  }

  getCallCredentials(): CallCredentials {
    return this.callCredentials;
  }

  /** Waits until the certificates were loaded for the first time. @throws Error why they cannot be used. */
  async waitForReady(): Promise<void> {
    const loaded = this.load() ?? (await this.waitForLoad());
    if (!loaded.ok) throw new Error(loaded.error);
  }

  /** Performs a handshake with the certificates as of now. @throws Error why it failed. */
  async connect(socket: Socket): Promise<{ socket: Socket; secure: boolean }> {
    const loaded = this.load();
    if (loaded === undefined) throw new Error(this.describe('certificates are not loaded yet'));
    if (!loaded.ok) throw new Error(loaded.error);
    const startedAtMs = this.clock.monotonicMs();
    let presented: PeerCertificate | undefined;
    const result = await this.handshake(socket, loaded.value, (certificate) => {
      presented = certificate;
    });
    publishHandshake(this.policy, result, this.clock.monotonicMs() - startedAtMs);
    if (result.ok) {
      watchServerSettings(result.value, this.clock, (text) => this.describe(text));
      return { socket: result.value, secure: true };
    }
    socket.destroy();
    throw new Error(this.describe(describeHandshakeError(result.error, presented)));
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.material.release();
    for (const notify of [...this.waiters]) notify();
  }

  /** @returns `undefined` while certificates are being read for the first time. */
  private load(): Result<Loaded, string> | undefined {
    const { roots, identity } = this.material.current;
    if (roots === undefined || identity === undefined) return undefined;
    if (roots !== 'system' && !roots.ok) return err(this.describe(roots.error));
    if (identity !== 'none' && !identity.ok) return err(this.describe(identity.error));
    return ok({
      roots: roots === 'system' ? roots : roots.value,
      identity: identity === 'none' ? undefined : identity.value,
    });
  }

  private waitForLoad(): Promise<Result<Loaded, string>> {
    return new Promise((resolve) => {
      const finish = (result: Result<Loaded, string>) => {
        this.waiters.delete(check);
        timer.release();
        resolve(result);
      };
      const check = () => {
        const loaded = this.isDestroyed ? err('the subchannel was closed') : this.load();
        if (loaded !== undefined) finish(loaded);
      };
      const timer = this.clock.setTimer(
        () => finish(err(this.describe('certificates were not loaded within 20 s'))),
        TIMEOUT_MS,
      );
      this.waiters.add(check);
    });
  }

  private handshake(
    socket: Socket,
    { roots, identity }: Loaded,
    onCertificate: (certificate: PeerCertificate) => void,
  ): Promise<Result<TLSSocket, Error>> {
    const { serverName, clock } = this;
    const sni = sniOf(serverName);
    let peerError: Error | undefined;
    const checkServerIdentity = (_host: string, certificate: PeerCertificate) => {
      const expectations = { roots, serverName, nowMs: clock.now() };
      peerError = checkPeer(certificate, this.policy.tls, expectations);
      return peerError;
    };
    try {
      const secured = connect({
        socket,
        secureContext: contexts.get({
          roots: roots === 'system' ? undefined : roots.certificates,
          identity,
        }),
        // Left out where there is none: with '', Deno has no origin for the HTTP/2 session.
        ...(sni !== '' && { servername: sni }),
        checkServerIdentity,
        // Explicitly: NODE_TLS_REJECT_UNAUTHORIZED=0 would switch the default off.
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      });
      // Before Node.js looks at the chain: once that has failed, the certificate cannot be read any more.
      secured.prependOnceListener('secure', () => {
        if (isChainRefused(secured)) onCertificate(secured.getPeerCertificate());
      });
      return resultOf(secured, clock, () => peerError);
    } catch (error) {
      return Promise.resolve(err(error instanceof Error ? error : new Error(errorMessage(error))));
    }
  }

  private describe(text: string): string {
    const server = this.serverName === '' ? '' : ` (server name "${this.serverName}")`;
    return `cluster "${this.policy.cluster}"${server}: ${text}`;
  }
}

/**
 * Whether Node.js is about to refuse the chain. By what it asks itself, which is not public: to read the certificate in every
 * handshake would cost a tenth of it. Where it cannot be asked, an error says less.
 */
function isChainRefused(socket: TLSSocket): boolean {
  const handle: unknown = Reflect.get(socket, '_handle');
  return hasVerifyError(handle) && (handle.verifyError() ?? undefined) !== undefined;
}

function hasVerifyError(handle: unknown): handle is { verifyError(): unknown } {
  if (typeof handle !== 'object' || handle === null || !('verifyError' in handle)) return false;
  return typeof handle.verifyError === 'function';
}

/** Waits for the end of a handshake, for 20 s at most. @param peerError Why the certificate of the server is refused. */
function resultOf(
  secured: TLSSocket,
  clock: Clock,
  peerError: () => Error | undefined,
): Promise<Result<TLSSocket, Error>> {
  return new Promise((resolve) => {
    const finish = (result: Result<TLSSocket, Error>) => {
      timer.release();
      secured.removeListener('close', onClose);
      if (!result.ok) secured.destroy();
      resolve(result);
    };
    const onClose = () => finish(err(new Error('the connection was closed during the handshake')));
    const timer = clock.setTimer(
      () => finish(err(Object.assign(new Error('timed out after 20 s'), { code: 'TIMEOUT' }))),
      TIMEOUT_MS,
    );
    secured.once('secureConnect', () => finish(accept(secured)));
    secured.once('close', onClose);
    secured.on('error', (error) => finish(err(peerError() ?? error)));
  });
}

/** A server without ALPN would be sent HTTP/2 all the same: grpc-js does not look. */
function accept(socket: TLSSocket): Result<TLSSocket, Error> {
  if (!socket.authorized) return err(new Error(errorMessage(socket.authorizationError)));
  if (socket.alpnProtocol === 'h2') return ok(socket);
  const chosen = socket.alpnProtocol === false ? 'no protocol' : `"${socket.alpnProtocol}"`;
  const text = `the server chose ${chosen} by ALPN, not "h2": it does not serve gRPC over TLS`;
  return err(Object.assign(new Error(text), { code: 'ALPN' }));
}
