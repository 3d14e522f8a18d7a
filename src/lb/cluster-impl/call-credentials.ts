import { CallCredentials, Metadata, Status, type Subchannel } from '../../grpc-js';
import {
  FailedCall,
  withCallCredentials,
  type CreateCall,
} from '../../grpc-js/subchannel-wrappers';
import { securityOf } from '../../security/client/connection-security';

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

const refused = CallCredentials.createFromMetadataGenerator((_options, callback) => {
  callback(Object.assign(new Error(REFUSED.details), { ...REFUSED, metadata: new Metadata() }));
});

/**
 * Adds call credentials to a pick (gRFC A83). They fail the call if the connection is not known to be secure; grpc-js
 * does not see to that.
 *
 * @param connection The subchannel that was picked.
 */
export function addCallCredentials(
  picked: Subchannel,
  credentials: CallCredentials,
  connection: Subchannel,
): Subchannel {
  const { kind } = securityOf(connection);
  const isSecure = kind === 'policy' || kind === 'application';
  return withCallCredentials(picked, isSecure ? credentials : refused);
}

function noteAndMerge(this: Metadata, other: Metadata): void {
  this.merge = merge;
  this.merge(other);
}

function merge(this: Metadata, other: Metadata): void {
  Metadata.prototype.merge.call(this, other);
}
