import { Metadata, PickResultType } from '../grpc-js';
import type { PickResult, Status } from '../grpc-js';

/** Fails a call for good: it is neither retried nor, if it waits for ready, kept waiting. */
export function createDropResult(code: Status, details: string): PickResult {
  return {
    pickResultType: PickResultType.DROP,
    subchannel: null,
    status: { code, details, metadata: new Metadata() },
    onCallStarted: null,
    onCallEnded: null,
  };
}
