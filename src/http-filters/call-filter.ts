import type { Metadata, StatusObject } from '../grpc-js';

/** What a filter is told about the call it is made for. */
export interface CallInfo {
  /** Full path, such as `/package.Service/Method`. */
  readonly method: string;
  /** The headers as the application gave them. Not to be changed here: see `CallFilter.onRequestHeaders`. */
  readonly headers: Metadata;
  /** The cluster chosen for the call. */
  readonly cluster: string;
  /** Binds the call to an endpoint; absent where nothing is bound. */
  readonly affinity?: CallAffinity;
}

/**
 * The say a filter has in where its call goes, and how it learns where it went (gRFCs A55, A60). One per call.
 * What is asked for counts only if it is asked for before the call is sent.
 */
export interface CallAffinity {
  /** The cluster the call goes to: `cluster:` and its name. */
  readonly cluster: string;
  /**
   * Sends the call to another cluster of its route, whatever was drawn. The filters stay those of the cluster
   * that was drawn.
   *
   * @param name As in `cluster`.
   * @returns `false`, and nothing changes, if the route has no such cluster.
   */
  chooseCluster(name: string): boolean;
  /**
   * Asks for the endpoint with one of these addresses, such as `10.0.0.1:80` or `[::1]:80`, the most wanted
   * first. If there is none that can be used, or the list is empty, the endpoint is picked as for any call.
   */
  prefer(addresses: readonly string[]): void;
  /**
   * All addresses of the endpoint that was picked, the one in use first. Known after a call of `prefer`,
   * from the pick on.
   */
  readonly picked: readonly string[] | undefined;
}

/** The status a filter ends a call with. */
export interface CallFailure {
  /** A gRPC status code. OK, 0, ends the call as if the server had sent trailers and nothing else. */
  readonly code: number;
  /** What the application reads in `error.details`. */
  readonly details: string;
  /** Trailers; none by default. */
  readonly metadata?: Metadata;
}

/**
 * One filter at work on one call. It acts once per call, above retries (gRFC A39). Every method is optional;
 * a filter with message methods costs each message a few microtasks, so leave out what is not needed.
 *
 * Whatever a method throws fails the call: a `CallFailedError` with the status it carries, anything else with
 * INTERNAL and the name of the filter.
 */
export interface CallFilter {
  /**
   * Sees the headers before anything is sent, and returns those to send: the same object, changed or not.
   * While the promise is pending the call waits, and its deadline runs.
   */
  onRequestHeaders?(headers: Metadata): Metadata | Promise<Metadata>;
  /** Sees each serialized request message and returns the one to send. */
  onRequestMessage?(message: Buffer): Buffer | Promise<Buffer>;
  /**
   * Sees the headers of the response and returns those to hand on. If it throws, the application gets no
   * headers, and the failure with the next message or the end of the call, whichever is first.
   */
  onResponseHeaders?(headers: Metadata): Metadata;
  /** Sees each serialized response message and returns the one to hand on. */
  onResponseMessage?(message: Buffer): Buffer | Promise<Buffer>;
  /**
   * Sees the final status and returns the one to hand on. Called exactly once, however the call ends, also
   * when it never began: the place to release whatever the filter holds. Nothing else is called afterwards.
   */
  onStatus?(status: StatusObject): StatusObject;
}

/** Thrown by a filter to fail its call with a status. Any other exception fails it with INTERNAL. */
export class CallFailedError extends Error {
  /** @param failure The status of the call. */
  constructor(readonly failure: CallFailure) {
    super(failure.details);
    this.name = 'CallFailedError';
  }
}
