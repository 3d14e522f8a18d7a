import type { ChannelOptions } from '../grpc-js';

// Lets a configuration of some megabytes arrive without a pause per 64 KiB; the client stops reading when it
// is busy, so this is also the most that lies unread.
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;

/**
 * The options of a channel to a management server. HTTP proxies of the environment apply to it as to every
 * channel; `no_proxy` exempts servers.
 */
export function channelOptions(
  keepalive: { readonly timeMs: number; readonly timeoutMs: number },
  maxMessageBytes: number,
): ChannelOptions {
  return {
    // The default would be 4 MiB, which is soon exceeded.
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    'grpc.keepalive_permit_without_calls': 0,
    // Without retries, and without room to keep messages for them, a message counts as sent when the
    // connection has taken it and not when it was put aside.
    'grpc.enable_retries': 0,
    'grpc.per_rpc_retry_buffer_size': -1,
    // The connection is this channel's alone and ends with it.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.service_config_disable_resolution': 1,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
  };
}
