import { Metadata, Status, type StatusObject } from '../grpc-js';
import {
  checkDefinition,
  METADATA,
  optional,
  STRING,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { errorMessage } from '../util/errors';
import { Brand, copyOf, ownCopy } from '../util/package-copy';
import { MAX_STATUS_CODE } from '../util/status-code';
import { XdsError } from '../util/xds-error';

/** The call that a filter is created for. */
export interface CallInfo {
  /** The full path, such as `/package.Service/Method`. */
  readonly method: string;
  /** The headers as the application gave them. Not to be changed here: see `CallFilter.onRequestHeaders`. */
  readonly headers: Metadata;
  /** The cluster chosen for the call. */
  readonly cluster: string;
  /** Binds the call to an endpoint; absent if the call is not bound. */
  readonly affinity?: CallAffinity;
}

/**
 * Chooses the cluster and the endpoint of a call, and shows the endpoint that was picked (gRFCs A55, A60). One per
 * call. Choices take effect only before the call is sent.
 */
export interface CallAffinity {
  /** The cluster the call goes to: `cluster:` and its name. */
  readonly cluster: string;
  /**
   * Sends the call to another cluster of its route. The filters of the cluster that was drawn still apply.
   *
   * @param name As in `cluster`.
   * @returns `false`, and nothing changes, if the route has no such cluster.
   */
  chooseCluster(name: string): boolean;
  /**
   * Prefers the endpoint with one of these addresses, such as `10.0.0.1:80` or `[::1]:80`, in this order. If none is
   * usable, or the list is empty, the endpoint is picked as for any call.
   */
  prefer(addresses: readonly string[]): void;
  /**
   * All addresses of the picked endpoint, the one in use first. Set by the pick, if `prefer` was called before.
   */
  readonly picked: readonly string[] | undefined;
}

/** The status with which a filter ends a call. */
export interface CallFailure {
  /** A gRPC status code. OK, 0, ends the call as if the server had sent trailers and nothing else. */
  readonly code: number;
  /** The text that the application reads in `error.details`. */
  readonly details: string;
  /** Trailers; none by default. */
  readonly metadata?: Metadata;
}

/**
 * One filter of one call. It acts once per call, above retries (gRFC A39). Every method is optional; a filter with
 * message methods costs each message a few microtasks, so omit unneeded ones.
 *
 * An exception fails the call: a `CallFailedError` with the status it carries, anything else with INTERNAL and the
 * name of the filter.
 */
export interface CallFilter {
  /**
   * Receives the headers before anything is sent, and returns the headers to send: the same object, changed or not. While the
   * promise is pending the call waits, and its deadline runs.
   */
  onRequestHeaders?(headers: Metadata): Metadata | Promise<Metadata>;
  /** Receives each serialized request message and returns the one to send. */
  onRequestMessage?(message: Buffer): Buffer | Promise<Buffer>;
  /**
   * Receives the headers of the response and returns the headers for the application. If it throws, the application gets no
   * headers, and the failure with the next message or the end of the call, whichever is first.
   */
  onResponseHeaders?(headers: Metadata): Metadata;
  /** Receives each serialized response message and returns the one for the application. */
  onResponseMessage?(message: Buffer): Buffer | Promise<Buffer>;
  /**
   * Receives the final status and returns the one for the application. Called exactly once, however the call ends, even before it
   * was sent. Release resources of the filter here. No other method is called afterwards.
   */
  onStatus?(status: StatusObject): StatusObject;
}

const STATUS_CODE: Rule = {
  legal: `a status code from 0 to ${MAX_STATUS_CODE}`,
  accepts: (value) => typeof value === 'number' && isStatus(value),
};

const FAILURE: MembersOf<CallFailure> = {
  code: STATUS_CODE,
  details: STRING,
  metadata: optional(METADATA),
};

/** Thrown by a filter to fail its call with a status. Any other exception fails it with INTERNAL. */
export class CallFailedError extends XdsError {
  override readonly name = 'CallFailedError';

  static {
    Object.defineProperty(this.prototype, Brand.CALL_FAILED, { value: ownCopy });
  }

  /**
   * @param failure The status of the call.
   * @throws XdsError if it is not a status.
   */
  constructor(readonly failure: CallFailure) {
    checkDefinition('new CallFailedError()', failure, FAILURE);
    super('XDS_CALL_FAILED', failure.details);
  }
}

/**
 * Converts a filter's exception to the failure of its call. Anything but a `CallFailedError` is a bug of the filter
 * and becomes INTERNAL.
 *
 * @param where The filter and its method.
 */
export function toCallFailedError(error: unknown, where: string): CallFailedError {
  if (!isCallFailed(error)) return internalError(where, errorMessage(error));
  const problem = findProblem(error.failure);
  if (problem !== undefined) return internalError(where, problem);
  if (copyOf(error, Brand.CALL_FAILED) === ownCopy) return error;
  const { code, details, metadata } = error.failure;
  return new CallFailedError({ code, details, ...(metadata && { metadata }) });
}

/** Whether an exception fails its call as it should, and is no bug of the filter. */
export function isFailure(error: unknown): boolean {
  return isCallFailed(error) && findProblem(error.failure) === undefined;
}

/** Returns why a failure can be no status. Plain JavaScript may have made it of anything. */
function findProblem({ code, details, metadata }: CallFailure): string | undefined {
  if (!isStatus(code)) return `there is no status code ${String(code)}`;
  if (typeof details !== 'string') return 'the details of its CallFailedError are no text';
  if (metadata === undefined || metadata instanceof Metadata) return undefined;
  return 'the metadata of its CallFailedError are no Metadata';
}

/** Whether an exception is a `CallFailedError`, also of another copy of this package, which a filter may be written with. */
function isCallFailed(error: unknown): error is CallFailedError {
  if (copyOf(error, Brand.CALL_FAILED) === undefined) return false;
  if (!(error instanceof Error) || !('failure' in error)) return false;
  return typeof error.failure === 'object' && error.failure !== null;
}

/** Converts a failure to a status of grpc-js. */
export function toStatusObject({ code, details, metadata }: CallFailure): StatusObject {
  return {
    code: isStatus(code) ? code : Status.INTERNAL,
    details,
    metadata: metadata ?? new Metadata(),
  };
}

function isStatus(code: number): code is Status {
  return Number.isInteger(code) && code >= 0 && code <= MAX_STATUS_CODE;
}

function internalError(where: string, reason: string): CallFailedError {
  return new CallFailedError({ code: Status.INTERNAL, details: `${where}: ${reason}` });
}
