import type { Metadata } from '../../grpc-js';
import type { Random } from '../../util/random';
import { MAX_STATUS_CODE, statusOfHttp } from '../../util/status-code';
import { drawShare } from '../draw-share';
import type { FaultAbort, FaultConfig, FaultDelay, FaultShare } from './fault-config';
import { MAX_HTTP_STATUS, MIN_HTTP_STATUS } from './http-status';

/** What happens to one call: at least one of the two. */
export interface Fault {
  /** How long the call is held back; `undefined` for not at all. */
  readonly delayMs: number | undefined;
  /** The gRPC status code it ends with thereafter; `undefined` if it goes on. */
  readonly abortCode: number | undefined;
}

const DECIMAL = /^\d+$/;

/**
 * Decides what happens to one call (gRFC A33). Delay and abort each draw a random number, and only where there is
 * something to draw for.
 *
 * @returns `undefined` if nothing does.
 */
export function chooseFault(
  { delay, abort }: FaultConfig,
  headers: Metadata,
  random: Random,
): Fault | undefined {
  const delayMs = delay && chooseDelay(delay, headers, random);
  const abortCode = abort && chooseAbort(abort, headers, random);
  return delayMs === undefined && abortCode === undefined ? undefined : { delayMs, abortCode };
}

function chooseDelay(
  { share, source }: FaultDelay,
  headers: Metadata,
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
  headers: Metadata,
  random: Random,
): number | undefined {
  if (source.kind === 'status')
    return drawShare(share.perMillion, random) ? source.code : undefined;
  const code = readAbortCode(headers);
  if (code === undefined) return undefined;
  const perMillion = shareOf(share, headers, 'x-envoy-fault-abort-request-percentage');
  return drawShare(perMillion, random) ? code : undefined;
}

/** The gRPC status counts more than the HTTP one, which says less. */
function readAbortCode(headers: Metadata): number | undefined {
  const code = readNumber(headers, 'x-envoy-fault-abort-grpc-request', 0, MAX_STATUS_CODE);
  if (code !== undefined) return code;
  const name = 'x-envoy-fault-abort-request';
  const httpStatus = readNumber(headers, name, MIN_HTTP_STATUS, MAX_HTTP_STATUS);
  return httpStatus === undefined ? undefined : statusOfHttp(httpStatus);
}

/** A header may ask for less than the config allows, in the config's unit. */
function shareOf({ perMillion, unit }: FaultShare, headers: Metadata, name: string): number {
  const numerator = readNumber(headers, name);
  return numerator === undefined ? perMillion : Math.min(numerator * unit, perMillion);
}

/** The first value that is a whole number in the range: what is not is ignored. */
function readNumber(
  headers: Metadata,
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
