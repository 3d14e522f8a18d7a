import { createHash } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { Allowance } from '../../../../src/util/allowance';
import type { Clock } from '../../../../src/util/clock';
import type { Logger } from '../../../../src/util/logger';
import { err, ok, type Result } from '../../../../src/util/result';
import type { Refusal } from 'grpc-xds/control-plane';
import type { ApiFailure, KubernetesApi } from '../api/kubernetes-api';
import {
  ACCEPTED_MS,
  MAX_ADDRESSES,
  MAX_KNOWN_TOKENS,
  MAX_REFUSED_OF_ADDRESS,
  MAX_REVIEWS,
  MAX_WAITING_REVIEWS,
  MAX_WAITING_REVIEWS_OF_ADDRESS,
  REFUSED_MS,
  REFUSED_OF_ADDRESS_MS,
  REVIEW_TIMEOUT_MS,
} from './access-limits';
import { ExpiringMap } from './expiring-map';
import { FairQueue } from './fair-queue';
import { readTokenClaims } from './token-claims';
import { reviewToken, type ReviewedToken, type ServiceAccount } from './token-review';
import { afterRunning } from '../../../../src/util/running-time';

/** The options of `TokenAuthentication`. */
export interface TokenAuthenticationOptions {
  readonly api: Pick<KubernetesApi, 'call'>;
  /** The audience that tokens must be for. */
  readonly audience: string;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
  readonly logger: Logger;
}

/** The service account of a token and its expiry, in milliseconds since the epoch; or the status with which its stream ends. */
export type AuthenticatedToken = Result<ServiceAccount & { readonly expiresAtMs: number }, Refusal>;

/** Counters since the start, for metrics. */
export interface TokenCounts {
  /** Requests to the API server. */
  reviews: number;
  /** Tokens that were accepted and refused, by a review, from the cache or by their own claims. */
  accepted: number;
  refused: number;
  /** Tokens that could not be reviewed. */
  failed: number;
}

/** A token that was accepted. */
interface AcceptedToken {
  readonly account: ServiceAccount;
  /** On the monotonic clock. */
  readonly reviewAgainMs: number;
}

/** A token to review. */
interface TokenToReview {
  readonly token: string;
  readonly hash: string;
  readonly expiresAtMs: number;
  /** Of the client that sent it first. */
  readonly address: string;
}

/**
 * Authenticates clients by projected service account tokens, which the API server reviews. Reviews are remembered; those of the
 * same token are one, their number at a time is bounded, and those of one address delay no other. Tokens are kept as hashes.
 */
export class TokenAuthentication {
  readonly counts: TokenCounts = { reviews: 0, accepted: 0, refused: 0, failed: 0 };
  /** By hash, until they expire. */
  private readonly accepted = new ExpiringMap<AcceptedToken>(MAX_KNOWN_TOKENS);
  private readonly refused = new ExpiringMap<Refusal>(MAX_KNOWN_TOKENS);
  private readonly reviews = new Map<string, Promise<AuthenticatedToken>>();
  private readonly allowance = new Allowance({
    atOnce: MAX_REFUSED_OF_ADDRESS,
    everyMs: REFUSED_OF_ADDRESS_MS,
    maxSources: MAX_ADDRESSES,
  });
  private readonly queue = new FairQueue({
    maxRunning: MAX_REVIEWS,
    maxWaiting: MAX_WAITING_REVIEWS,
    maxWaitingOfSource: MAX_WAITING_REVIEWS_OF_ADDRESS,
  });
  /** The HTTP status of the failure that was logged; undefined after a review. */
  private logged: { readonly status: number | undefined } | undefined;

  constructor(private readonly options: TokenAuthenticationOptions) {}

  /** @param address Of the client, without its port. */
  async authenticate(token: string, address: string): Promise<AuthenticatedToken> {
    const result = await this.check(token, address);
    const { counts } = this;
    if (result.ok) counts.accepted++;
    else if (status[result.error.code] === 'UNAVAILABLE') counts.failed++;
    else counts.refused++;
    return result;
  }

  private check(token: string, address: string): AuthenticatedToken | Promise<AuthenticatedToken> {
    const { audience, clock } = this.options;
    const claims = readTokenClaims(token, audience, clock.now());
    if (!claims.ok) return unauthenticated(claims.error);
    const hash = createHash('sha256').update(token).digest('base64');
    const refusal = this.refused.get(hash, clock.monotonicMs());
    if (refusal !== undefined) return err(refusal);
    const known = this.accepted.get(hash, clock.now());
    const { expiresAtMs } = claims.value;
    if (known !== undefined && clock.monotonicMs() < known.reviewAgainMs) {
      return ok({ ...known.account, expiresAtMs });
    }
    return this.review({ token, hash, expiresAtMs, address });
  }

  private review(given: TokenToReview): AuthenticatedToken | Promise<AuthenticatedToken> {
    const { hash, address } = given;
    const running = this.reviews.get(hash);
    if (running !== undefined) return running;
    if (!this.allows(given)) return unavailable(MANY_REFUSED);
    if (!this.queue.hasRoomFor(address)) {
      return unavailable('too many tokens are waiting for a review: try again later');
    }
    const promise = new Promise<AuthenticatedToken>((resolve) => {
      this.queue.add(address, (onDone) => {
        const end = (result: AuthenticatedToken) => {
          this.reviews.delete(hash);
          resolve(result);
          onDone();
        };
        // Others of its address may have been refused while it waited.
        if (!this.allows(given)) end(unavailable(MANY_REFUSED));
        else this.send(given, (reviewed) => end(this.settle(given, reviewed)));
      });
    });
    this.reviews.set(hash, promise);
    return promise;
  }

  /** A token that was accepted before is reviewed again whatever others of its address are. */
  private allows({ hash, address }: TokenToReview): boolean {
    const { clock } = this.options;
    const isKnown = this.accepted.get(hash, clock.now()) !== undefined;
    return isKnown || this.allowance.allows(address, clock.monotonicMs());
  }

  private send({ token }: TokenToReview, onReviewed: (reviewed: ReviewedToken) => void): void {
    const { api, audience, clock } = this.options;
    this.counts.reviews++;
    const call = reviewToken(api, token, audience, (reviewed) => {
      timer.release();
      onReviewed(reviewed);
    });
    const onOver = () => {
      call.release();
      const message = `no answer within ${REVIEW_TIMEOUT_MS / 1000} s`;
      onReviewed(err({ status: undefined, message, retryAfterMs: undefined, isGone: false }));
    };
    const timer = afterRunning(clock, onOver, REVIEW_TIMEOUT_MS);
  }

  private settle(given: TokenToReview, reviewed: ReviewedToken): AuthenticatedToken {
    const { clock } = this.options;
    const { hash, address, expiresAtMs } = given;
    if (!reviewed.ok) return this.onFailure(given, reviewed.error);
    this.onReviewed();
    if (reviewed.value.ok) {
      const account = reviewed.value.value;
      const reviewAgainMs = clock.monotonicMs() + ACCEPTED_MS;
      this.accepted.set(hash, { account, reviewAgainMs }, expiresAtMs);
      return ok({ ...account, expiresAtMs });
    }
    const nowMs = clock.monotonicMs();
    const refusal = { code: status.UNAUTHENTICATED, details: reviewed.value.error.reason };
    this.allowance.take(address, nowMs);
    this.accepted.delete(hash);
    this.refused.set(hash, refusal, nowMs + REFUSED_MS);
    return err(refusal);
  }

  /** A token that was accepted before is accepted until it expires: what is known is served on while the API server is away. */
  private onFailure({ hash, expiresAtMs }: TokenToReview, failure: ApiFailure): AuthenticatedToken {
    const { clock, logger } = this.options;
    if (this.logged?.status !== failure.status || this.logged === undefined) {
      this.logged = { status: failure.status };
      const line = () =>
        `kubernetes: tokens of clients cannot be reviewed: ${failure.message}; ${adviceFor(failure)}`;
      logger.error(line, { event: 'kubernetes-failed', error: failure.message });
    }
    const known = this.accepted.get(hash, clock.now());
    return known === undefined
      ? unavailable('the bearer token cannot be reviewed now: try again later')
      : ok({ ...known.account, expiresAtMs });
  }

  private onReviewed(): void {
    if (this.logged === undefined) return;
    this.logged = undefined;
    const fields = { event: 'kubernetes-recovered' };
    this.options.logger.info(() => 'kubernetes: tokens of clients are reviewed again', fields);
  }
}

const MANY_REFUSED = 'too many tokens from this address were refused: try again later';

function adviceFor({ status: code }: ApiFailure): string {
  return code === 403
    ? 'bind the ClusterRole system:auth-delegator to the service account of this process, or add the rule {apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"]} to its ClusterRole'
    : 'those that were accepted before are, until they expire; others are refused until it works again';
}

function unauthenticated(details: string): AuthenticatedToken {
  return err({ code: status.UNAUTHENTICATED, details });
}

function unavailable(details: string): AuthenticatedToken {
  return err({ code: status.UNAVAILABLE, details });
}
