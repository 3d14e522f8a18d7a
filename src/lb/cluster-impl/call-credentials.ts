import { Metadata, Status } from '../../grpc-js';
import { FailedCall } from '../../grpc-js/failed-call';
import type { CreateCall } from '../../grpc-js/subchannel-wrappers';

const REFUSED = {
  code: Status.UNAUTHENTICATED,
  details:
    'call credentials are not sent over an insecure connection: neither the credentials of the channel nor the ' +
    'cluster provide TLS',
};

/**
 * Watches whether a picked call has call credentials. grpc-js does not show them, and sends those of a single call over
 * any connection. After the pick, it merges the metadata that they generate into that of the pick
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/load-balancing-call.ts, `doPick`).
 *
 * @param metadata That of the pick.
 */
export function watchCallCredentials(metadata: Metadata): void {
  metadata.merge = noteAndMerge;
}

/** Returns the function that starts calls, for an insecure connection: watched calls with call credentials fail. */
export function refuseCallCredentials(createCall: CreateCall): CreateCall {
  return (metadata, host, method, listener, callId) =>
    metadata.merge === merge
      ? new FailedCall(REFUSED, listener, callId)
      : createCall(metadata, host, method, listener, callId);
}

function noteAndMerge(this: Metadata, other: Metadata): void {
  this.merge = merge;
  this.merge(other);
}

function merge(this: Metadata, other: Metadata): void {
  Metadata.prototype.merge.call(this, other);
}
