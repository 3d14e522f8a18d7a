import { Metadata, ServerInterceptingCall, status } from '@grpc/grpc-js';
import type { Server, ServerInterceptor } from '@grpc/grpc-js';
import { systemClock, type Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { encodeLoad, mergeLoads, type BackendLoad } from './backend-load';
import { CallRecorder } from './call-recorder';
import { LoadMeter, processCpuMs } from './load-meter';
import { ReportStreams, SERVICE_PATH } from './report-streams';

/** How a backend reports its load. Every field has a default. */
export interface OrcaReporterOptions {
  /**
   * Tells the load. What it leaves out is as measured, and it is given that: the processor time of this process, of
   * which 1 is one processor, and the queries and errors of the calls that pass the interceptor. Called at most ten
   * times a second. Default: all is as measured.
   */
  readonly measure?: ((measured: BackendLoad) => BackendLoad) | undefined;
  /** Milliseconds between two reports out of band, if a client asks for less. Default 30 s (gRFC A51). */
  readonly minReportIntervalMs?: number | undefined;
  /** Default: the real time. */
  readonly clock?: Clock | undefined;
}

const DEFAULT_MIN_INTERVAL_MS = 30_000;
/** How old the load of the server may be that goes out with a call. */
const MAX_AGE_MS = 100;
const TRAILER = 'endpoint-load-metrics-bin';

interface Current {
  readonly atMs: number;
  readonly load: BackendLoad;
  readonly bytes: Buffer;
}

/**
 * Reports the load of a backend to its clients, so that `weighted_round_robin` can give it the calls it has room for
 * (gRFCs A51, A58): with each call, by the {@link OrcaReporter.interceptor}, and on streams, by
 * {@link OrcaReporter.addTo}.
 */
export class OrcaReporter {
  /**
   * Sends the load with each call, and counts the calls. For the `interceptors` of a server: the first one, so that it
   * sees the calls that others refuse.
   */
  readonly interceptor: ServerInterceptor;
  private readonly clock: Clock;
  private readonly meter: LoadMeter;
  private readonly streams: ReportStreams;
  private current: Current | undefined;
  private hasWarned = false;

  constructor(private readonly options: OrcaReporterOptions = {}) {
    const { clock = systemClock, minReportIntervalMs = DEFAULT_MIN_INTERVAL_MS } = options;
    this.clock = clock;
    this.meter = new LoadMeter(clock, processCpuMs);
    this.streams = new ReportStreams({
      clock,
      minIntervalMs: minReportIntervalMs,
      report: () => this.read().bytes,
    });
    this.interceptor = ({ path }, call) =>
      path.startsWith(SERVICE_PATH) ? new ServerInterceptingCall(call) : this.intercept(call);
  }

  /** The load as it is reported now. */
  get load(): BackendLoad {
    return this.read().load;
  }

  /** Lets clients ask for the load out of band. To be called before the server is started. */
  addTo(server: Server): void {
    this.streams.addTo(server);
  }

  /**
   * Ends the streams of clients that asked for the load. To be called before `Server.tryShutdown`, which waits for
   * streams to end, as these would not.
   */
  close(): void {
    this.streams.close();
  }

  private intercept(call: ConstructorParameters<typeof ServerInterceptingCall>[0]) {
    let recorder: CallRecorder | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (headers, pass) => {
            this.meter.countQuery();
            recorder = CallRecorder.attach(headers);
            pass(headers);
          },
        }),
      sendStatus: (end, next) => {
        if (end.code !== status.OK) this.meter.countError();
        // The application may use its trailers for several calls.
        const trailers = end.metadata?.clone() ?? new Metadata();
        trailers.set(TRAILER, this.encode(recorder));
        next({ ...end, metadata: trailers });
      },
    });
  }

  private encode(recorder: CallRecorder | undefined): Buffer {
    const { load, bytes } = this.read();
    return recorder?.load === undefined ? bytes : encodeLoad(mergeLoads(load, recorder.load));
  }

  private read(): Current {
    const atMs = this.clock.monotonicMs();
    if (this.current !== undefined && atMs - this.current.atMs < MAX_AGE_MS) return this.current;
    const measured = this.meter.read();
    const told = this.askApplication(measured);
    const load = told === undefined ? measured : mergeLoads(measured, told);
    this.current = { atMs, load, bytes: encodeLoad(load) };
    return this.current;
  }

  /** An error of the application's must not be that of the call with which the load happens to be told. */
  private askApplication(measured: BackendLoad): BackendLoad | undefined {
    try {
      return this.options.measure?.(measured);
    } catch (error) {
      if (!this.hasWarned)
        process.emitWarning(`OrcaReporter: measure() threw: ${errorMessage(error)}`);
      this.hasWarned = true;
      return undefined;
    }
  }
}
