/**
 * The status codes of gRPC. The values are those of grpc-js, for code that does not depend on grpc-js and for codes
 * received from a server, which may be any number.
 *
 * @see {@link https://github.com/grpc/grpc/blob/master/doc/statuscodes.md}
 */
export const StatusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** The highest status code of gRPC. */
export const MAX_STATUS_CODE: number = StatusCode.UNAUTHENTICATED;

// The codes are consecutive from 0, in the order of the table.
const NAMES = Object.keys(StatusCode);

/** Returns the name of a status code, or `code N` for a number that gRPC does not define. */
export function statusName(code: number): string {
  return NAMES[code] ?? `code ${code}`;
}

/**
 * Returns the status code for the HTTP status of a response without a gRPC status.
 *
 * @see {@link https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md}
 */
export function statusOfHttp(httpStatus: number): number {
  switch (httpStatus) {
    case 400:
      return StatusCode.INTERNAL;
    case 401:
      return StatusCode.UNAUTHENTICATED;
    case 403:
      return StatusCode.PERMISSION_DENIED;
    case 404:
      return StatusCode.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return StatusCode.UNAVAILABLE;
    default:
      // Includes 200: a response that is not gRPC has no gRPC status.
      return StatusCode.UNKNOWN;
  }
}
