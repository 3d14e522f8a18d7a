import type { OrcaLoadReport } from '../../generated/xds/data/orca/v3/orca_load_report';
import { OrcaLoadReportRequest } from '../../generated/xds/service/orca/v3/orca';
import { Status } from '../../grpc-js';
import type { Metadata, Subchannel } from '../../grpc-js';
import { putCallInBackground } from '../../grpc-js/host-internals';
import type { CallListener, CreateCall } from '../../grpc-js/subchannel-wrappers';
import { errorMessage } from '../../util/error-message';
import type { Handle } from '../../util/handle';
import { decodeLoadReport } from './call-load-report';
import { msToDuration } from '../../util/duration';

/** How a stream ended. */
export interface OobStreamStatus {
  readonly code: number;
  readonly details: string;
}

/** Told what happens to a stream, never before the call that opened it has returned. */
export interface OobStreamListener {
  onReport(report: OrcaLoadReport): void;
  /** The stream has ended by itself. Nothing comes afterwards. */
  onEnd(status: OobStreamStatus): void;
}

/**
 * Opens a stream of load reports to the backend at the other end of a connection (gRFC A51).
 *
 * @param intervalMs Wanted time between reports; the backend may choose a longer one.
 * @returns a handle that closes the stream.
 */
export type OpenOobStream = (
  subchannel: Subchannel,
  intervalMs: number,
  listener: OobStreamListener,
) => Handle;

/** Opens a real stream. */
export const openOobStream: OpenOobStream = (subchannel, intervalMs, listener) =>
  new OobStream(subchannel, intervalMs, listener);

type Call = ReturnType<CreateCall>;

const SERVICE = 'xds.service.orca.v3.OpenRcaService';
const METHOD = `/${SERVICE}/StreamCoreMetrics`;
/** Every message on the wire has a flag, which tells whether it is compressed, and its length before it. */
const FRAME_HEADER_BYTES = 5;
const NOT_COMPRESSED = 0;

/**
 * The stream is started on the connection itself. The channel that grpc-js offers for the purpose lets a
 * backend end the process: what goes wrong in it, such as a message that cannot be decompressed, is a promise
 * rejected that nobody looks at.
 */
class OobStream implements Handle {
  private call: Call | undefined;
  private isOpen = true;

  constructor(
    private readonly subchannel: Subchannel,
    private readonly intervalMs: number,
    private readonly listener: OobStreamListener,
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
    this.call?.cancelWithStatus(Status.CANCELLED, 'No longer needed');
  }

  private start(metadata: Metadata, authority: string): void {
    if (!this.isOpen) return;
    const events: CallListener = {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (message: unknown) => this.onMessage(message),
      onReceiveStatus: ({ code, details }) => this.end({ code, details }),
    };
    try {
      const connection = this.subchannel.getRealSubchannel();
      this.call = connection.createCall(metadata, authority, METHOD, events, 0);
      putCallInBackground(connection, this.call);
    } catch (error) {
      this.end({ code: Status.UNAVAILABLE, details: errorMessage(error) });
      return;
    }
    this.call.startRead();
    this.call.sendMessageWithContext({}, encodeRequest(this.intervalMs));
    this.call.halfClose();
  }

  private onMessage(message: unknown): void {
    if (!this.isOpen) return;
    const report = decodeFrame(message);
    if (report === undefined) {
      const details = 'The backend sent something that is no load report';
      this.call?.cancelWithStatus(Status.CANCELLED, details);
      this.end({ code: Status.INTERNAL, details });
      return;
    }
    this.call?.startRead();
    this.listener.onReport(report);
  }

  private end(status: OobStreamStatus): void {
    if (!this.isOpen) return;
    this.isOpen = false;
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

/** The report in a framed message; `undefined` if it is none, or compressed, which nobody asked for. */
function decodeFrame(message: unknown): OrcaLoadReport | undefined {
  if (!(message instanceof Uint8Array) || message[0] !== NOT_COMPRESSED) return undefined;
  return decodeLoadReport(message.subarray(FRAME_HEADER_BYTES));
}

/** What calls on the connection name as their authority unless they say otherwise. */
function readAuthority(subchannel: Subchannel): string {
  const channel = subchannel.getChannel();
  // grpc-js keeps the object, and lists it in channelz until it is closed; closing does nothing else.
  channel.close();
  return authorityOf(channel.getTarget());
}

const TARGET = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/[^/]*)?(.*)$/i;

/** The authority that grpc-js derives from a target, as far as the form of the target tells. */
export function authorityOf(target: string): string {
  const [, scheme, path = ''] = TARGET.exec(target) ?? [];
  if (scheme === 'unix') return 'localhost';
  return path.replace(/^\//, '').split(',')[0] ?? '';
}
