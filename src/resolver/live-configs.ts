import type { XdsConfig } from '../dependency-manager/xds-config';
import type { ChannelOptions } from '../grpc-js';

/** The config in use for one channel. */
export interface LiveConfig {
  readonly target: string;
  readonly config: XdsConfig;
  readonly channelOptions: ChannelOptions;
}

/** The configs in use in this process, by target, so that they can be asked about. */
export class LiveConfigs {
  private readonly configs = new Map<object, LiveConfig>();

  /** Notes the config that a resolver has come to. */
  set(resolver: object, live: LiveConfig): void {
    this.configs.set(resolver, live);
  }

  /** Forgets what a resolver has come to. */
  delete(resolver: object): void {
    this.configs.delete(resolver);
  }

  /** The config of a target, the latest if there are several channels; `undefined` if there is none. */
  find(target: string): LiveConfig | undefined {
    let found: LiveConfig | undefined;
    for (const entry of this.configs.values()) if (entry.target === target) found = entry;
    return found;
  }
}
