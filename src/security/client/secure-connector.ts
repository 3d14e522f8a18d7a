import type { Socket } from 'node:net';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { CallCredentials, ChannelOptions } from '../../grpc-js';
import { CONNECT_TIMEOUT_MS, LATE_CODE } from '../../grpc-js/connect-time';
import { containedCallback, reportException } from '../../grpc-js/host-callbacks';
import { errorMessage } from '../../util/errors';
import { err, ok, type Result } from '../../util/result';
import { systemClock, type Clock } from '../../util/clock';
import { afterRunning } from '../../util/running-time';
import type { Identity, TrustedRoots } from '../providers/certificate-provider';
import { chainErrorOf, NOT_VERIFIED } from '../peer/chain-error';
import { checkFailure } from '../peer/check-failure';
import { checkPeer } from '../peer/check-peer';
import { codedError, codeOf, describeHandshakeError, publishHandshake } from './handshake-result';
import { redialOf, type Redial, type RedialingConnector } from './http-connect';
import { PolicyConnector, type HandshakeCertificates } from './policy-connector';
import { readCertificateNames } from '../peer/certificate-names';
import { ENDPOINT_HOSTNAME_ARG, serverNameOf, sniOf, type TlsPolicy } from './tls-policy';
import { describeMissingBundle, onlyTrustDomain, readTrustDomain } from '../peer/spiffe-id';
import { clientContext } from '../contexts/client-contexts';

/** How the chain of a server is verified: by the roots of the system if there are no certificates. */
interface Verification extends Partial<TrustedRoots> {
  readonly identity: Identity | undefined;
  /** The trust domain of the certificates (gRFC A87); `undefined` if they are for every identity. */
  readonly trustDomain?: string | undefined;
}

type Handshake = Result<TLSSocket, Error>;

/** The trust domain that a server of a policy was last seen to be of: its other servers most likely are, too. */
const likelyDomains = new WeakMap<TlsPolicy, string>();

/** Secures the connections of one subchannel by the policy of its cluster (gRFC A29). */
export class XdsSecureConnector extends PolicyConnector implements RedialingConnector {
  /** The trust domain of the server, as far as it is known. */
  private trustDomain: string | undefined;

  constructor(
    policy: TlsPolicy,
    options: ChannelOptions,
    callCredentials?: CallCredentials,
    clock: Clock = systemClock,
  ) {
    const hostname: unknown = options[ENDPOINT_HOSTNAME_ARG];
    const serverName = serverNameOf(policy.tls, typeof hostname === 'string' ? hostname : '');
    super(policy, serverName, callCredentials, clock);
    policy.isUsed = true;
  }

  /** Performs a handshake with the certificates as of now. @throws Error why it failed. */
  async connect(
    socket: Socket,
    redial: Redial = redialOf(socket, this.clock),
  ): Promise<{ socket: Socket; secure: boolean }> {
    const material = this.certificates;
    const startedAtMs = this.clock.monotonicMs();
    const result = await this.secure(socket, material, redial);
    if (this.policy.cluster !== '')
      publishHandshake(this.policy, result, this.clock.monotonicMs() - startedAtMs);
    if (result.ok) {
      watchServerSettings(result.value, (text) => this.describe(text));
      return { socket: result.value, secure: true };
    }
    socket.destroy();
    throw new Error(this.describe(result.error.message));
  }

  private secure(
    socket: Socket,
    { roots, identity }: HandshakeCertificates,
    redial: Redial,
  ): Promise<Handshake> {
    if (roots === 'system') return this.handshake(socket, { identity });
    const { bundles } = roots;
    const verification = { ...roots, identity };
    return bundles === undefined
      ? this.handshake(socket, verification)
      : this.secureByDomain(socket, { ...verification, bundles }, redial);
  }

  /**
   * Verifies a server by the bundle of its own trust domain alone (gRFC A87): authorities of another one must not vouch for it,
   * nor complete a chain that its own ones restrict. OpenSSL needs the bundle before it sees the certificate, so that a server
   * whose domain the cluster does not determine presents its certificate first on a connection of its own, which carries
   * nothing.
   */
  private async secureByDomain(
    socket: Socket,
    verification: Verification & Required<Pick<TrustedRoots, 'bundles'>>,
    redial: Redial,
  ): Promise<Handshake> {
    const { bundles, identity } = verification;
    const verify = (on: Socket, trustDomain: string): Promise<Handshake> | Handshake => {
      const certificates = bundles.get(trustDomain);
      if (certificates !== undefined)
        return this.handshake(on, { ...verification, certificates, trustDomain });
      return err(checkFailure(describeMissingBundle(trustDomain)));
    };
    const only = onlyTrustDomain(this.policy.tls, this.serverName, bundles);
    if (only !== undefined) return verify(socket, only);
    const likely = this.trustDomain ?? likelyDomains.get(this.policy);
    const first = likely === undefined ? undefined : await verify(socket, likely);
    if (first?.ok === true) return first;
    if (first !== undefined) socket.destroy();
    const read = await this.readTrustDomain(first === undefined ? socket : redial, identity);
    if (!read.ok) return read;
    this.trustDomain = read.value;
    if (first !== undefined && read.value === likely) return first;
    if (!bundles.has(read.value)) return verify(socket, read.value);
    const again = await dial(redial);
    if (!again.ok) return again;
    const result = await verify(again.value, read.value);
    if (result.ok) likelyDomains.set(this.policy, read.value);
    return result;
  }

  /** Performs a handshake only to see of which trust domain the server says it is. Nothing is verified. */
  private async readTrustDomain(
    from: Socket | Redial,
    identity: Identity | undefined,
  ): Promise<Result<string, Error>> {
    const socket = typeof from === 'function' ? await dial(from) : ok(from);
    if (!socket.ok) return socket;
    let presented: Buffer | undefined;
    const untrusted = { certificates: noRoots, identity };
    const attempt = await this.start(socket.value, untrusted, (secured) => {
      // Not destroyed here, where Node.js goes on to read it: it refuses the chain, since no root is trusted.
      presented = secured.getPeerCertificate().raw;
    });
    socket.value.destroy();
    if (presented === undefined) {
      if (attempt.ok) return err(checkFailure('the server has presented no certificate'));
      const { error } = attempt;
      return err(codedError(codeOf(error), describeHandshakeError(error)));
    }
    const names = readCertificateNames(presented);
    const trustDomain = names.ok ? readTrustDomain(names.value.subjectAltNames) : names;
    return trustDomain.ok ? trustDomain : err(checkFailure(trustDomain.error));
  }

  private async handshake(socket: Socket, verification: Verification): Promise<Handshake> {
    let presented: PeerCertificate | undefined;
    const result = await this.start(socket, verification, (secured) => {
      // Before Node.js looks at the chain: once that has failed, the certificate cannot be read any more. Reading it in every
      // handshake would cost a tenth of it.
      const chainError = chainErrorOf(secured);
      if (chainError !== undefined && chainError !== NOT_VERIFIED)
        presented = secured.getPeerCertificate();
    });
    if (result.ok) return result;
    const { error } = result;
    const text = describeHandshakeError(error, presented);
    const { trustDomain } = verification;
    const by = trustDomain === undefined ? '' : describeDomain(error, trustDomain);
    return err(codedError(codeOf(error), by + text));
  }

  /** @param onPresented Called once the server has presented a certificate. */
  private start(
    socket: Socket,
    { certificates: roots, identity, trustDomain, bundles, revocation }: Verification,
    onPresented: (secured: TLSSocket) => void,
  ): Promise<Handshake> {
    const { serverName, clock } = this;
    const sni = sniOf(serverName);
    let peerError: Error | undefined;
    const checkServerIdentity = (_host: string, certificate: PeerCertificate) => {
      try {
        const names = { serverName, trustDomain, bundles };
        const revoked = roots && revocation?.check(certificate, roots);
        peerError =
          revoked === undefined
            ? checkPeer(certificate.raw, this.policy.tls, names)
            : checkFailure(revoked, 'REVOKED');
      } catch (error) {
        peerError = toError(error);
        reportException(PLACE, error);
      }
      return peerError;
    };
    try {
      const secured = connect({
        socket,
        secureContext: clientContext(roots, identity),
        // Left out where there is none: with '', Deno has no origin for the HTTP/2 session.
        ...(sni !== '' && { servername: sni }),
        checkServerIdentity,
        // Explicitly: NODE_TLS_REJECT_UNAUTHORIZED=0 would switch the default off.
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      });
      secured.prependOnceListener(
        'secure',
        containedCallback(PLACE, () => onPresented(secured)),
      );
      return resultOf(secured, clock, () => peerError);
    } catch (error) {
      return Promise.resolve(err(toError(error)));
    }
  }
}

/** For exceptions. */
const PLACE = 'a TLS handshake';

const noRoots: readonly string[] = [];

async function dial(redial: Redial): Promise<Result<Socket, Error>> {
  try {
    return ok(await redial());
  } catch (error) {
    return err(toError(error));
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(errorMessage(thrown));
}

/** Says which bundle does not lead to a certificate. */
function describeDomain(error: Error, trustDomain: string): string {
  if (!/^(?:UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(codeOf(error))) return '';
  return `the certificate is not signed by the trust bundle of the trust domain "${trustDomain}": `;
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
    const onClose = () =>
      finish(err(codedError('CLOSED', 'the connection was closed during the handshake')));
    const onLate = () =>
      finish(err(codedError(LATE_CODE, 'TLS handshake failed: timed out after 20 s')));
    const timer = afterRunning(clock, onLate, CONNECT_TIMEOUT_MS);
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
  return err(codedError('ALPN', text));
}

/** Errors of a connection that the other side has closed. */
const CLOSED_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);
const CLOSED =
  'the server closed the connection after the TLS handshake; it probably does not accept the client certificate';

/**
 * Watches a connection from the handshake on, until the server has sent something: the SETTINGS of HTTP/2 come first. Over
 * TLS 1.3, a server checks the client certificate after the client considers the handshake complete. A connection that ends
 * before the SETTINGS has an error that says why.
 *
 * @param describe Adds what the connection is for.
 */
function watchServerSettings(socket: TLSSocket, describe: (text: string) => string): void {
  const isSilent = () => socket.bytesRead === 0;
  let own: Error | undefined;
  socket.once('error', (error: Error) => {
    // grpc-js puts the message of this very error into the status of calls, once this listener has returned.
    if (error === own || !isSilent()) return;
    const isClosed = CLOSED_CODES.has(codeOf(error));
    error.message = describe(isClosed ? CLOSED : describeHandshakeError(error));
  });
  socket.once('close', (hadError: boolean) => {
    own = new Error(describe(CLOSED));
    // The listener of grpc-js comes after this one: without an error, all it could say is "Failed to connect".
    if (!hadError && isSilent()) socket.emit('error', own);
  });
}
