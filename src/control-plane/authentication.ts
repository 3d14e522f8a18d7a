import { status, type Metadata } from '@grpc/grpc-js';
import type { PeerCertificate } from 'node:tls';
import { containedInterceptor, failCall, interceptCall } from '../grpc-js/server-callbacks';
import { errorMessage } from '../util/errors';
import { MAX_PENDING_AUTHENTICATIONS } from '../util/limits';
import type { Logger } from '../util/logger';
import type { Refusal } from './ads/resource-view';
import type { Principal } from './client-state';
import { afterRunning, type RunningClock } from '../util/running-time';

/** How long it may take to authenticate a client. */
const AUTHENTICATION_TIMEOUT_MS = 10_000;

/** A client, as far as the server knows it before its first request. */
export interface AuthenticationRequest {
  /** The headers of the call, such as `authorization`. */
  readonly metadata: Metadata;
  /** The certificate of the client, verified by the credentials of the server; undefined if it presented none. */
  readonly certificate: PeerCertificate | undefined;
  /** Address of the client. */
  readonly peer: string;
}

/** Who a client is, or the status with which its call ends. */
export type AuthenticationResult =
  { readonly principal: Principal } | { readonly refusal: Refusal };

/** Determines who a client is. */
export type Authenticate = (
  request: AuthenticationRequest,
) => AuthenticationResult | Promise<AuthenticationResult>;

export interface AuthenticationOptions {
  readonly authenticate: Authenticate;
  readonly clock: RunningClock;
  readonly logger: Logger;
  /** Called when a client was authenticated, with its address, and until when in milliseconds since the epoch; undefined if for good. */
  readonly onAuthenticated?: (peer: string, expiresAtMs: number | undefined) => void;
}

/** By the metadata of calls, which is all that grpc-js hands on from an interceptor to a handler. */
const principals = new WeakMap<object, Principal>();

/** Returns who the client of a call is; `undefined` if it was not authenticated. */
export function principalOf({ metadata }: { readonly metadata?: object }): Principal | undefined {
  return metadata && principals.get(metadata);
}

/** Returns the status code of a refusal, whose number an application chooses. */
function codeOf({ code }: Refusal): status {
  const name = status[code];
  const found = Object.entries(status).find(([key]) => key === name)?.[1];
  return typeof found === 'number' && code !== 0 ? found : status.UNKNOWN;
}

const FAILED: AuthenticationResult = {
  refusal: { code: status.UNAVAILABLE, details: 'the client cannot be authenticated now' },
};
const TOO_MANY: AuthenticationResult = {
  refusal: {
    code: status.UNAVAILABLE,
    details: `${MAX_PENDING_AUTHENTICATIONS} clients are being authenticated already`,
  },
};
const TOO_LATE: AuthenticationResult = {
  refusal: {
    code: status.UNAVAILABLE,
    details: `the client could not be authenticated within ${AUTHENTICATION_TIMEOUT_MS / 1000} s`,
  },
};

/** For exceptions. */
const PLACE = 'the authentication of a client';

/**
 * Authenticates the client of each call of a server before the service of the call receives it. Until then nothing of the call is
 * read, and it counts as no stream.
 */
export class Authentication {
  /** Of each server that is authenticated by this. */
  readonly interceptor = containedInterceptor(PLACE, (_method, call) =>
    interceptCall(PLACE, call, {
      onMetadata: (metadata, passLater) => {
        const certificate = call.getAuthContext().sslPeerCertificate;
        const peer = call.getPeer();
        this.check({ metadata, certificate, peer })
          .then((result) => {
            if ('refusal' in result) {
              const { refusal } = result;
              call.sendStatus({ code: codeOf(refusal), details: refusal.details });
              return;
            }
            this.options.onAuthenticated?.(peer, result.principal.expiresAtMs);
            principals.set(metadata, result.principal);
            // Has no effect if the client has cancelled the call.
            passLater();
          })
          .catch((error: unknown) => failCall(PLACE, call, error));
        return false;
      },
    }),
  );
  private pending = 0;

  constructor(private readonly options: AuthenticationOptions) {}

  /** Never rejects. */
  private async check(request: AuthenticationRequest): Promise<AuthenticationResult> {
    if (this.pending >= MAX_PENDING_AUTHENTICATIONS) return TOO_MANY;
    this.pending++;
    try {
      return await this.within(request);
    } catch (error) {
      this.options.logger.error(() => `control plane: authenticate threw: ${errorMessage(error)}`);
      return FAILED;
    } finally {
      this.pending--;
    }
  }

  private async within(request: AuthenticationRequest): Promise<AuthenticationResult> {
    const result = this.options.authenticate(request);
    if (!(result instanceof Promise)) return result;
    return new Promise((resolve, reject) => {
      const timer = afterRunning(
        this.options.clock,
        () => resolve(TOO_LATE),
        AUTHENTICATION_TIMEOUT_MS,
      );
      result.then(resolve, reject).finally(() => timer.release());
    });
  }
}
