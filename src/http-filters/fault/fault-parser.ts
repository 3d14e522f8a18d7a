import type { FaultDelay as FaultDelayMessage } from '../../generated/envoy/extensions/filters/common/fault/v3/fault';
import {
  HTTPFault,
  type FaultAbort as FaultAbortMessage,
} from '../../generated/envoy/extensions/filters/http/fault/v3/fault';
import type { FractionalPercent } from '../../generated/envoy/type/v3/percent';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { MILLION, parseUnit } from '../../resources/shared/fraction-parser';
import { assertNever } from '../../util/assert-never';
import { durationToMs } from '../../util/duration';
import { MAX_STATUS_CODE, statusOfHttp } from '../../util/status-code';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../filter-message';
import { FaultConfig, type FaultAbort, type FaultDelay, type FaultShare } from './fault-config';
import { MAX_HTTP_STATUS, MIN_HTTP_STATUS } from './http-status';

const nobody: FaultShare = { perMillion: 0, unit: 10_000 };

/** `undefined` after adding a violation (gRFC A33). Runtime keys and what concerns servers are not looked at. */
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
      violations.add('must have fixed_delay or header_delay');
      return undefined;
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
      violations.add('must have http_status, grpc_status or header_abort');
      return undefined;
    default:
      return assertNever(errorType);
  }
}

/** Without a percentage no call gets the fault. */
function parseShare(percentage: FractionalPercent | undefined, violations: Violations): FaultShare {
  const unit = percentage && parseUnit(percentage, violations);
  if (percentage === undefined || unit === undefined) return nobody;
  return { perMillion: Math.min(percentage.numerator * unit, MILLION), unit };
}
