import { status, type Server, type ServerWritableStream } from '@grpc/grpc-js';
import { OrcaLoadReportRequest } from '../generated/xds/service/orca/v3/orca';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';

/** Where the reports of a backend can be had out of band. */
export const SERVICE_PATH = '/xds.service.orca.v3.OpenRcaService/';

/** What the streams of reports need. */
export interface ReportStreamsOptions {
  readonly clock: Clock;
  /** Milliseconds; a client that asks for less gets this. */
  readonly minIntervalMs: number;
  /** A report, encoded. */
  readonly report: () => Buffer;
}

type ReportCall = ServerWritableStream<OrcaLoadReportRequest, Buffer>;

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** The streams on which a backend reports its load to those who ask (gRFC A51). */
export class ReportStreams {
  private readonly streams = new Map<ReportCall, Handle>();
  private isClosed = false;

  constructor(private readonly options: ReportStreamsOptions) {}

  /** Adds the service to a server. */
  addTo(server: Server): void {
    const StreamCoreMetrics = {
      path: `${SERVICE_PATH}StreamCoreMetrics`,
      requestStream: false,
      responseStream: true,
      requestSerialize: (request: OrcaLoadReportRequest) =>
        Buffer.from(OrcaLoadReportRequest.encode(request).finish()),
      requestDeserialize: (bytes: Buffer) => OrcaLoadReportRequest.decode(bytes),
      responseSerialize: (report: Buffer) => report,
      responseDeserialize: (bytes: Buffer) => bytes,
    };
    server.addService(
      { StreamCoreMetrics },
      { StreamCoreMetrics: (call: ReportCall) => this.accept(call) },
    );
  }

  /** Ends all streams; new ones are refused. */
  close(): void {
    this.isClosed = true;
    for (const call of [...this.streams.keys()]) {
      this.forget(call);
      call.end();
    }
  }

  private accept(call: ReportCall): void {
    if (this.isClosed) {
      call.emit('error', { code: status.UNAVAILABLE, details: 'The server is shutting down' });
      return;
    }
    for (const event of ['cancelled', 'close', 'error']) call.on(event, () => this.forget(call));
    call.write(this.options.report());
    this.wait(call, this.chooseIntervalMs(call.request));
  }

  private wait(call: ReportCall, intervalMs: number): void {
    const timer = this.options.clock.setTimer(() => {
      // To a client that does not read, the present load is told once it does.
      if (!call.writableNeedDrain) call.write(this.options.report());
      this.wait(call, intervalMs);
    }, intervalMs);
    this.streams.set(call, timer);
  }

  private chooseIntervalMs({ reportInterval }: OrcaLoadReportRequest): number {
    const { seconds = 0n, nanos = 0 } = reportInterval ?? {};
    const wantedMs = Number(seconds) * 1000 + nanos / 1e6;
    return Math.min(Math.max(wantedMs, this.options.minIntervalMs), MAX_INTERVAL_MS);
  }

  private forget(call: ReportCall): void {
    this.streams.get(call)?.release();
    this.streams.delete(call);
  }
}
