import { Status } from '../grpc-js';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../util/backoff';
import type { Clock } from '../util/clock';
import type { Random } from '../util/random';
import { readRegularFile } from '../util/read-regular-file';
import { err, ok, type Result } from '../util/result';

/** The status of a call without a token. */
export interface TokenFailure {
  /** A gRPC status code. */
  readonly code: number;
  readonly message: string;
}

/** Receives the token, or the failure. */
export type TokenCallback = (token: Result<string, TokenFailure>) => void;

/** Options of a {@link JwtTokenFile}. */
export interface JwtTokenFileOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Reads a file as text. Default: the file system, only regular files of at most 1 MiB, and at once. */
  readonly read?: (path: string, callback: (error: Error | null, text: string) => void) => void;
}

interface Token {
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** The failure of the last read, and the time of the next. */
interface Pause {
  readonly failure: TokenFailure;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

/** Servers accept headers of some kilobytes. */
const MAX_TOKEN_BYTES = 1024 * 1024;
/** A token is not used in its last milliseconds. */
const MARGIN_MS = 30_000;
/** A token with less time left is read again in the background. */
const AHEAD_MS = 60_000;

/**
 * A token in a file that is replaced before it expires (gRFC A97). It is cached until shortly before its expiry, and
 * read again in the background before that (gRFC A83). The file is read only for a request of the token, and after a
 * failure only after a backoff.
 */
export class JwtTokenFile {
  private readonly waiting = new Set<TokenCallback>();
  private isReading = false;
  private token: Token | undefined;
  private pause: Pause | undefined;
  private backoff: BackoffStep;

  constructor(
    private readonly path: string,
    private readonly options: JwtTokenFileOptions,
  ) {
    this.backoff = this.firstBackoff();
  }

  /** Calls back with the token, at once if it is cached. */
  get(callback: TokenCallback): void {
    const remainingMs = this.remainingMs();
    if (this.token !== undefined && remainingMs > 0) {
      callback(ok(this.token.text));
      if (remainingMs < AHEAD_MS && !this.isPausing()) this.startReading();
    } else if (this.pause !== undefined && this.isPausing()) {
      callback(err(this.pause.failure));
    } else {
      this.waiting.add(callback);
      this.startReading();
    }
  }

  /** Remaining time in which the token is used. */
  private remainingMs(): number {
    return (this.token?.expiresAtMs ?? 0) - MARGIN_MS - this.options.clock.now();
  }

  private isPausing(): boolean {
    return this.pause !== undefined && this.options.clock.monotonicMs() < this.pause.untilMs;
  }

  private startReading(): void {
    if (this.isReading) return;
    this.isReading = true;
    const { read = readText } = this.options;
    read(this.path, (error, text) => {
      this.isReading = false;
      this.settle(
        error === null ? this.parse(text.trim()) : this.fail(Status.UNAVAILABLE, error.message),
      );
    });
  }

  private parse(text: string): Result<Token, TokenFailure> {
    const expiry = readJwtExpiry(text);
    if (!expiry.ok) return this.fail(Status.UNAUTHENTICATED, expiry.error);
    if (expiry.value <= this.options.clock.now()) {
      const since = Number.isFinite(new Date(expiry.value).getTime())
        ? new Date(expiry.value).toISOString()
        : 'long ago';
      return this.fail(Status.UNAUTHENTICATED, `the token has expired: ${since}`);
    }
    return ok({ text, expiresAtMs: expiry.value });
  }

  private fail(code: number, reason: string): Result<never, TokenFailure> {
    return err({ code, message: `jwt_token_file ${this.path}: ${reason}` });
  }

  private settle(read: Result<Token, TokenFailure>): void {
    if (read.ok) {
      this.token = read.value;
      this.pause = undefined;
      this.backoff = this.firstBackoff();
    } else {
      const untilMs = this.options.clock.monotonicMs() + this.backoff.delayMs;
      this.pause = { failure: read.error, untilMs };
      this.backoff = this.backoff.next();
    }
    const answer = read.ok ? ok(read.value.text) : read;
    for (const callback of this.waiting) {
      this.waiting.delete(callback);
      callback(answer);
    }
  }

  private firstBackoff(): BackoffStep {
    return firstBackoffStep(connectionBackoff, this.options.random);
  }
}

function readText(path: string, callback: (error: Error | null, text: string) => void): void {
  const read = readRegularFile(path, { maxBytes: MAX_TOKEN_BYTES });
  if (read.ok) callback(null, read.value.toString('utf8'));
  else callback(new Error(read.error), '');
}

/**
 * Reads the expiry of a JSON Web Token, whose signature the server checks.
 * @returns milliseconds since the epoch, or an error text.
 */
export function readJwtExpiry(token: string): Result<number, string> {
  const [, payload] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? [];
  if (payload === undefined) return err('not a JWT: not three parts in base64url');
  const claims = parseClaims(payload);
  if (claims === undefined) return err('not a JWT: the second part is not a JSON object');
  const { exp } = claims;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return err('a JWT without the claim "exp"');
  const expiryMs = exp * 1000;
  return Number.isFinite(expiryMs) ? ok(expiryMs) : err('a JWT whose claim "exp" is not a time');
}

function parseClaims(payload: string): { readonly exp?: unknown } | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}
