import { Status, type Metadata, type Subchannel } from '../../grpc-js';
import type { CallStatus } from '../../grpc-js/handed-over';
import { ContainedListener } from '../../grpc-js/host-call';
import { withCreateCall, type CreateCall } from '../../grpc-js/subchannel-wrappers';
import { describeDuration } from '../../util/duration';
import type { Handle } from '../../util/handle';
import { afterRunning, type RunningClock } from '../../util/running-time';
import { quoteName } from '../../util/text';

/**
 * Returns a subchannel whose next call ends if it has no response headers in time: its retry policy decides what follows.
 * @param cluster The name of the cluster, for the status.
 */
export function limitTry(
  subchannel: Subchannel,
  timeoutMs: number,
  cluster: string,
  clock: RunningClock,
): Subchannel {
  const createCall: CreateCall = (metadata, host, method, listener, callId) => {
    const limited = new LimitedTry(listener);
    const connection = subchannel.getRealSubchannel();
    const call = connection.createCall(metadata, host, method, limited, callId);
    const onOver = () => {
      const subject = `Cluster ${quoteName(cluster)}: ${subchannel.getAddress()}`;
      const details = `${subject} has not answered a try within ${describeDuration(timeoutMs)}: see per_try_timeout of the route`;
      call.cancelWithStatus(Status.DEADLINE_EXCEEDED, details);
    };
    limited.timer = afterRunning(clock, onOver, timeoutMs);
    return call;
  };
  return withCreateCall(subchannel, createCall);
}

class LimitedTry extends ContainedListener {
  timer: Handle | undefined;

  protected override get place(): string {
    return 'the timeout of a try';
  }

  override onReceiveMetadata(metadata: Metadata): void {
    this.timer?.release();
    super.onReceiveMetadata(metadata);
  }

  protected override onStatus(status: CallStatus): CallStatus {
    this.timer?.release();
    return status;
  }
}
