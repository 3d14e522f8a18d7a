import { Status, type StatusObject } from '../../grpc-js';

const PUSHBACK_HEADER = 'grpc-retry-pushback-ms';
const DECIMAL = /^\d{1,32}$/;
/** The longest delay of `setTimeout`, which waits 1 ms for longer ones. */
const MAX_DELAY_MS = 2 ** 31 - 1;
/** The server asks not to retry at all (gRFC A6). */
const NO_RETRY = '-1';

/**
 * Corrects the delay that a server sets for the retry of a call. One that is negative or cannot be parsed means no retry
 * (gRFC A6); the host library takes one that is no number, or too long for a timer, for a retry at once, in which all
 * clients would join. Longer ones than a timer has are no retry, as in gRPC Java, whose delay has 32 bits.
 */
export function correctPushback({ code, metadata }: Pick<StatusObject, 'code' | 'metadata'>): void {
  if (code === Status.OK) return;
  const [pushback] = metadata.get(PUSHBACK_HEADER);
  if (pushback === undefined) return;
  const isDelay = DECIMAL.test(String(pushback)) && Number(pushback) <= MAX_DELAY_MS;
  if (!isDelay) metadata.set(PUSHBACK_HEADER, NO_RETRY);
}
