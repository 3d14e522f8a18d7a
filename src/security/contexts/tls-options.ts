import { constants } from 'node:crypto';
import { createSecureContext, DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE } from 'node:tls';
import { currentTlsVariables, type TlsVariables } from '../../util/grpc-js-variables';

/** The longest that a first load of certificates, and then a handshake, may take. grpc-js has no bound for either. */
export const TLS_TIMEOUT_MS = 20_000;

/** What every TLS context has, whatever its certificates are. */
export interface TlsContextOptions {
  readonly minVersion: 'TLSv1.2';
  readonly secureOptions: number;
  readonly ciphers: string;
  /** Absent where the groups of the runtime are used. */
  readonly ecdhCurve?: string;
}

/**
 * Groups on elliptic curves and those made of them: the defaults of OpenSSL without those of finite fields, in the words of
 * OpenSSL 3.5 and of earlier versions.
 */
const GROUPS = ['DEFAULT:-ffdhe2048:-ffdhe3072', 'X25519:P-256:X448:P-521:P-384'];

/** The groups that this runtime understands; `undefined` where it understands neither, as BoringSSL, which has no finite fields. */
let groups: { readonly list: string | undefined } | undefined;

/**
 * Returns the options of connections on which the peer decides little of what this process computes.
 *
 * There is no finite-field Diffie-Hellman: a server would choose the size of the group, and with it for how long the event
 * loop of its client computes: 170 ms with 8,192 bits in OpenSSL 3.0, before the certificate of the server is verified. There is
 * no renegotiation: HTTP/2 has none (RFC 9113, 9.2.1), and the peer would not be checked again.
 *
 * The cipher suites are those of GRPC_SSL_CIPHER_SUITES, as in grpc-js, or of Node.js. Curves that were configured for
 * Node.js stay.
 */
export function tlsOptions(
  { cipherSuites = DEFAULT_CIPHERS }: TlsVariables = currentTlsVariables(),
): TlsContextOptions {
  const options = {
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ciphers: `${cipherSuites}:!kDHE`,
  } as const;
  if (DEFAULT_ECDH_CURVE !== 'auto') return options;
  groups ??= { list: GROUPS.find(isUnderstood) };
  return groups.list === undefined ? options : { ...options, ecdhCurve: groups.list };
}

function isUnderstood(ecdhCurve: string): boolean {
  try {
    createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}
