import { status } from '@grpc/grpc-js';
import type {
  Authenticate,
  AuthenticationRequest,
  AuthenticationResult,
  Principal,
} from 'grpc-xds/control-plane';
import { ownerOf, type CertificateOwner } from './certificate-principal';
import type { AuthenticatedToken } from './token-authentication';

/** Which services clients see: those of all namespaces, or those of their own and of some others. */
export type Visibility =
  { readonly kind: 'all' } | { readonly kind: 'own'; readonly others: readonly string[] };

/** The options of `createClientAccess`. */
export interface ClientAccessOptions {
  /** Authenticates bearer tokens; undefined if there are none. */
  readonly tokens:
    { authenticate(token: string, address: string): Promise<AuthenticatedToken> } | undefined;
  /** Whether certificates that the server has verified say who a client is. */
  readonly acceptsCertificates: boolean;
  readonly visible: Visibility;
  /** The domain of the cluster. */
  readonly domain: string;
}

/** Creates what decides who may ask: by a bearer token, or else by a certificate. */
export function createClientAccess(options: ClientAccessOptions): Authenticate {
  return async (request) => {
    const owner = await findOwner(request, options);
    return 'refusal' in owner ? owner : toPrincipal(owner, options.visible);
  };
}

/** Who a client is, and until when that is proved. */
interface ProvedOwner extends CertificateOwner {
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number | undefined;
}

type Refused = Extract<AuthenticationResult, { readonly refusal: unknown }>;

async function findOwner(
  { metadata, certificate, peer }: AuthenticationRequest,
  { tokens, acceptsCertificates, domain }: ClientAccessOptions,
): Promise<ProvedOwner | Refused> {
  const token = bearerTokenOf(metadata.get('authorization'));
  if (token !== undefined && tokens !== undefined) {
    const account = await tokens.authenticate(token, addressOf(peer));
    if (!account.ok) return { refusal: account.error };
    const { namespace, name, expiresAtMs } = account.value;
    return { name: `${namespace}/${name}`, namespace, expiresAtMs };
  }
  if (acceptsCertificates && certificate !== undefined) {
    const owner = ownerOf(certificate, domain);
    if (owner === undefined) return unauthenticated(NO_NAME);
    const expiresAtMs = Date.parse(certificate.valid_to);
    return { ...owner, expiresAtMs: Number.isNaN(expiresAtMs) ? undefined : expiresAtMs };
  }
  return unauthenticated(tokens === undefined ? NO_CERTIFICATE : NO_TOKEN);
}

const NO_NAME =
  'the certificate of the client has no SPIFFE id and no DNS name, or several SPIFFE ids';
const NO_CERTIFICATE = 'the client has presented no certificate';
const NO_TOKEN =
  'the client has sent no bearer token: add "call_creds" of type "jwt_token_file" to its bootstrap';

/** Returns the token of an Authorization header (RFC 6750, 2.1); undefined if there is none. */
function bearerTokenOf([value]: readonly (string | Buffer)[]): string | undefined {
  const [, token] = /^Bearer +(\S+)$/i.exec(String(value ?? '')) ?? [];
  return token;
}

function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '');
}

function toPrincipal(owner: ProvedOwner, visible: Visibility): AuthenticationResult {
  const { namespace } = owner;
  if (visible.kind === 'all') return { principal: owner };
  if (namespace === undefined) {
    const details =
      'the certificate of the client has no namespace, and clients see only their own';
    return { refusal: { code: status.PERMISSION_DENIED, details } };
  }
  const visibleNamespaces: Principal['visibleNamespaces'] = new Set([namespace, ...visible.others]);
  return { principal: { ...owner, visibleNamespaces } };
}

function unauthenticated(details: string): Refused {
  return { refusal: { code: status.UNAUTHENTICATED, details } };
}
