import type { ClusterStore, XdsConfig } from '../dependency-manager/xds-config';
import type { RouteTable } from './route-table';

/** The config of a channel, and its routes as compiled for calls. */
export interface LiveConfig {
  readonly config: XdsConfig;
  readonly table: RouteTable;
}

/** The resolution of one channel, as the rest of the process may look at it. */
export interface LiveResolution {
  /** As the channel was given it, such as `xds:///shop`. */
  readonly target: string;
  /** The clusters of the target, by whose identity the policies of the channel are found. */
  readonly clusters: ClusterStore;
  /** The config in use; `undefined` while calls wait or fail. */
  readonly live: LiveConfig | undefined;
  /** Why the target cannot be used; `undefined` if it can, or if its config is incomplete. */
  readonly failure: string | undefined;
  /** Returns the pending resources of the config, as sentences. */
  waitingFor(atMost: number): readonly string[];
}

/** The resolutions of this process: one for each channel that is not idle. */
export class LiveResolutions {
  private readonly resolutions = new Set<LiveResolution>();

  add(resolution: LiveResolution): void {
    this.resolutions.add(resolution);
  }

  delete(resolution: LiveResolution): void {
    this.resolutions.delete(resolution);
  }

  all(): readonly LiveResolution[] {
    return [...this.resolutions];
  }

  /** Returns the resolution of a target, if possible one with a config, the latest of several. */
  find(target: string): LiveResolution | undefined {
    const found = this.all().filter((resolution) => resolution.target === target);
    return found.findLast(({ live }) => live !== undefined) ?? found.at(-1);
  }
}
