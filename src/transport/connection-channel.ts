import { Channel, type ChannelCredentials, type ChannelOptions } from '../grpc-js';
import type { CheckedChildOptions } from '../grpc-js/child-channel-options';
import { hasMethods } from '../grpc-js/host-internals';

/** When a connection that looks open is given up. */
export interface KeepaliveOptions {
  /** Milliseconds between pings while there is a stream. */
  readonly timeMs: number;
  /** Milliseconds to wait for the answer to a ping. */
  readonly timeoutMs: number;
}

const DEFAULT_KEEPALIVE: KeepaliveOptions = { timeMs: 20_000, timeoutMs: 10_000 };

/** Lets a configuration of some megabytes arrive without a pause per 64 KiB. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;

/** What the channel of a connection is made of. */
export interface ConnectionChannelOptions {
  readonly keepalive: KeepaliveOptions;
  readonly maxMessageBytes: number;
  /** Those of the application (gRFC A110). */
  readonly childOptions: CheckedChildOptions | undefined;
}

/** Returns the intervals of keepalive pings: those of the application, where it has set them. */
export function createKeepalive(
  childOptions: CheckedChildOptions | undefined,
  defaults = DEFAULT_KEEPALIVE,
): KeepaliveOptions {
  const {
    'grpc.keepalive_time_ms': timeMs = defaults.timeMs,
    'grpc.keepalive_timeout_ms': timeoutMs = defaults.timeoutMs,
  } = childOptions?.forChannel ?? {};
  return { timeMs, timeoutMs };
}

/**
 * Creates the channel of a connection to a management server. HTTP proxies of the environment apply to it as to every
 * channel; `no_proxy` exempts servers.
 *
 * @throws Error if the channel cannot be created, or the factory of the application returns none.
 */
export function createChannel(
  target: string,
  credentials: ChannelCredentials,
  { keepalive, maxMessageBytes, childOptions }: ConnectionChannelOptions,
): Channel {
  const options: ChannelOptions = {
    'grpc.keepalive_permit_without_calls': 0,
    // The client stops reading while it is busy, so this is also the most that is buffered.
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    ...childOptions?.forChannel,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    ...requiredOptions(maxMessageBytes),
  };
  const factory = childOptions?.factory;
  if (factory === undefined) return new Channel(target, credentials, options);
  const channel: unknown = factory(target, credentials, options);
  if (hasMethods<Channel>(channel, 'createCall', 'getConnectivityState', 'close')) return channel;
  throw new Error('channelFactoryOverride of the child channel options did not return a channel');
}

/** The options that take precedence over those of the application, because the streams rely on them (gRFC A110). */
export const REQUIRED_OPTIONS: readonly string[] = Object.keys(requiredOptions(0));

function requiredOptions(maxMessageBytes: number): ChannelOptions {
  return {
    // The default would be 4 MiB, which is soon exceeded.
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    // Without retries, and without room to keep messages for them, a message counts as sent when the
    // connection has taken it and not when it was put aside.
    'grpc.enable_retries': 0,
    'grpc.per_rpc_retry_buffer_size': -1,
    // The connection is this channel's alone and ends with it.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.service_config_disable_resolution': 1,
  };
}
