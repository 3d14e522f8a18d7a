import { silentLogger, type Logger } from '../../util/logger';
import type { ChannelStats } from './stats-plugin';

/** What observes the channels of a process. */
export class StatsRegistry {
  /** Set with the first plugin: a process without any loads nothing that they need. */
  find: ((uri: string, logger: Logger) => ChannelStats | undefined) | undefined;
  /** Observes the calls of a server, also set with the first plugin. */
  watchServer: ((server: object) => void) | undefined;
  /** Observes the calls of a channel, also set with the first plugin. The resolver of `xds:` channels observes theirs. */
  watchChannel: ((channel: object) => void) | undefined;

  /**
   * Returns what observes a channel; `undefined` if no plugin does. No exception of a plugin reaches its users.
   *
   * @param uri The target, in any form.
   * @param logger Receives the exceptions of plugins. Default: none.
   */
  forChannel(uri: string, logger: Logger = silentLogger): ChannelStats | undefined {
    return this.find?.(uri, logger);
  }
}

/** The registry of this process. */
export const processStats = new StatsRegistry();
