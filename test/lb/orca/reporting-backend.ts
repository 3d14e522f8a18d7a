import {
  Metadata,
  Server,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { OrcaLoadReportRequest } from '../../../src/wire/generated/xds/service/orca/v3/orca';
import { echoMethod } from '../../support/echo-backend';
import { bytesCodec } from '../../support/bytes-codec';
import { bind } from '../../support/listen';

/** A stream of reports, as the backend sees it. */
export type ReportStream = ServerWritableStream<Buffer, Buffer>;

/** A real server that reports its load with every call and, if told how, on a stream. */
export class ReportingBackend {
  port = 0;
  calls = 0;
  /** Reported with every call. */
  load: Partial<OrcaLoadReport> = {};
  /** Streams not cancelled yet. */
  readonly streams = new Set<ReportStream>();
  /** The authorities that streams were opened with. */
  readonly authorities: string[] = [];
  /** The headers that streams were opened with. */
  readonly headers: Metadata[] = [];
  /** The intervals asked for, in milliseconds. */
  readonly intervals: number[] = [];
  private readonly server = new Server();

  /** @param onStream What to do with a stream; without it there is no such service. */
  constructor(
    readonly name: string,
    onStream?: (stream: ReportStream) => void,
  ) {
    this.server.addService(
      { say: echoMethod },
      {
        say: (_call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
          this.calls++;
          const trailers = new Metadata();
          trailers.set('endpoint-load-metrics-bin', encodeReport(this.load));
          callback(null, Buffer.from(this.name), trailers);
        },
      },
    );
    if (onStream !== undefined) this.addReportService(onStream);
  }

  async listen(): Promise<this> {
    this.port = await bind(this.server, undefined, `127.0.0.1:${this.port}`);
    return this;
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private addReportService(onStream: (stream: ReportStream) => void): void {
    const method = {
      path: '/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics',
      requestStream: false,
      responseStream: true,
      ...bytesCodec,
    } as const;
    this.server.addService(
      { streamCoreMetrics: method },
      {
        streamCoreMetrics: (stream: ReportStream) => {
          const { reportInterval } = OrcaLoadReportRequest.decode(stream.request);
          if (reportInterval !== undefined) {
            const { seconds, nanos } = reportInterval;
            this.intervals.push(Number(seconds) * 1000 + nanos / 1e6);
          }
          this.authorities.push(stream.getHost());
          this.headers.push(stream.metadata);
          this.streams.add(stream);
          stream.on('cancelled', () => this.streams.delete(stream));
          onStream(stream);
        },
      },
    );
  }
}

/** A report as it goes over the wire. */
export function encodeReport(load: Partial<OrcaLoadReport>): Buffer {
  return Buffer.from(OrcaLoadReport.encode(OrcaLoadReport.create(load)).finish());
}
