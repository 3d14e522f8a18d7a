import { OrcaLoadReport } from '../../wire/generated/xds/data/orca/v3/orca_load_report';
import type { Metadata } from '../../grpc-js';
import { decodeMessage } from '../../resources/shared/any';
import { MAX_REPORT_BYTES } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { Violations } from '../../util/violations';

/** The trailer in which a backend reports its load with a call (gRFC A51). */
const LOAD_REPORT_TRAILER = 'endpoint-load-metrics-bin';

const CACHE_KEY = 'xds_load_report';

/** The decoded report, which is kept with the trailers. */
class DecodedReport {
  constructor(readonly report: OrcaLoadReport | undefined) {}
}

/**
 * Returns the load report in the trailers of a call; `undefined` if there is none, or it cannot be used. The report is
 * decoded once for all policies.
 *
 * @param onUnusable Called with the reason, by the first policy only, if there is a report that cannot be used.
 */
export function readCallLoadReport(
  trailers: Metadata,
  onUnusable?: (reason: string) => void,
): OrcaLoadReport | undefined {
  const cached = trailers.getOpaque(CACHE_KEY);
  if (cached instanceof DecodedReport) return cached.report;
  const [value] = trailers.get(LOAD_REPORT_TRAILER);
  if (value === undefined) return undefined;
  const decoded = typeof value === 'string' ? err('it is text') : decodeLoadReport(value);
  trailers.setOpaque(CACHE_KEY, new DecodedReport(decoded.ok ? decoded.value : undefined));
  if (decoded.ok) return decoded.value;
  onUnusable?.(decoded.error);
  return undefined;
}

/** Decodes a report; an error says why it cannot be used. */
export function decodeLoadReport(bytes: Uint8Array): Result<OrcaLoadReport, string> {
  if (bytes.length > MAX_REPORT_BYTES) return err(`it has more than ${MAX_REPORT_BYTES} bytes`);
  const violations = Violations.root();
  const report = decodeMessage(OrcaLoadReport, bytes, violations);
  return report === undefined ? err(violations.all.join('; ')) : ok(report);
}

/** Returns the text for the log. @param address Of the backend. */
export function describeUnusable(address: string, reason: string): string {
  return `Backend ${address}: its load report is ignored: ${reason}`;
}
