import {
  Metadata,
  ServerInterceptingCall,
  status,
  type Server,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { containedInterceptor, interceptCall } from '../grpc-js/server-callbacks';
import {
  checkArgument,
  checkDefinition,
  checkOptions,
  FUNCTION,
  METADATA,
  optional,
  POSITIVE_MILLISECONDS,
  withMethods,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { systemClock, type Clock } from '../util/clock';
import { atOnce, contained } from '../util/contained';
import { errorMessage } from '../util/errors';
import {
  CALL_LOAD,
  encodeLoad,
  mergeLoads,
  LoadMeter,
  processCpuMs,
  type BackendLoad,
  type CallLoad,
} from './backend-load';
import { OobService, SERVICE_PATH } from './oob-service';
import { XdsError } from '../util/xds-error';

/** The options of `OrcaReporter`. */
export interface OrcaReporterOptions {
  /**
   * Returns the load. The argument is the measured load: the processor utilization of this process (1 is one processor), and the
   * queries and errors per second of the calls that pass the interceptor. Omitted values are reported as measured. Called at most
   * ten times a second. Default: all values are reported as measured.
   */
  readonly measure?: ((measured: BackendLoad) => BackendLoad) | undefined;
  /** The minimum interval of out-of-band reports, in milliseconds. Default 30,000 (gRFC A51). */
  readonly minReportIntervalMs?: number | undefined;
}

/** What only the tests of this package set. */
export interface OrcaReporterHooks {
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const OPTIONS: MembersOf<OrcaReporterOptions> = {
  measure: optional(FUNCTION),
  minReportIntervalMs: optional(POSITIVE_MILLISECONDS),
};

const CALL: Rule = {
  legal: 'the call that was passed to the handler',
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    'metadata' in value &&
    METADATA.accepts(value.metadata),
};
const SERVER = withMethods('a Server of @grpc/grpc-js', 'addService');

const DEFAULT_MIN_INTERVAL_MS = 30_000;
/** The maximum age of a reported load. */
const MAX_AGE_MS = 100;
/** For exceptions. */
const PLACE = 'the load report of a call';
const TRAILER = 'endpoint-load-metrics-bin';

/** The load last measured. */
interface Measurement {
  readonly atMs: number;
  readonly load: BackendLoad;
  readonly bytes: Buffer;
}

/** The servers that have the service. */
const withService = new WeakSet<object>();

/**
 * Reports the load of a backend to its clients, which `weighted_round_robin` turns into weights (gRFCs A51, A58): with
 * each call, by the {@link OrcaReporter.interceptor}, and out of band, by {@link OrcaReporter.addTo}.
 *
 * @example
 * ```ts
 * import * as grpc from '@grpc/grpc-js';
 * import { OrcaReporter } from 'grpc-xds/orca';
 *
 * const reporter = new OrcaReporter();
 * const server = new grpc.Server({ interceptors: [reporter.interceptor] });
 * reporter.addTo(server);
 * ```
 */
export class OrcaReporter {
  /**
   * Sends the load with each call and counts the calls. Must be the first of the `interceptors` of a server, so that it
   * counts the calls that the others reject.
   */
  readonly interceptor: ServerInterceptor;
  private readonly clock: Clock;
  private readonly meter: LoadMeter;
  private readonly oobService: OobService;
  private current: Measurement | undefined;
  private hasWarned = false;
  /** An exception of the application is reported as a warning, once, and does not fail the call. */
  private readonly measure: (measured: BackendLoad, atMs: number) => Measurement | undefined;

  constructor(options?: OrcaReporterOptions);
  /** @internal */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations of the package leave this one out
  constructor(options: OrcaReporterOptions, hooks: OrcaReporterHooks);
  constructor(options: OrcaReporterOptions = {}, { clock = systemClock }: OrcaReporterHooks = {}) {
    checkOptions('new OrcaReporter()', options, OPTIONS);
    const { minReportIntervalMs = DEFAULT_MIN_INTERVAL_MS } = options;
    this.clock = clock;
    this.meter = new LoadMeter(clock, processCpuMs);
    this.oobService = new OobService({
      clock,
      minIntervalMs: minReportIntervalMs,
      report: () => this.read().bytes,
    });
    this.measure = contained(
      (measured, atMs) => {
        const reported = options.measure?.(measured);
        if (reported === undefined) return undefined;
        const load = atOnce(reported, 'it must return the load, not a promise');
        return toMeasurement(mergeLoads(measured, load), atMs);
      },
      (error) => this.warn(error),
    );
    this.interceptor = containedInterceptor(PLACE, ({ path }, call) =>
      path.startsWith(SERVICE_PATH) ? new ServerInterceptingCall(call) : this.intercept(call),
    );
  }

  /** The currently reported load. */
  get load(): BackendLoad {
    return this.read().load;
  }

  /** Adds the out-of-band reporting service to a server. Must be called before the server is started. */
  addTo(server: Server): void {
    checkArgument('OrcaReporter.addTo()', 'server', server, SERVER);
    if (withService.has(server)) {
      throw new XdsError(
        'XDS_STATE_INVALID',
        'OrcaReporter.addTo(): this server has a reporter already',
      );
    }
    this.oobService.addTo(server);
    withService.add(server);
  }

  /**
   * Ends the out-of-band streams. Must be called before `Server.tryShutdown`, which waits for all streams to end: they never end by
   * themselves.
   */
  close(): void {
    this.oobService.close();
  }

  private intercept(call: ConstructorParameters<typeof ServerInterceptingCall>[0]) {
    let recorder: CallRecorder | undefined;
    return interceptCall(PLACE, call, {
      onMetadata: (headers) => {
        this.meter.countQuery();
        recorder = CallRecorder.attach(headers);
        return true;
      },
      onStatus: (end) => {
        if (end.code !== status.OK) this.meter.countError();
        // The application may share its trailers between calls.
        const trailers = end.metadata?.clone() ?? new Metadata();
        trailers.set(TRAILER, this.encode(recorder));
        return { ...end, metadata: trailers };
      },
    });
  }

  private encode(recorder: CallRecorder | undefined): Buffer {
    const { load, bytes } = this.read();
    return recorder?.load === undefined ? bytes : encodeLoad(mergeLoads(load, recorder.load));
  }

  private read(): Measurement {
    const atMs = this.clock.monotonicMs();
    if (this.current !== undefined && atMs - this.current.atMs < MAX_AGE_MS) return this.current;
    const measured = this.meter.read();
    this.current = this.measure(measured, atMs) ?? toMeasurement(measured, atMs);
    return this.current;
  }

  private warn(error: unknown): void {
    if (!this.hasWarned)
      process.emitWarning(`OrcaReporter: measure() threw: ${errorMessage(error)}`);
    this.hasWarned = true;
  }
}

function toMeasurement(load: BackendLoad, atMs: number): Measurement {
  return { atMs, load, bytes: encodeLoad(load) };
}

const RECORDER = 'grpc_xds_call_load';

/** The load recorded by the handler of one call. */
class CallRecorder {
  /** Undefined if the handler has recorded nothing. */
  load: CallLoad | undefined;

  /** Creates a recorder and attaches it to the headers of the call. */
  static attach(headers: Metadata): CallRecorder {
    const recorder = new CallRecorder();
    headers.setOpaque(RECORDER, recorder);
    return recorder;
  }
}

/**
 * Records the load of a call, which is reported when the call ends (gRFC A51). Must be called from the handler of the call. A later
 * call replaces the values of earlier ones; other values come from the server.
 *
 * @param call The call passed to the handler.
 * @returns `false` if the server has no `OrcaReporter.interceptor`; then nothing is reported.
 *
 * @example
 * ```ts
 * import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
 * import { recordCallLoad } from 'grpc-xds/orca';
 *
 * function getRows(call: ServerUnaryCall<object, object>, callback: sendUnaryData<object>) {
 *   recordCallLoad(call, { requestCost: { rows: 12 } });
 *   callback(null, {});
 * }
 * ```
 */
export function recordCallLoad(call: { readonly metadata: Metadata }, load: CallLoad): boolean {
  checkArgument('recordCallLoad()', 'call', call, CALL);
  checkDefinition('recordCallLoad()', load, CALL_LOAD);
  const recorder = call.metadata.getOpaque(RECORDER);
  if (!(recorder instanceof CallRecorder)) return false;
  recorder.load = recorder.load === undefined ? load : mergeLoads(recorder.load, load);
  return true;
}
