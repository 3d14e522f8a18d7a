import type { OrcaLoadReport } from '../../wire/generated/xds/data/orca/v3/orca_load_report';
import { OrcaLoadReportRequest } from '../../wire/generated/xds/service/orca/v3/orca';
import { Status, type Metadata, type Subchannel } from '../../grpc-js';
import { putCallInBackground } from '../../grpc-js/host-internals';
import { containedListener } from '../../grpc-js/host-callbacks';
import type { CreateCall } from '../../grpc-js/subchannel-wrappers';
import type { Clock } from '../../util/clock';
import { msToDuration } from '../../util/duration';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import { err, type Result } from '../../util/result';
import { decodeLoadReport } from './call-load-report';

/** The status with which a stream ended. */
export interface OobStreamStatus {
  readonly code: number;
  readonly details: string;
}

/** Receives the events of a stream, never before the call that opened it has returned. */
export interface OobStreamListener {
  onReport(report: OrcaLoadReport): void;
  /** The stream has ended without being released. There are no more events. */
  onEnd(status: OobStreamStatus): void;
  /** A report cannot be used, for this reason. The stream ends. */
  onUnusable(reason: string): void;
}

/**
 * Opens a stream of load reports to the backend at the other end of a connection (gRFC A51).
 *
 * @param intervalMs Requested time between reports; the backend may choose a longer one.
 * @returns A handle that closes the stream.
 */
export type OpenOobStream = (
  subchannel: Subchannel,
  intervalMs: number,
  listener: OobStreamListener,
  clock: Clock,
) => Handle;

/** Opens a real stream. */
export const openOobStream: OpenOobStream = (subchannel, intervalMs, listener, clock) =>
  new OobStream(subchannel, intervalMs, listener, clock);

/** Milliseconds between the reading of two reports, however many a backend sends. */
const MIN_READ_INTERVAL_MS = 100;

type Call = ReturnType<CreateCall>;

const SERVICE = 'xds.service.orca.v3.OpenRcaService';
const METHOD = `/${SERVICE}/StreamCoreMetrics`;
/** Every message on the wire is preceded by a compression flag and its length. */
const FRAME_HEADER_BYTES = 5;
const NOT_COMPRESSED = 0;

/**
 * A stream that is started on the connection itself. In the channel that grpc-js has for the purpose, an error such as a
 * message that cannot be decompressed is an unhandled rejection, with which a backend can end the process.
 */
class OobStream implements Handle {
  private call: Call | undefined;
  private isOpen = true;
  private lastReadMs = -Infinity;
  /** Runs until the next report is read. */
  private readTimer: Handle | undefined;

  constructor(
    private readonly subchannel: Subchannel,
    private readonly intervalMs: number,
    private readonly listener: OobStreamListener,
    private readonly clock: Clock,
  ) {
    const authority = readAuthority(subchannel);
    subchannel
      .getCallCredentials()
      .generateMetadata({ method_name: METHOD, service_url: `https://${authority}/${SERVICE}` })
      .then(
        (metadata) => this.start(metadata, authority),
        (error: unknown) => {
          const details = `No call credentials: ${errorMessage(error)}`;
          this.end({ code: Status.UNAUTHENTICATED, details });
        },
      );
  }

  release(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.readTimer?.release();
    this.call?.cancelWithStatus(Status.CANCELLED, 'No longer needed');
  }

  private start(metadata: Metadata, authority: string): void {
    if (!this.isOpen) return;
    const events = containedListener(
      'the load reports of a backend',
      {
        onMetadata: () => undefined,
        onMessage: (message) => this.onMessage(message),
        onStatus: ({ code, details }) => this.end({ code, details }),
      },
      ({ code, details }) => {
        this.call?.cancelWithStatus(code, details);
        this.end({ code, details });
      },
    );
    try {
      const connection = this.subchannel.getRealSubchannel();
      this.call = connection.createCall(metadata, authority, METHOD, events, 0);
      putCallInBackground(connection, this.call);
    } catch (error) {
      this.end({ code: Status.UNAVAILABLE, details: errorMessage(error) });
      return;
    }
    this.read();
    this.call.sendMessageWithContext({}, encodeRequest(this.intervalMs));
    this.call.halfClose();
  }

  private onMessage(message: Uint8Array): void {
    if (!this.isOpen) return;
    const report = decodeFrame(message);
    if (!report.ok) {
      const details = 'The backend sent an unusable load report';
      this.call?.cancelWithStatus(Status.CANCELLED, details);
      this.listener.onUnusable(report.error);
      this.end({ code: Status.CANCELLED, details });
      return;
    }
    const waitMs = this.lastReadMs + MIN_READ_INTERVAL_MS - this.clock.monotonicMs();
    if (waitMs <= 0) this.read();
    else this.readTimer = this.clock.setTimer(() => this.read(), waitMs);
    this.listener.onReport(report.value);
  }

  /** Reads the next report. Until then, flow control stops the backend. */
  private read(): void {
    this.lastReadMs = this.clock.monotonicMs();
    this.call?.startRead();
  }

  private end(status: OobStreamStatus): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.readTimer?.release();
    this.listener.onEnd(status);
  }
}

function encodeRequest(intervalMs: number): Buffer {
  const request = OrcaLoadReportRequest.encode({
    reportInterval: msToDuration(intervalMs),
    requestCostNames: [],
  }).finish();
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + request.length);
  frame.writeUInt8(NOT_COMPRESSED);
  frame.writeUInt32BE(request.length, 1);
  frame.set(request, FRAME_HEADER_BYTES);
  return frame;
}

/** Returns the report in a framed message; an error if it cannot be used. Compression was not requested. */
function decodeFrame(message: Uint8Array): Result<OrcaLoadReport, string> {
  if (message[0] !== NOT_COMPRESSED) return err('it is compressed');
  return decodeLoadReport(message.subarray(FRAME_HEADER_BYTES));
}

/** Returns the default authority of calls on the connection. */
function readAuthority(subchannel: Subchannel): string {
  const channel = subchannel.getChannel();
  // grpc-js keeps the object, and lists it in channelz until it is closed; closing does nothing else.
  channel.close();
  return authorityOf(channel.getTarget());
}

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** Returns the authority that grpc-js derives from a target. */
export function authorityOf(target: string): string {
  const scheme = SCHEME.exec(target)?.[1];
  if (scheme === 'unix') return 'localhost';
  const rest = target.slice(scheme === undefined ? 0 : scheme.length + 1);
  return withoutAuthority(rest).replace(/^\//, '').split(',')[0] ?? '';
}

/** Removes `//authority` from the beginning. */
function withoutAuthority(rest: string): string {
  if (!rest.startsWith('//')) return rest;
  const slash = rest.indexOf('/', 2);
  return slash < 0 ? '' : rest.slice(slash);
}
