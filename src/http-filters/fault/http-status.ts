import { Status } from '../../grpc-js';

/** The least HTTP status a fault may have. */
export const MIN_HTTP_STATUS = 200;
/** The greatest HTTP status a fault may have. */
export const MAX_HTTP_STATUS = 599;
/** The greatest gRPC status there is. */
export const MAX_GRPC_STATUS: number = Status.UNAUTHENTICATED;

/** The gRPC status that stands for an HTTP one, where gRPC did not get to answer (gRFC A33). */
export function statusOfHttp(httpStatus: number): number {
  switch (httpStatus) {
    case 400:
      return Status.INTERNAL;
    case 401:
      return Status.UNAUTHENTICATED;
    case 403:
      return Status.PERMISSION_DENIED;
    case 404:
      return Status.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return Status.UNAVAILABLE;
    default:
      // Even 200: an HTTP answer that is not a gRPC one says nothing.
      return Status.UNKNOWN;
  }
}
