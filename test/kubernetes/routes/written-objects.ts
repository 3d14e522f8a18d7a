import type {
  ApiAnswer,
  ApiFailure,
  ApiRequest,
  KubernetesApi,
} from '../../../packages/kubernetes/src/api/kubernetes-api';
import type { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import { createHandle } from '../../../src/util/handle';
import { err, ok, type Result } from '../../../src/util/result';
import { valueAt } from '../../../src/util/value-at';
import { putManifests, type Json } from '../../support/kubernetes-manifests';

/**
 * The part of an API server that objects are written to, in memory: a patch is refused if its version is not that of the route, and
 * an event if there is one of its name. Requests are answered when `answer` is called. Those who watch see each write at once.
 */
export class WrittenObjects implements Pick<KubernetesApi, 'call'> {
  readonly requests: ApiRequest[] = [];
  readonly events = new Map<string, unknown>();
  /** The answer to the requests of a method, or of a method in a namespace such as `POST shop`, instead of the right one. */
  readonly refusals = new Map<string, Partial<ApiFailure>>();
  private readonly routes = new Map<string, Json>();
  private readonly watchers: StoredObjects[] = [];
  private pending: (() => void)[] = [];
  private version = 100;

  /** Writes a route as another client. */
  put(route: Json): void {
    this.version++;
    const metadata = { ...asJson(route['metadata']), resourceVersion: String(this.version) };
    const stored = { ...route, metadata };
    this.routes.set(pathOf(metadata), stored);
    for (const objects of this.watchers) putManifests(objects, stored);
  }

  watch(objects: StoredObjects): void {
    this.watchers.push(objects);
    for (const route of this.routes.values()) putManifests(objects, route);
  }

  route(namespace: string, name: string): Json | undefined {
    return this.routes.get(pathOf({ namespace, name }));
  }

  call(
    request: ApiRequest,
    onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void,
  ): ReturnType<KubernetesApi['call']> {
    this.requests.push(request);
    const answer = () => onAnswer(this.answerTo(request));
    this.pending.push(answer);
    return createHandle(() => {
      this.pending = this.pending.filter((each) => each !== answer);
    });
  }

  /** Answers the requests so far. */
  answer(): void {
    const { pending } = this;
    this.pending = [];
    for (const each of pending) each();
  }

  private answerTo(request: ApiRequest): Result<ApiAnswer, ApiFailure> {
    const { method = 'GET', path, body } = request;
    const [, namespace = ''] = /\/namespaces\/([^/]*)/.exec(path) ?? [];
    const refusal = this.refusals.get(method) ?? this.refusals.get(`${method} ${namespace}`);
    if (refusal !== undefined) return refuse(refusal);
    if (method === 'POST') return this.create(body);
    const route = this.routes.get(path.replace(/\/status$/, ''));
    if (route === undefined) return refuse({ status: 404 });
    return method === 'GET' ? ok({ status: 200, body: route }) : this.patch(route, body);
  }

  private create(event: unknown): Result<ApiAnswer, ApiFailure> {
    const name = String(valueAt(event, 'metadata', 'name'));
    if (this.events.has(name)) return refuse({ status: 409 });
    this.events.set(name, event);
    return ok({ status: 201, body: event });
  }

  private patch(route: Json, body: unknown): Result<ApiAnswer, ApiFailure> {
    const version = valueAt(route, 'metadata', 'resourceVersion');
    if (valueAt(body, 'metadata', 'resourceVersion') !== version) return refuse({ status: 409 });
    const status = { ...asJson(route['status'] ?? {}), ...asJson(valueAt(body, 'status')) };
    this.put({ ...route, status });
    return ok({ status: 200, body: {} });
  }
}

function refuse(failure: Partial<ApiFailure>): Result<never, ApiFailure> {
  return err({
    status: undefined,
    message: 'refused',
    retryAfterMs: undefined,
    isGone: false,
    ...failure,
  });
}

function pathOf(metadata: Json): string {
  const { namespace, name } = metadata;
  return `/apis/gateway.networking.k8s.io/v1/namespaces/${String(namespace)}/grpcroutes/${String(name)}`;
}

function asJson(value: unknown): Json {
  if (typeof value !== 'object' || value === null) throw new TypeError('no object');
  return Object.fromEntries(Object.entries(value));
}
