import { Channel, credentials } from '@grpc/grpc-js';
import { hasMethods } from './host-internals';

/** The call that grpc-js requests a config for, while it does; `undefined` before {@link showRoutedCalls}. */
export const routed: { call: object | undefined } = { call: undefined };

let isShown = false;

/**
 * Shows each call while grpc-js requests its config. It tells no filter of the deadline, which is in its private call
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolving-call.ts, `getConfig`). Where the
 * method is missing, no call is shown.
 */
export function showRoutedCalls(): void {
  if (isShown) return;
  isShown = true;
  const options = { 'grpc.enable_channelz': 0 };
  const channel = new Channel('ipv4:127.0.0.1:1', credentials.createInsecure(), options);
  const call = channel.createCall('/', Infinity, undefined, null, undefined);
  channel.close();
  const calls: unknown = Object.getPrototypeOf(call);
  if (!hasMethods<{ getConfig: () => void }>(calls, 'getConfig')) return;
  const { getConfig } = calls;
  calls.getConfig = function (this: object) {
    // The first call of a channel starts the stream to the management server.
    const outer = routed.call;
    routed.call = this;
    try {
      Reflect.apply(getConfig, this, []);
    } finally {
      routed.call = outer;
    }
  };
}

/**
 * Returns the deadline of a call that was shown, as of now: once the call has its config, that of its route is considered.
 *
 * @returns milliseconds since 1970; `Infinity` if there is none, or the call was not shown.
 */
export function deadlineOf(call: object | undefined): number {
  const deadline: unknown = call && Reflect.get(call, 'deadline');
  return deadline instanceof Date || typeof deadline === 'number' ? Number(deadline) : Infinity;
}
