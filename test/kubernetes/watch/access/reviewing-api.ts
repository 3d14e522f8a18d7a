import type {
  ApiAnswer,
  ApiFailure,
  ApiRequest,
} from '../../../../packages/kubernetes/src/api/kubernetes-api';
import type { Handle } from '../../../../src/util/handle';
import type { Result } from '../../../../src/util/result';
import { valueAt } from '../../../../src/util/value-at';

const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64url');

/** Returns a token of these claims, whose signature is a text. */
export function tokenOf(claims: object, signature = 'c2ln'): string {
  return `${base64({ alg: 'RS256' })}.${base64(claims)}.${signature}`;
}

/** The API server, whose answers to reviews are decided by the test. */
export class ReviewingApi {
  readonly requests: ApiRequest[] = [];
  /** Those that have not been answered. */
  private readonly pending = new Map<ApiRequest, (answer: Result<ApiAnswer, ApiFailure>) => void>();

  call(request: ApiRequest, onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void): Handle {
    this.requests.push(request);
    this.pending.set(request, onAnswer);
    return { release: () => void this.pending.delete(request) };
  }

  get pendingCount(): number {
    return this.pending.size;
  }

  /** Answers all that are pending now with a status of a TokenReview, which may depend on the token. */
  answer(status: object | ((token: string) => object)): void {
    this.settle((request) => {
      const token = String(valueAt(request.body, 'spec', 'token'));
      const decided = typeof status === 'function' ? status(token) : status;
      return { ok: true, value: { status: 201, body: { status: decided } } };
    });
  }

  fail(status: number | undefined, message: string): void {
    const error = { status, message, retryAfterMs: undefined, isGone: false };
    this.settle(() => ({ ok: false, error }));
  }

  private settle(answerTo: (request: ApiRequest) => Result<ApiAnswer, ApiFailure>): void {
    for (const [request, onAnswer] of [...this.pending]) {
      this.pending.delete(request);
      onAnswer(answerTo(request));
    }
  }
}

/** The status of a review that accepts a token. */
export function acceptedAs(
  username: string,
  audiences: readonly string[] = ['xds'],
): Readonly<Record<string, unknown>> {
  return { authenticated: true, user: { username }, audiences };
}
