import { status, type Server, type ServerWritableStream } from '@grpc/grpc-js';
import { containedHandler, onCallEvent } from '../grpc-js/server-callbacks';
import { OrcaLoadReportRequest } from '../wire/generated/xds/service/orca/v3/orca';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { MAX_STREAMS, REQUEST_LIMIT } from '../util/limits';
import { ReadBudget } from '../util/read-budget';

/** Path of the out-of-band reporting service. */
export const SERVICE_PATH = '/xds.service.orca.v3.OpenRcaService/';

/** The options of `OobService`. */
export interface OobServiceOptions {
  readonly clock: Clock;
  /** The minimum interval of reports, in milliseconds; replaces a shorter requested one. */
  readonly minIntervalMs: number;
  /** Returns an encoded report. */
  readonly report: () => Buffer;
}

/** For exceptions. */
const PLACE = 'the load reports of the process';

type ReportCall = ServerWritableStream<OrcaLoadReportRequest, Buffer>;

// Clients are not authenticated by this service: what they can make it spend is bounded here.

/** With more streams than their interval has of these, each stream has its next report later: 2,000 reports in a second. */
const MS_PER_REPORT = 0.5;

/** The longest delay of `setTimeout`. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** The out-of-band reporting service (gRFC A51). */
export class OobService {
  /** The timer of the next report of each stream. */
  private readonly timers = new Map<ReportCall, Handle>();
  private isClosed = false;

  constructor(private readonly options: OobServiceOptions) {}

  /** Adds the service to a server. */
  addTo(server: Server): void {
    const StreamCoreMetrics = {
      path: `${SERVICE_PATH}StreamCoreMetrics`,
      requestStream: false,
      responseStream: true,
      requestSerialize: (request: OrcaLoadReportRequest) =>
        Buffer.from(OrcaLoadReportRequest.encode(request).finish()),
      requestDeserialize: (bytes: Buffer) =>
        OrcaLoadReportRequest.decode(bytes, undefined, new ReadBudget(REQUEST_LIMIT)),
      responseSerialize: (report: Buffer) => report,
      responseDeserialize: (bytes: Buffer) => bytes,
    };
    server.addService(
      { StreamCoreMetrics },
      { StreamCoreMetrics: containedHandler(PLACE, (call: ReportCall) => this.accept(call)) },
    );
  }

  /** Ends all streams; later ones fail with UNAVAILABLE. */
  close(): void {
    this.isClosed = true;
    for (const call of [...this.timers.keys()]) {
      this.release(call);
      call.end();
    }
  }

  private accept(call: ReportCall): void {
    if (this.isClosed) {
      call.emit('error', { code: status.UNAVAILABLE, details: 'the server is shutting down' });
      return;
    }
    if (this.timers.size >= MAX_STREAMS) {
      const details = `the server has ${MAX_STREAMS} streams of load reports`;
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details });
      return;
    }
    // Its events are over.
    if (call.cancelled) return;
    for (const event of ['cancelled', 'close', 'error']) {
      onCallEvent(PLACE, call, event, () => this.release(call));
    }
    call.write(this.options.report());
    this.scheduleReport(call, this.chooseIntervalMs(call.request));
  }

  private scheduleReport(call: ReportCall, intervalMs: number): void {
    const timer = this.options.clock.setTimer(
      () => {
        // Reports are skipped while the client does not read, so that they do not accumulate.
        if (!call.writableNeedDrain) call.write(this.options.report());
        this.scheduleReport(call, intervalMs);
      },
      Math.max(intervalMs, this.timers.size * MS_PER_REPORT),
    );
    this.timers.set(call, timer);
  }

  private chooseIntervalMs({ reportInterval }: OrcaLoadReportRequest): number {
    const { seconds = 0n, nanos = 0 } = reportInterval ?? {};
    const requestedMs = Number(seconds) * 1000 + nanos / 1e6;
    return Math.min(Math.max(requestedMs, this.options.minIntervalMs), MAX_INTERVAL_MS);
  }

  private release(call: ReportCall): void {
    this.timers.get(call)?.release();
    this.timers.delete(call);
  }
}
