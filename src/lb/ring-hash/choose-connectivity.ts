import { ConnectivityState } from '../../grpc-js';
import type { ConnectivityTally } from '../connectivity';

/**
 * The state of a ring (gRFCs A42, A61). One failure does not count yet, because the calls that go by it find
 * another endpoint; two do, so that a lower priority need not wait for all of them.
 *
 * @param tally The endpoints by state.
 * @param size How many endpoints there are.
 */
export function chooseConnectivity(tally: ConnectivityTally, size: number): ConnectivityState {
  const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
  const failed = tally.count(TRANSIENT_FAILURE);
  if (tally.count(READY) > 0) return READY;
  if (failed >= 2) return TRANSIENT_FAILURE;
  if (tally.count(CONNECTING) > 0) return CONNECTING;
  if (failed === 1 && size > 1) return CONNECTING;
  if (tally.count(IDLE) > 0) return IDLE;
  return TRANSIENT_FAILURE;
}
