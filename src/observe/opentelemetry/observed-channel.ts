import { Channel, type ChannelCredentials, type ChannelOptions } from '../../grpc-js';
import { watchCalls, type CallWatch } from '../../grpc-js/call-watch';
import { createGrpcLogger, currentTracers } from '../../grpc-js/grpc-logger';
import { CallStats } from '../stats/call-stats';
import { processStats } from '../stats/stats-registry';
import { systemClock } from '../../util/clock';

const XDS = /^xds:/i;

const logger = createGrpcLogger({ isTracerOn: currentTracers(), clock: systemClock });

/**
 * Creates a channel that every `observe` before it observes, whatever its target is (gRFCs A66, A72): for the option
 * `channelFactoryOverride` of clients. Channels with an `xds:` target need it not, and are no different with it.
 *
 * Such a channel has the metrics and spans of its calls and attempts. Those of load balancing, and the labels of locality
 * and cluster, are of `xds:` channels.
 */
export function createObservedChannel(
  address: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
): Channel {
  const channel = new Channel(address, credentials, options);
  const target = channel.getTarget();
  const stats = XDS.test(target) ? undefined : processStats.forChannel(target, logger);
  if (stats === undefined) return channel;
  watchCalls(channel, (method) => {
    const tracer = stats.startCall(method);
    return tracer && toCallWatch(new CallStats(tracer, systemClock));
  });
  return channel;
}

function toCallWatch(call: CallStats): CallWatch {
  return {
    onResolutionDelayed() {
      call.wasResolutionDelayed = true;
    },
    onAttempt(headers) {
      call.startPick(headers);
      call.onPicked(headers);
      const attempt = call.attempts;
      return {
        onMessageSent: (frame) => call.onMessageSent(attempt, frame),
        onMessageReceived: (frame) => call.onMessageReceived(attempt, frame),
        onEnded: ({ code, details }) => call.endAttempt(attempt, code, details),
      };
    },
    onEnded: ({ code, details }) => call.end(code, details),
  };
}
