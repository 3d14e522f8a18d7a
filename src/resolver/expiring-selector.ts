import type { CallConfig, ConfigSelector, Metadata, MethodConfig } from '../grpc-js';
import type { LateCalls } from './late-calls';

/** A config selector that can also tell how long a call may take, without routing it. */
export interface RouteSelector extends ConfigSelector {
  /** The limit by the route of the call; `undefined` if there is none. */
  timeoutOf(methodName: string, metadata: Metadata): MethodConfig['timeout'];
}

/**
 * A config selector that stops choosing once the resolution it came from has ended. A channel keeps its
 * selector while it is idle, and uses it for the first calls after that.
 */
export class ExpiringSelector implements ConfigSelector {
  constructor(
    private readonly selector: RouteSelector,
    private readonly isExpired: () => boolean,
    private readonly lateCalls: LateCalls,
  ) {}

  invoke(methodName: string, metadata: Metadata, channelId: number): CallConfig {
    const { selector } = this;
    if (!this.isExpired()) return selector.invoke(methodName, metadata, channelId);
    return this.lateCalls.add({
      method: methodName,
      headers: metadata,
      channelId,
      timeout: selector.timeoutOf(methodName, metadata),
    });
  }

  unref(): void {
    this.selector.unref();
  }
}
