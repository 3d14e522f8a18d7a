import type { Result } from '../../../../src/util/result';
import type { ApiFailure, ApiRequest, KubernetesApi } from '../api/kubernetes-api';
import { acceptOf, pathOf, type WatchedResource } from '../api/watched-kinds';
import { readObjectOf, type WatchedObject } from '../read-objects';
import { err, ok } from '../../../../src/util/result';
import { listAt, valueAt } from '../../../../src/util/value-at';

/** Objects of a list that are examined. */
const MAX_OBJECTS = '5000';

/** Sends a request. @returns the body of the answer. */
export function call(
  api: Pick<KubernetesApi, 'call'>,
  request: ApiRequest,
): Promise<Result<unknown, ApiFailure>> {
  return new Promise((resolve) => {
    api.call(request, (answer) => resolve(answer.ok ? ok(answer.value.body) : answer));
  });
}

/** Lists the objects of a kind that can be read. @param namespace Default: all. */
export async function list(
  api: Pick<KubernetesApi, 'call'>,
  resource: WatchedResource,
  namespace: string | undefined,
): Promise<Result<readonly WatchedObject[], ApiFailure>> {
  const { labelSelector } = resource;
  const answer = await call(api, {
    path: pathOf(resource, namespace),
    accept: acceptOf(resource, true),
    query: { limit: MAX_OBJECTS, ...(labelSelector !== '' && { labelSelector }) },
  });
  if (!answer.ok) return answer;
  const objects: WatchedObject[] = [];
  for (const item of listAt(answer.value, 'items')) {
    const object = readObjectOf(resource.kind, item);
    if (object.ok) objects.push(object.value);
  }
  return ok(objects);
}

/** Has the API server say whether something is allowed. @returns an error if it does not say. */
export async function isAllowed(
  api: Pick<KubernetesApi, 'call'>,
  access: {
    readonly group: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly verb: string;
    readonly namespace?: string | undefined;
  },
  user: { readonly namespace: string; readonly name: string } | undefined,
): Promise<Result<boolean, ApiFailure>> {
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const answer = await call(api, {
    method: 'POST',
    path: `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind,
      spec: { resourceAttributes: access, ...(user !== undefined && subjectOf(user)) },
    },
  });
  if (!answer.ok) return answer;
  const allowed = valueAt(answer.value, 'status', 'allowed');
  if (typeof allowed === 'boolean') return ok(allowed);
  return err({
    status: undefined,
    message: 'the answer has no status.allowed',
    retryAfterMs: undefined,
    isGone: false,
  });
}

/** A service account, and the groups that it is in. */
function subjectOf({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: [
      'system:serviceaccounts',
      `system:serviceaccounts:${namespace}`,
      'system:authenticated',
    ],
  };
}
