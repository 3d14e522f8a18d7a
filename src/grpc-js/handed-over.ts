import { Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';

/** The status of a call on a connection. */
export type CallStatus = StatusObject & { readonly rstCode?: number };

/** Receives the response of a server to one call. The status comes last, and exactly once. */
export interface CallListener {
  onReceiveMetadata(metadata: Metadata): void;
  onReceiveMessage(message: unknown): void;
  onReceiveStatus(status: CallStatus): void;
}

/**
 * grpc-js 1.14 loses the error of a message that cannot be decompressed, and ends the call with neither code nor details
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolving-call.ts, `onReceiveMessage`).
 */
const NO_STATUS =
  'grpc-js ended the call without a status; the usual cause is a compressed message without a grpc-encoding, or with an unknown ' +
  'one: check the compression of the sender';

/**
 * Returns a status that grpc-js hands over, completed: grpc-js makes one of whatever a filter rejects with. A call without a code
 * ends with INTERNAL, and one whose code is not an integer with UNKNOWN. A complete status is returned as it is.
 */
export function completeStatus(given: CallStatus): CallStatus {
  try {
    const { code, details, metadata } = given;
    if (Number.isInteger(code) && typeof details === 'string' && metadata instanceof Metadata) {
      return given;
    }
  } catch {
    // The getter of a member threw, or the status is none.
  }
  return completed(given);
}

function completed(given: unknown): CallStatus {
  const code = member(given, 'code');
  const details = member(given, 'details') ?? member(given, 'message');
  const rstCode = member(given, 'rstCode');
  return {
    code: codeOf(code),
    details: typeof details === 'string' ? details : code === undefined ? NO_STATUS : '',
    metadata: completeMetadata(member(given, 'metadata')),
    ...(typeof rstCode === 'number' && { rstCode }),
  };
}

function codeOf(code: unknown): Status {
  if (code === undefined || code === null) return Status.INTERNAL;
  return isCode(code) ? code : Status.UNKNOWN;
}

/** A server may send codes that gRPC does not define. */
function isCode(code: unknown): code is Status {
  return Number.isInteger(code);
}

/** Returns metadata that grpc-js hands over; empty metadata in place of anything else. */
export function completeMetadata(given: unknown): Metadata {
  try {
    if (given instanceof Metadata) return given;
  } catch {
    // A proxy whose prototype cannot be read.
  }
  return new Metadata();
}

/** Returns the bytes of a message that grpc-js hands over; `undefined` for anything else. */
export function messageBytes(given: unknown): Buffer | undefined {
  try {
    return Buffer.isBuffer(given) ? given : undefined;
  } catch {
    // As above.
    return undefined;
  }
}

function member(of: unknown, name: string): unknown {
  try {
    return typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;
  } catch {
    return undefined;
  }
}
