import type { FaultDelay as FaultDelayMessage } from '../../wire/generated/envoy/extensions/filters/common/fault/v3/fault';
import {
  HTTPFault,
  type FaultAbort as FaultAbortMessage,
} from '../../wire/generated/envoy/extensions/filters/http/fault/v3/fault';
import type { FractionalPercent } from '../../wire/generated/envoy/type/v3/percent';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { MILLION, parseUnit } from '../../resources/matching/fraction-parser';
import { assertNever } from '../../util/errors';
import { durationToMs } from '../../util/duration';
import { MAX_STATUS_CODE, statusOfHttp } from '../../util/status-code';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../http-filter';

/** The full name of the message, for configs and overrides alike. */
export const HTTP_FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';

/** The share of calls that get a fault. */
export interface FaultShare {
  /** 0 to 1,000,000. The maximum of the share in a header. */
  readonly perMillion: number;
  /** Parts per million of the number 1 in a header: 10,000, 100 or 1. */
  readonly unit: number;
}

/** The delay of calls. */
export interface FaultDelay {
  readonly share: FaultShare;
  /** A fixed delay in milliseconds, or the one in the call's headers. */
  readonly source:
    { readonly kind: 'fixed'; readonly delayMs: number } | { readonly kind: 'header' };
}

/** The failure of calls. */
export interface FaultAbort {
  readonly share: FaultShare;
  /** A gRPC status code, 0 to 16, or the one in the call's headers. */
  readonly source: { readonly kind: 'status'; readonly code: number } | { readonly kind: 'header' };
}

/** A validated HTTPFault (gRFC A33), the same message for a listener and for an override. */
export class FaultConfig implements HttpFilterConfig {
  readonly configType = HTTP_FAULT;

  /** @param maxActiveFaults Maximum of active faults in the process; `undefined` for none. */
  constructor(
    readonly delay: FaultDelay | undefined,
    readonly abort: FaultAbort | undefined,
    readonly maxActiveFaults: number | undefined,
  ) {}
}

/** The least HTTP status a fault may have. */
export const MIN_HTTP_STATUS = 200;
/** The greatest HTTP status a fault may have. */
export const MAX_HTTP_STATUS = 599;

const noShare: FaultShare = { perMillion: 0, unit: 10_000 };

/** Parses an HTTPFault; `undefined` after adding a violation (gRFC A33). Ignores runtime keys and fields for servers. */
export function parseFaultConfig(
  config: ExtensionConfig,
  violations: Violations,
): FaultConfig | undefined {
  const message = decodeFilterMessage(config, HTTPFault, violations);
  if (message === undefined) return undefined;
  const { delay, abort, maxActiveFaults } = message;
  return new FaultConfig(
    delay && parseDelay(delay, violations.at('delay')),
    abort && parseAbort(abort, violations.at('abort')),
    maxActiveFaults,
  );
}

function parseDelay(
  { faultDelaySecifier: specifier, percentage }: FaultDelayMessage,
  violations: Violations,
): FaultDelay | undefined {
  const share = parseShare(percentage, violations.at('percentage'));
  switch (specifier?.$case) {
    case 'fixedDelay': {
      const delayMs = durationToMs(specifier.value, violations.at('fixed_delay'));
      return delayMs === undefined ? undefined : { share, source: { kind: 'fixed', delayMs } };
    }
    case 'headerDelay':
      return { share, source: { kind: 'header' } };
    case undefined:
      return violations.add('must have fixed_delay or header_delay');
    default:
      return assertNever(specifier);
  }
}

function parseAbort(
  { errorType, percentage }: FaultAbortMessage,
  violations: Violations,
): FaultAbort | undefined {
  const share = parseShare(percentage, violations.at('percentage'));
  switch (errorType?.$case) {
    case 'httpStatus': {
      const { value } = errorType;
      if (value < MIN_HTTP_STATUS || value > MAX_HTTP_STATUS) {
        const reason = `must be from ${MIN_HTTP_STATUS} to ${MAX_HTTP_STATUS}, not ${value}`;
        violations.at('http_status').add(reason);
      }
      return { share, source: { kind: 'status', code: statusOfHttp(value) } };
    }
    case 'grpcStatus': {
      const code = errorType.value;
      if (code > MAX_STATUS_CODE) {
        violations.at('grpc_status').add(`must not exceed ${MAX_STATUS_CODE}, but is ${code}`);
      }
      return { share, source: { kind: 'status', code } };
    }
    case 'headerAbort':
      return { share, source: { kind: 'header' } };
    case undefined:
      return violations.add('must have http_status, grpc_status or header_abort');
    default:
      return assertNever(errorType);
  }
}

/** Without a percentage no call gets the fault. */
function parseShare(percentage: FractionalPercent | undefined, violations: Violations): FaultShare {
  const unit = percentage && parseUnit(percentage, violations);
  if (percentage === undefined || unit === undefined) return noShare;
  return { perMillion: Math.min(percentage.numerator * unit, MILLION), unit };
}
