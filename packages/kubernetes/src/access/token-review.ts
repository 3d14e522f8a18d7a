import { isArray } from '../../../../src/util/json-fields';
import { err, ok, type Result } from '../../../../src/util/result';
import { valueAt } from '../../../../src/util/value-at';
import type { ApiFailure, ApiRequest, KubernetesApi } from '../api/kubernetes-api';
import type { Handle } from '../../../../src/util/handle';

/** A service account of a cluster. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Why a token is refused. */
export interface RefusedToken {
  readonly reason: string;
}

/** What came of a review: the service account, or why the token is refused; or why it could not be reviewed. */
export type ReviewedToken = Result<Result<ServiceAccount, RefusedToken>, ApiFailure>;

const USERNAME = /^system:serviceaccount:([^:]+):([^:]+)$/;

/**
 * Has the API server review a token: its signature, its expiry, and that its service account, and the pod that it is bound to,
 * still exist (https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/).
 *
 * @param audience The one that it must be for.
 */
export function reviewToken(
  api: Pick<KubernetesApi, 'call'>,
  token: string,
  audience: string,
  onReviewed: (reviewed: ReviewedToken) => void,
): Handle {
  const request: ApiRequest = {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [audience] },
    },
  };
  return api.call(request, (answer) => {
    onReviewed(answer.ok ? ok(readReview(answer.value.body, audience)) : answer);
  });
}

function readReview(body: unknown, audience: string): Result<ServiceAccount, RefusedToken> {
  if (valueAt(body, 'status', 'authenticated') !== true) {
    return err({ reason: 'the API server does not accept the bearer token' });
  }
  // A server that does not know audiences lists none, and has checked the token for its own.
  const audiences = valueAt(body, 'status', 'audiences');
  if (!isArray(audiences) || !audiences.includes(audience)) {
    return err({ reason: 'the API server has not checked the audience of the bearer token' });
  }
  const username = valueAt(body, 'status', 'user', 'username');
  const [, namespace, name] = (typeof username === 'string' && USERNAME.exec(username)) || [];
  if (namespace === undefined || name === undefined) {
    return err({ reason: 'the bearer token is not that of a service account' });
  }
  return ok({ namespace, name });
}
