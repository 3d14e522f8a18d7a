import type { ResourceJson } from 'grpc-xds/control-plane';
import type { RouteMatchJson } from './route-match';

/** A route of a virtual host as proto3 JSON. */
export type RouteJson = ResourceJson;

const FAULT_TYPE = 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault';
const FAULT_FILTER = 'envoy.filters.http.fault';

/**
 * The HTTP filter that each Listener must have before its router, or calls that fail by their routes would go to a cluster. It does
 * nothing by itself.
 */
export const REFUSAL_FILTER = {
  name: FAULT_FILTER,
  typed_config: { '@type': FAULT_TYPE },
};

/** The status of calls that no rule matches, and of those whose backend is invalid. */
export const UNIMPLEMENTED = 12;
export const UNAVAILABLE = 14;

/**
 * Returns a route whose calls fail with a status. Clients know no other way to choose it: without a route, with a route that does not
 * forward and with a cluster that does not exist, calls fail with UNAVAILABLE (gRFCs A28, A36), and a client that starts may wait 15 s
 * for such a cluster. Fault injection (gRFC A33) is known to all of them, and needs no other resource.
 *
 * @param cluster One that exists; no call gets there.
 */
export function createRefusal(
  name: string,
  match: RouteMatchJson,
  grpcStatus: number,
  cluster: string,
): RouteJson {
  const abort = { grpc_status: grpcStatus, percentage: { numerator: 100 } };
  const typed_per_filter_config = { [FAULT_FILTER]: { '@type': FAULT_TYPE, abort } };
  return { name, match, route: { cluster }, typed_per_filter_config };
}
