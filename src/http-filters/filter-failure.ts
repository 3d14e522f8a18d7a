import { Metadata, Status, type StatusObject } from '../grpc-js';
import { errorMessage } from '../util/error-message';
import { MAX_STATUS_CODE } from '../util/status-code';
import { CallFailedError, type CallFailure } from './call-filter';

/**
 * What a filter's exception fails the call with: what a `CallFailedError` says, and INTERNAL for everything
 * else, which is a mistake in the filter.
 *
 * @param where The filter and its method.
 */
export function toCallFailedError(error: unknown, where: string): CallFailedError {
  if (!(error instanceof CallFailedError)) return internalError(where, errorMessage(error));
  const { code } = error.failure;
  return isStatus(code) ? error : internalError(where, `there is no status code ${String(code)}`);
}

/** The failure as the host library wants it. */
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
