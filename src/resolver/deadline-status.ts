import { Status, type PickResult, type StatusObject } from '../grpc-js';
import { waitOf } from '../lb/connectivity';

// The texts of grpc-js for what a call was waiting for when its deadline passed
// (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolving-call.ts, `runDeadlineTimer`).

/** The text of a call that the filters of its config selector hold. */
export const IN_FILTERS = 'waiting for metadata filters';
/** The text of a call that has no connection. */
export const IN_PICK_QUEUE = 'Waiting for LB pick';

/** Returns the status with more causes, if it is DEADLINE_EXCEEDED and its text ends with `stage`. */
export function explainStage(
  status: StatusObject,
  stage: string,
  causes: () => readonly string[],
): StatusObject {
  const { code, details } = status;
  if (code !== Status.DEADLINE_EXCEEDED || !details.endsWith(stage)) return status;
  return { ...status, details: [details, ...causes()].join('; ') };
}

/** The text of a call that was sent: it ends with the address of the endpoint. */
const ON_CONNECTION = /,remote_addr=(\S+)$/;

/**
 * Returns the status with what the call was waiting for when its deadline passed: why no connection was picked, or which
 * endpoint has not answered.
 *
 * @param cluster The cluster of the call.
 * @param notPicked The result of the last pick without a connection.
 */
export function explainDeadline(
  status: StatusObject,
  cluster: string,
  notPicked: PickResult | undefined,
): StatusObject {
  const { code, details } = status;
  if (code !== Status.DEADLINE_EXCEEDED) return status;
  const [, address] = ON_CONNECTION.exec(details) ?? [];
  if (address !== undefined) {
    const cause = `Cluster "${cluster}": ${address} has not answered the call: see its log`;
    return { ...status, details: `${details}; ${cause}` };
  }
  if (notPicked === undefined) return status;
  return explainStage(status, IN_PICK_QUEUE, () => [
    notPicked.status?.details ??
      waitOf(notPicked) ??
      `Cluster "${cluster}": no endpoint is connected`,
  ]);
}
