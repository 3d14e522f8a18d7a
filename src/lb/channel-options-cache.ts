import { CHANNEL_ARGS_CONFIG_SELECTOR_KEY, SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX } from '../grpc-js';
import type { ChannelOptions } from '../grpc-js';

/**
 * The options of a channel as its subchannels may see them. grpc-js mixes what the resolver says for the
 * load balancer into the channel's options, in a new object each time; subchannels are pooled by the
 * values of their options, so that a new config selector there would mean new connections with every
 * update.
 */
export class ChannelOptionsCache {
  private current: ChannelOptions = {};

  /** The options without what is meant for the channel only. The same object while nothing in it changes. */
  strip(options: ChannelOptions): ChannelOptions {
    const entries = Object.entries(options).filter(([key]) => isForSubchannels(key));
    if (!this.isCurrent(entries)) this.current = Object.fromEntries(entries);
    return this.current;
  }

  private isCurrent(entries: readonly (readonly [string, unknown])[]): boolean {
    return (
      entries.length === Object.keys(this.current).length &&
      entries.every(
        ([key, value]) => Object.hasOwn(this.current, key) && this.current[key] === value,
      )
    );
  }
}

function isForSubchannels(key: string): boolean {
  return (
    key !== CHANNEL_ARGS_CONFIG_SELECTOR_KEY && !key.startsWith(SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX)
  );
}
