import type { CallConfig, ConfigSelector, Metadata } from '../grpc-js';
import { observeAttributes, toCallAttributes } from '../lb/call-attributes';
import { CallStats } from '../observe/stats/call-stats';
import type { ChannelStats } from '../observe/stats/stats-plugin';
import type { Clock } from '../util/clock';
import { RoutedCall } from './routed-call';

/**
 * A config selector whose calls plugins observe (gRFC A66): from the moment at which the channel requests a config, also
 * calls that are queued afterwards or have no route.
 */
export class ObservedSelector implements ConfigSelector {
  constructor(
    private readonly selector: ConfigSelector,
    private readonly stats: ChannelStats,
    private readonly clock: Clock,
  ) {}

  invoke(methodName: string, headers: Metadata, channelId: number): CallConfig {
    const tracer = this.stats.startCall(methodName);
    if (tracer === undefined) return this.selector.invoke(methodName, headers, channelId);
    const call = new CallStats(tracer, this.clock);
    const config = this.selector.invoke(methodName, headers, channelId);
    if (config instanceof RoutedCall) {
      config.stats = call;
      return config;
    }
    // The first filter is outside all others: it sees the status that the application receives.
    config.dynamicFilterFactories.unshift(call);
    // A call that is queued for a config has no cluster yet.
    call.wasResolutionDelayed = toCallAttributes(config.pickInformation) === undefined;
    observeAttributes(config.pickInformation, call);
    return config;
  }

  unref(): void {
    this.selector.unref();
  }
}
