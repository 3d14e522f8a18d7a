import type { XdsConfig } from '../dependency-manager/xds-config';
import type { ChannelOptions } from '../grpc-js';
import type { RouteTable } from './route-table';

/** The config in use for one channel. */
export interface LiveConfig {
  readonly target: string;
  readonly config: XdsConfig;
  /** Its routes, as compiled for calls. */
  readonly table: RouteTable;
  readonly channelOptions: ChannelOptions;
}

/** The configs in use in this process, by resolution. */
export class LiveConfigs {
  private readonly configs = new Map<object, LiveConfig>();

  /** Sets the config of a resolution. */
  set(resolution: object, live: LiveConfig): void {
    this.configs.set(resolution, live);
  }

  /** Removes the config of a resolution. */
  delete(resolution: object): void {
    this.configs.delete(resolution);
  }

  /** Returns the config of a target, the latest if there are several channels; `undefined` if there is none. */
  find(target: string): LiveConfig | undefined {
    let found: LiveConfig | undefined;
    for (const entry of this.configs.values()) if (entry.target === target) found = entry;
    return found;
  }
}
