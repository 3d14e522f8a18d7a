import type {
  ApiAnswer,
  ApiFailure,
  ApiRequest,
  KubernetesApi,
  WatchListener,
} from '../../packages/kubernetes/src/api/kubernetes-api';
import { refused, unanswered } from '../../packages/kubernetes/src/api/api-failure';
import { createHandle, type Handle } from '../../src/util/handle';
import { err, ok, type Result } from '../../src/util/result';

/** A request that waits for its answer. */
export class FakeCall {
  isReleased = false;

  constructor(
    readonly request: ApiRequest,
    private readonly onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void,
  ) {}

  /** Answers with a list. */
  list(version: string, items: readonly unknown[], place?: string): void {
    const metadata = { resourceVersion: version, ...(place !== undefined && { continue: place }) };
    this.answer(ok({ status: 200, body: { metadata, items } }));
  }

  refuse(status: number, body: unknown = {}, retryAfter?: string): void {
    this.answer(err(refused(status, body, retryAfter)));
  }

  break(message = 'connect ECONNREFUSED'): void {
    this.answer(err(unanswered(message)));
  }

  private answer(answer: Result<ApiAnswer, ApiFailure>): void {
    if (this.isReleased) throw new Error('the request was cancelled');
    this.isReleased = true;
    this.onAnswer(answer);
  }
}

/** A watch that receives what the test sends. */
export class FakeWatch {
  isReleased = false;

  constructor(
    readonly request: ApiRequest,
    readonly listener: WatchListener,
  ) {}

  send(type: string, object: unknown): void {
    this.check();
    this.listener.onEvent({ type, object });
  }

  bookmark(version: string): void {
    this.send('BOOKMARK', { metadata: { resourceVersion: version } });
  }

  end(failure?: ApiFailure): void {
    this.check();
    this.isReleased = true;
    this.listener.onEnd(failure);
  }

  private check(): void {
    if (this.isReleased) throw new Error('the watch is over');
  }
}

/** An API server whose answers the test gives. */
export class FakeKubernetesApi implements KubernetesApi {
  readonly address = 'https://api.test:6443';
  private readonly allCalls: FakeCall[] = [];
  private readonly allWatches: FakeWatch[] = [];

  call(request: ApiRequest, onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void): Handle {
    const call = new FakeCall(request, onAnswer);
    this.allCalls.push(call);
    return createHandle(() => (call.isReleased = true));
  }

  watch(request: ApiRequest, listener: WatchListener): Handle {
    const watch = new FakeWatch(request, listener);
    this.allWatches.push(watch);
    return createHandle(() => (watch.isReleased = true));
  }

  /** The requests that wait for an answer, of a resource or of all. */
  calls(resource = ''): readonly FakeCall[] {
    return this.allCalls.filter((call) => !call.isReleased && call.request.path.endsWith(resource));
  }

  /** The watches that are open. */
  watches(resource = ''): readonly FakeWatch[] {
    return this.allWatches.filter(
      (watch) => !watch.isReleased && watch.request.path.endsWith(resource),
    );
  }

  /** The only request that waits. */
  onlyCall(resource = ''): FakeCall {
    return only(this.calls(resource));
  }

  /** The only watch that is open. */
  onlyWatch(resource = ''): FakeWatch {
    return only(this.watches(resource));
  }
}

function only<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined || items.length !== 1) throw new Error(`${items.length} instead of one`);
  return item;
}
