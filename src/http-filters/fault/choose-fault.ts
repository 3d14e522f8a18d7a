import type { Random } from '../../util/random';
import { MAX_STATUS_CODE, statusOfHttp } from '../../util/status-code';
import { drawShare, type HeaderValues } from '../client-filter';
import {
  type FaultAbort,
  type FaultConfig,
  type FaultDelay,
  type FaultShare,
  MAX_HTTP_STATUS,
  MIN_HTTP_STATUS,
} from './fault-parser';

/** The fault of one call: at least one of the two. */
export interface Fault {
  /** Delay of the call in milliseconds; `undefined` for none. */
  readonly delayMs: number | undefined;
  /** The gRPC status code that ends the call after the delay; `undefined` if it continues. */
  readonly abortCode: number | undefined;
}

/** As many digits as the largest integer of 64 bits has, and one for a sign. */
const DECIMAL = /^\d{1,20}$/;

/**
 * Chooses the fault of one call (gRFC A33). Delay and abort each draw a random number, unless the share is 0 or 100 %.
 *
 * @returns `undefined` for none.
 */
export function chooseFault(
  { delay, abort }: FaultConfig,
  headers: HeaderValues,
  random: Random,
): Fault | undefined {
  const delayMs = delay && chooseDelay(delay, headers, random);
  const abortCode = abort && chooseAbort(abort, headers, random);
  return delayMs === undefined && abortCode === undefined ? undefined : { delayMs, abortCode };
}

function chooseDelay(
  { share, source }: FaultDelay,
  headers: HeaderValues,
  random: Random,
): number | undefined {
  if (source.kind === 'fixed')
    return drawShare(share.perMillion, random) ? source.delayMs : undefined;
  const delayMs = readNumber(headers, 'x-envoy-fault-delay-request');
  if (delayMs === undefined) return undefined;
  const perMillion = shareOf(share, headers, 'x-envoy-fault-delay-request-percentage');
  return drawShare(perMillion, random) ? delayMs : undefined;
}

function chooseAbort(
  { share, source }: FaultAbort,
  headers: HeaderValues,
  random: Random,
): number | undefined {
  if (source.kind === 'status')
    return drawShare(share.perMillion, random) ? source.code : undefined;
  const code = readAbortCode(headers);
  if (code === undefined) return undefined;
  const perMillion = shareOf(share, headers, 'x-envoy-fault-abort-request-percentage');
  return drawShare(perMillion, random) ? code : undefined;
}

/** The gRPC status takes precedence over the less specific HTTP status. */
function readAbortCode(headers: HeaderValues): number | undefined {
  const code = readNumber(headers, 'x-envoy-fault-abort-grpc-request', 0, MAX_STATUS_CODE);
  if (code !== undefined) return code;
  const name = 'x-envoy-fault-abort-request';
  const httpStatus = readNumber(headers, name, MIN_HTTP_STATUS, MAX_HTTP_STATUS);
  return httpStatus === undefined ? undefined : statusOfHttp(httpStatus);
}

/** A header may lower the share of the config, in the config's unit. */
function shareOf({ perMillion, unit }: FaultShare, headers: HeaderValues, name: string): number {
  const numerator = readNumber(headers, name);
  return numerator === undefined ? perMillion : Math.min(numerator * unit, perMillion);
}

/** Returns the first value that is a whole number in the range. */
function readNumber(
  headers: HeaderValues,
  name: string,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  for (const value of headers.get(name)) {
    if (typeof value !== 'string' || !DECIMAL.test(value)) continue;
    const number = Number(value);
    if (number >= min && number <= max) return number;
  }
  return undefined;
}
