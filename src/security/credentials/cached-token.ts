import { CallCredentials, Metadata, Status } from '../../grpc-js';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Clock } from '../../util/clock';
import { readJwtExpiry } from '../../util/jwt-expiry';
import { MAX_TOKEN_BYTES } from '../../util/limits';
import type { Random } from '../../util/random';
import { err, ok, type Result } from '../../util/result';
import { readRegularFile } from '../../util/read-regular-file';

/** Why there is no token. grpc-js converts it to the status of the call. */
export class TokenError extends Error {
  override readonly name = 'TokenError';

  /** @param code A gRPC status code. */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** Receives the token, or why there is none. */
export type TokenCallback = (token: Result<string, TokenError>) => void;

/** Where tokens come from. */
export interface TokenSource {
  /** The subject of errors. */
  readonly description: string;
  /** Requests a token. The callback is called exactly once, and may be called before this returns. */
  fetch(callback: TokenCallback): void;
}

export interface TokenDependencies {
  readonly clock: Clock;
  readonly random: Random;
}

interface Token {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** A token is not used in its last milliseconds. */
const MARGIN_MS = 30_000;
/** A token with less time left is requested again in the background. */
const AHEAD_MS = 60_000;
/** Milliseconds between a token and the next request, however soon it expires: calls do not request one each. */
const MIN_REQUEST_INTERVAL_MS = 1000;

/**
 * A JSON Web Token that is replaced before it expires (gRFCs A83, A97). It is cached until shortly before its expiry, and
 * requested again in the background before that. The source is used only for a request of the token, and after a failure
 * only after a backoff.
 */
export class CachedToken {
  private readonly waiting = new Set<TokenCallback>();
  private isFetching = false;
  private token: Token | undefined;
  /** That of the last request; `undefined` if it did not fail. */
  private failure: TokenError | undefined;
  /** Before this, a token that has not expired is not requested again, nor one after a failure; on the monotonic clock. */
  private nextRequestMs = 0;
  private backoff: BackoffStep;

  constructor(
    private readonly source: TokenSource,
    private readonly dependencies: TokenDependencies,
  ) {
    this.backoff = this.firstBackoff();
  }

  /** Calls back with the token, at once if it is cached. */
  get(callback: TokenCallback): void {
    const remainingMs = this.remainingMs();
    const isEarly = this.dependencies.clock.monotonicMs() < this.nextRequestMs;
    const isNew = isEarly && this.failure === undefined;
    if (this.token !== undefined && remainingMs > (isNew ? -MARGIN_MS : 0)) {
      callback(ok(this.token.text));
      if (remainingMs < AHEAD_MS && !isEarly) this.startFetching();
    } else if (this.failure !== undefined && isEarly) {
      callback(err(this.failure));
    } else {
      this.waiting.add(callback);
      this.startFetching();
    }
  }

  /** Creates call credentials that send it as a bearer token. Calls wait for it. */
  toCredentials(): CallCredentials {
    return CallCredentials.createFromMetadataGenerator((_call, callback) => {
      this.get((result) => {
        if (!result.ok) {
          callback(result.error);
          return;
        }
        const metadata = new Metadata();
        metadata.set('authorization', `Bearer ${result.value}`);
        callback(null, metadata);
      });
    });
  }

  /** Remaining time in which the token is used. */
  private remainingMs(): number {
    return (this.token?.expiresAtMs ?? 0) - MARGIN_MS - this.dependencies.clock.now();
  }

  private startFetching(): void {
    if (this.isFetching) return;
    this.isFetching = true;
    this.source.fetch((fetched) => {
      this.isFetching = false;
      this.settle(
        fetched.ok
          ? this.parse(fetched.value.trim())
          : this.fail(fetched.error.code, fetched.error.message),
      );
    });
  }

  private parse(text: string): Result<Token, TokenError> {
    const expiry = readJwtExpiry(text);
    if (!expiry.ok) return this.fail(Status.UNAUTHENTICATED, expiry.error);
    if (expiry.value <= this.dependencies.clock.now()) {
      const since = Number.isFinite(new Date(expiry.value).getTime())
        ? new Date(expiry.value).toISOString()
        : 'long ago';
      return this.fail(Status.UNAUTHENTICATED, `the token has expired: ${since}`);
    }
    return ok({ text, expiresAtMs: expiry.value });
  }

  private fail(code: number, reason: string): Result<never, TokenError> {
    return err(new TokenError(code, `${this.source.description}: ${reason}`));
  }

  private settle(read: Result<Token, TokenError>): void {
    const nowMs = this.dependencies.clock.monotonicMs();
    if (read.ok) {
      this.token = read.value;
      this.failure = undefined;
      this.nextRequestMs = nowMs + MIN_REQUEST_INTERVAL_MS;
      this.backoff = this.firstBackoff();
    } else {
      this.failure = read.error;
      this.nextRequestMs = nowMs + this.backoff.delayMs;
      this.backoff = this.backoff.next();
    }
    const answer = read.ok ? ok(read.value.text) : read;
    for (const callback of this.waiting) {
      this.waiting.delete(callback);
      callback(answer);
    }
  }

  private firstBackoff(): BackoffStep {
    return firstBackoffStep(connectionBackoff, this.dependencies.random);
  }
}

/** Creates the token in a file that is replaced before the token expires (gRFC A97). */
export function createJwtTokenFile(path: string, dependencies: TokenDependencies): CachedToken {
  const source: TokenSource = {
    description: `jwt_token_file ${path}`,
    fetch(callback) {
      const read = readRegularFile(path, { maxBytes: MAX_TOKEN_BYTES });
      if (read.ok) callback(ok(read.value.toString('utf8')));
      else callback(err(new TokenError(Status.UNAVAILABLE, read.error)));
    },
  };
  return new CachedToken(source, dependencies);
}
