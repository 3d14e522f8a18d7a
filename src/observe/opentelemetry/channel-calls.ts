import { Channel } from '../../grpc-js';
import { watchCalls, type CallWatch } from '../../grpc-js/call-watch';
import { createGrpcLogger, currentTracers } from '../../grpc-js/grpc-logger';
import { systemClock } from '../../util/clock';
import { CallStats } from '../stats/call-stats';
import { processStats } from '../stats/stats-registry';

const logger = createGrpcLogger({ isTracerOn: currentTracers(), clock: systemClock });

const XDS = /^xds:/i;

/** Lets plugins observe the calls of a channel: see `watchChannel`. */
export function watchChannel(channel: object): void {
  if (!(channel instanceof Channel)) return;
  const target = channel.getTarget();
  const stats = XDS.test(target) ? undefined : processStats.forChannel(target, logger);
  if (stats === undefined) return;
  watchCalls(channel, (method) => {
    const tracer = stats.startCall(method);
    return tracer && toCallWatch(new CallStats(tracer, systemClock));
  });
}

function toCallWatch(call: CallStats): CallWatch {
  return {
    onResolutionDelayed() {
      call.wasResolutionDelayed = true;
    },
    onAttempt(headers) {
      call.startPick(headers);
      call.onPicked(headers);
      return call.traceAttempt('');
    },
    onEnded: ({ code, details }) => call.end(code, details),
  };
}
