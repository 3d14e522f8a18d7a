import { connectionKeyOf, type ConnectionEnds } from '../../util/connection-ends';
import { X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { carrierOf } from '../../grpc-js/host-internals';
import { err, ok, type Result } from '../../util/result';
import { readCertificateNames, type CertificateNames } from './certificate-names';
import { spiffeIdOf } from './spiffe-id';

/** The identity of the peer of a connection, as in its certificate. */
export interface PeerIdentity {
  /** The SPIFFE id, such as `spiffe://example.org/ns/default/sa/web`; `undefined` unless there is exactly one. */
  readonly spiffeId: string | undefined;
  /** URIs among the subject alternative names, in the order of the certificate. */
  readonly uriSans: readonly string[];
  /** DNS names among them. */
  readonly dnsSans: readonly string[];
  /** The subject in the text of RFC 2253, such as `CN=web,O=Acme`; empty if there is none. */
  readonly subject: string;
  /** The certificate. Parsed when it is first read. */
  readonly certificate: X509Certificate;
}

/** Returns the identity that a certificate states. @param encoded The certificate in DER. */
export function createPeerIdentity(names: CertificateNames, encoded: Buffer): PeerIdentity {
  let certificate: X509Certificate | undefined;
  return {
    spiffeId: spiffeIdOf(names.subjectAltNames)?.id,
    uriSans: names.uriSans,
    dnsSans: names.dnsSans,
    subject: names.subject,
    get certificate() {
      return (certificate ??= new X509Certificate(encoded));
    },
  };
}

/** A connection that is secured by TLS, after its handshake. */
export interface TlsConnection {
  /** `undefined` if the client presented no certificate. */
  readonly peer: PeerIdentity | undefined;
  /** The names in the server's own certificate; `undefined` for connections of clients. */
  readonly local?: CertificateNames | undefined;
}

/** A call of a client or a server of `@grpc/grpc-js`: the argument of a handler, or an interceptor. */
export interface AuthenticatedCall {
  /** Returns what the certificate of the peer says. */
  getAuthContext(): {
    readonly transportSecurityType?: string;
    readonly sslPeerCertificate?: Pick<PeerCertificate, 'raw'>;
  } | null;
  /** Returns the addresses of the connection. Only calls in interceptors of servers have it. */
  getConnectionInfo?(): ConnectionEnds;
}

const connections = new Map<string, TlsConnection>();
const identities = new WeakMap<object, PeerIdentity>();

/**
 * Records the identity of the client of a connection until it closes, before its first call: grpc-js shows calls no
 * connection, nor anything of a TLS connection whose client presented no certificate.
 */
export function recordTlsConnection(socket: TLSSocket, peer: PeerIdentity | undefined): void {
  const key = connectionKeyOf(socket);
  const connection: TlsConnection = { peer };
  if (key !== undefined) {
    connections.set(key, connection);
    socket.once('close', () => {
      if (connections.get(key) === connection) connections.delete(key);
    });
  }
  if (peer === undefined) return;
  identities.set(peerCertificateOf(socket), peer);
}

/**
 * Returns what a client presented; an empty object for one without a certificate. Node.js converts the certificate each time that it
 * is read, and grpc-js reads it for each call that looks at it: from here on, it is the same object for all of them. Called after
 * the handshake, of which there is only one.
 */
export function peerCertificateOf(socket: TLSSocket): Partial<PeerCertificate> {
  if (Object.hasOwn(socket, 'getPeerCertificate')) return socket.getPeerCertificate();
  const read = socket.getPeerCertificate.bind(socket);
  const certificate = read(false);
  const value = (detailed?: boolean) => (detailed === true ? read(true) : certificate);
  Object.defineProperty(socket, 'getPeerCertificate', { value, configurable: true });
  return certificate;
}

/**
 * Returns what secures the connection of a call; `undefined` if it is known to be plain text, or not known to be secured.
 *
 * @returns why the names of the certificate cannot be read, otherwise: what depends on them must be refused.
 */
export function tlsConnectionOf(
  call: AuthenticatedCall,
): Result<TlsConnection | undefined, string> {
  const ends = call.getConnectionInfo?.();
  const key = ends && connectionKeyOf(ends);
  const recorded = key === undefined ? undefined : connections.get(key);
  if (recorded !== undefined) return ok(recorded);
  const context = call.getAuthContext();
  const certificate = context?.sslPeerCertificate;
  if (certificate !== undefined) return secureBy(certificate);
  return ok(context?.transportSecurityType === undefined ? undefined : { peer: undefined });
}

/** The same of the connection of a server whose handshake has ended. One without a verified client is secured all the same. */
export function securityOfSocket(socket: TLSSocket): Result<TlsConnection, string> {
  const { raw }: Partial<PeerCertificate> = socket.authorized ? socket.getPeerCertificate() : {};
  const security = raw === undefined ? ok({ peer: undefined }) : secureBy({ raw });
  if (!security.ok) return security;
  let local: Result<CertificateNames, string> | undefined;
  return ok({
    ...security.value,
    get local() {
      local ??= readCertificateNames(socket.getX509Certificate()?.raw ?? Buffer.alloc(0));
      return local.ok ? local.value : undefined;
    },
  });
}

function secureBy(certificate: Pick<PeerCertificate, 'raw'>): Result<TlsConnection, string> {
  const peer = identityOf(certificate);
  return peer.ok ? ok({ peer: peer.value }) : peer;
}

/**
 * Returns what secures the connection of a call, for those who judge its peer; `undefined` for plain text. grpc-js says nothing of a
 * connection of TLS without a verified certificate, as of one in plain text, so that its silence means neither.
 *
 * @param call What an interceptor is called with.
 * @returns why the peer cannot be evaluated if that is not known, with what to do.
 */
export function securityOf(call: AuthenticatedCall): Result<TlsConnection | undefined, string> {
  const carrier = carrierOf(call);
  if (carrier === 'plain') return ok(undefined);
  const tls = tlsConnectionOf(call);
  if (!tls.ok || tls.value !== undefined) return tls;
  return carrier === 'tls' ? ok({ peer: undefined }) : err(NOT_KNOWN);
}

const NOT_KNOWN =
  'it is not known whether its connection is secured by TLS: give createConnectionInjector() a net.Socket or a tls.TLSSocket, ' +
  'let interceptors before this one return a ServerInterceptingCall, or name no principals in the rules';

function identityOf(certificate: Pick<PeerCertificate, 'raw'>): Result<PeerIdentity, string> {
  const known = identities.get(certificate);
  if (known !== undefined) return ok(known);
  const names = readCertificateNames(certificate.raw);
  if (!names.ok) return names;
  const identity = createPeerIdentity(names.value, certificate.raw);
  identities.set(certificate, identity);
  return ok(identity);
}
