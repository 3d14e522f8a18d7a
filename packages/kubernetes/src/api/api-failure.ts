import { isArray, isObject } from '../../../../src/util/json-fields';
import { sanitizeText } from '../../../../src/util/text';
import { valueAt } from '../../../../src/util/value-at';
import type { ApiFailure } from './kubernetes-api';

/** Characters of the message of a Status that are shown. */
const MAX_MESSAGE_LENGTH = 1024;
/** The longest time that an API server can ask to wait for. */
const MAX_RETRY_AFTER_SECONDS = 300;

/** Returns the failure of a request that has no answer. */
export function unanswered(message: string): ApiFailure {
  return {
    status: undefined,
    message: sanitizeText(message, MAX_MESSAGE_LENGTH),
    retryAfterMs: undefined,
    isGone: false,
  };
}

/** Returns the failure of a watch or a list whose content is no JSON of the API: it can only be listed again. */
export function unreadable(message: string): ApiFailure {
  return { ...unanswered(message), isGone: true };
}

/**
 * Returns the failure of an answer that is not 2xx.
 * @param body A Status of the API, or anything.
 * @param retryAfter The header.
 */
export function refused(status: number, body: unknown, retryAfter: string | undefined): ApiFailure {
  const message = valueAt(body, 'message');
  const text = typeof message === 'string' && message !== '' ? message : 'no message';
  return {
    status,
    message: sanitizeText(`HTTP status ${status}: ${text}`, MAX_MESSAGE_LENGTH),
    retryAfterMs: readRetryAfterMs(retryAfter ?? valueAt(body, 'details', 'retryAfterSeconds')),
    isGone: isGone(status, body),
  };
}

/** Returns the failure that an ERROR event of a watch contains: a Status, whose code need not be an HTTP status. */
export function refusedByEvent(status: unknown): ApiFailure {
  const code = valueAt(status, 'code');
  return refused(typeof code === 'number' ? code : 500, status, undefined);
}

/** Seconds; the API does not use the form with a date. */
function readRetryAfterMs(value: unknown): number | undefined {
  const isGiven = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  if (!isGiven) return undefined;
  return Math.min(Math.max(Number(value), 0), MAX_RETRY_AFTER_SECONDS) * 1000;
}

/**
 * Whether a resource version cannot be used any more: it is too old, or newer than all that the API server has, as after
 * etcd was restored from a backup.
 */
function isGone(status: number, body: unknown): boolean {
  if (status === 410 || valueAt(body, 'reason') === 'Expired') return true;
  const causes = valueAt(body, 'details', 'causes');
  return (
    isArray(causes) &&
    causes.some(
      (cause) => isObject(cause) && valueAt(cause, 'reason') === 'ResourceVersionTooLarge',
    )
  );
}
