import { errorStack } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import { silentLogger, type Logger } from '../../util/logger';
import { late } from '../../util/late';
import type * as PluginStats from './plugin-stats';
import type { ChannelStats, StatsPlugin } from './stats-plugin';

/** Loaded for the first channel of a process with plugins. */
const loadPluginStats = late<typeof PluginStats>(() => require('./plugin-stats'));

/** The plugins of a process. They observe the channels that are created after them. */
export class StatsRegistry {
  private readonly plugins = new Set<StatsPlugin>();

  /** Adds a plugin, until the handle is released. */
  add(plugin: StatsPlugin): Handle {
    this.plugins.add(plugin);
    return createHandle(() => this.plugins.delete(plugin));
  }

  /**
   * Returns what observes a channel; `undefined` if no plugin does. No exception of a plugin reaches its users.
   *
   * @param uri The target, in any form.
   * @param logger Receives the exceptions of plugins. Default: none.
   */
  forChannel(uri: string, logger: Logger = silentLogger): ChannelStats | undefined {
    if (this.plugins.size === 0) return undefined;
    const target = canonicalTarget(uri);
    const onError = (error: unknown) =>
      logger.error(() => `metrics and traces of ${target} have gaps: ${errorStack(error)}`);
    return loadPluginStats().observeChannel(this.plugins, target, onError);
  }
}

/** The registry of this process. */
export const processStats = new StatsRegistry();

const SCHEME = /^([a-z][a-z0-9+.-]*):(?!\/\/)(.*)$/is;

/**
 * Returns a target with scheme and authority (gRFC A66): `xds:///a` for `xds:a`, `dns:///a:80` for `dns:a:80`. One that
 * has them is returned unchanged.
 */
export function canonicalTarget(uri: string): string {
  const [, scheme, path] = SCHEME.exec(uri) ?? [];
  if (scheme === undefined || path === undefined) return uri;
  return `${scheme}://${path.startsWith('/') ? '' : '/'}${path}`;
}
