import { OrcaLoadReport } from '../../generated/xds/data/orca/v3/orca_load_report';
import type { Metadata } from '../../grpc-js';
import { decodeMessage } from '../../resources/shared/any';
import { Violations } from '../../util/violations';

/** The trailer in which a backend reports its load with a call (gRFC A51). */
const LOAD_REPORT_TRAILER = 'endpoint-load-metrics-bin';

const CACHE_KEY = 'xds_load_report';

/** The decoded report, which is kept with the trailers. */
class DecodedReport {
  constructor(readonly report: OrcaLoadReport | undefined) {}
}

/**
 * Returns the load report in the trailers of a call; `undefined` if there is none, or it is malformed. The report is
 * decoded once for all policies.
 */
export function readCallLoadReport(trailers: Metadata): OrcaLoadReport | undefined {
  const cached = trailers.getOpaque(CACHE_KEY);
  if (cached instanceof DecodedReport) return cached.report;
  const [value] = trailers.get(LOAD_REPORT_TRAILER);
  if (value === undefined) return undefined;
  const report = typeof value === 'string' ? undefined : decodeLoadReport(value);
  trailers.setOpaque(CACHE_KEY, new DecodedReport(report));
  return report;
}

/** Decodes a report; `undefined` if it is malformed. */
export function decodeLoadReport(bytes: Uint8Array): OrcaLoadReport | undefined {
  return decodeMessage(OrcaLoadReport, bytes, Violations.root());
}
