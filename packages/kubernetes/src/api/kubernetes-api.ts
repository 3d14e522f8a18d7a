import type { Handle } from '../../../../src/util/handle';
import type { Result } from '../../../../src/util/result';

/** The API server of a Kubernetes cluster. Nothing that it calls throws, and nothing is called after a release. */
export interface KubernetesApi {
  /** The URL of the API server, for messages. */
  readonly address: string;
  /**
   * Sends a request and reads the answer.
   *
   * @param onAnswer Called once, not before this returns: with the body of a 2xx answer, or with why there is none.
   * @returns a handle whose release cancels the request.
   */
  call(request: ApiRequest, onAnswer: (answer: Result<ApiAnswer, ApiFailure>) => void): Handle;
  /**
   * Starts a watch.
   *
   * @returns a handle whose release ends it without a further event.
   */
  watch(request: ApiRequest, listener: WatchListener): Handle;
}

/** A request to the API server. */
export interface ApiRequest {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'PATCH';
  /** Such as `/api/v1/services`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The media type of the answer. Default: `application/json`. */
  readonly accept?: string;
  /** Sent as JSON. Default: none. */
  readonly body?: unknown;
  /** The media type of the body. Default: `application/json`. */
  readonly contentType?: string;
}

/** A 2xx answer. */
export interface ApiAnswer {
  readonly status: number;
  /** Parsed JSON, which nothing has checked. */
  readonly body: unknown;
}

/** Receives the events of a watch. */
export interface WatchListener {
  /** The API server has accepted the watch. */
  onOpen(): void;
  /** An event: parsed JSON, which nothing has checked. */
  onEvent(json: unknown): void;
  /** An object is larger than a watch may send; it is not read. */
  onOversized(): void;
  /** The watch has ended: by design after some minutes, or because of a failure. The last call. */
  onEnd(failure: ApiFailure | undefined): void;
}

/** Why a request has no answer, or a watch has ended. */
export interface ApiFailure {
  /** The HTTP status, or the code of the Status; `undefined` if the API server has not answered. */
  readonly status: number | undefined;
  /** One line, sanitized. */
  readonly message: string;
  /** Milliseconds that the API server wants to pass before the next request. */
  readonly retryAfterMs: number | undefined;
  /** Whether the resource version, or the place in a list, can no longer be continued from. */
  readonly isGone: boolean;
}
