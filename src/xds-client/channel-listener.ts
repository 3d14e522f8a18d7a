import type { ServerConfig } from '../bootstrap/bootstrap';
import type { ResourceKey } from './ads/ads-stream-handler';
import type { Accepted, ResourceEvent, ResourceState } from './resource-state';
import type { ServerPolicy } from './server-policy';

/** The channel of one management server as its listeners use it. */
export interface Channel {
  readonly server: ServerConfig;
  readonly policy: ServerPolicy;
  /** Names the server and the node in messages. */
  readonly description: string;
}

/** Receives what a management server does about the resources of one target. All methods are called in the queue. */
export interface ChannelListener {
  /** Returns the value in use of a subscribed resource, whichever server it is from. */
  cached(typeUrl: string, name: string): Accepted<unknown> | undefined;
  /** The server has sent a response, whatever is in it, or is known to be well without one. */
  onServerResponded(channel: Channel): void;
  /** A server has become unreachable, or is so for another reason now: see `ServerChannel.failure`. */
  onServerFailed(): void;
  /**
   * A response was about a subscribed resource.
   * @param ttlMs Of an accepted resource: after how many milliseconds it expires; `undefined`: never.
   */
  onResource(
    channel: Channel,
    key: ResourceKey,
    event: ResourceEvent<unknown>,
    ttlMs: number | undefined,
  ): void;
  /** A heartbeat has renewed the value in use, which is this server's. */
  onRenewed(channel: Channel, key: ResourceKey, ttlMs: number): void;
  /**
   * The channel has the resource already, so that the server does not send it again.
   * @param ttlMs As in `onResource`.
   */
  onShared(
    channel: Channel,
    key: ResourceKey,
    state: ResourceState<unknown>,
    ttlMs: number | undefined,
  ): void;
  /** A subscribed resource was not sent in time. */
  onResourceTimeout(channel: Channel, key: ResourceKey, event: ResourceEvent<unknown>): void;
}
