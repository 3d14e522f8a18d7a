import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ConnectedEndpoints } from '../connected-endpoints';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { parseRoundRobinConfig, ROUND_ROBIN, RoundRobinConfig } from './config';
import { RoundRobinPicker } from './picker';
import { ReadyLeaves } from './ready-leaves';

/** Connects to every endpoint and uses those that are READY in turn (gRFC A61). */
export const roundRobinPolicy: LbPolicyType = createPolicyType({
  name: ROUND_ROBIN,
  isConfig: isInstanceOf(RoundRobinConfig),
  parseConfig: parseRoundRobinConfig,
  create: (host) => new RoundRobinPolicy(host),
});

class RoundRobinPolicy implements LbPolicy<RoundRobinConfig> {
  private readonly connected: ConnectedEndpoints;
  private readonly ready = new ReadyLeaves();

  constructor(host: LbHost) {
    this.connected = new ConnectedEndpoints({
      host,
      onReady: (leaf) => this.ready.add(leaf),
      onNotReady: (leaf) => this.ready.remove(leaf),
      createPicker: () => new RoundRobinPicker(this.ready, host.environment.random),
    });
  }

  update(update: LbUpdate<RoundRobinConfig>): void {
    this.connected.update(update);
  }

  /** All endpoints are connected to at all times, so there is no idleness to leave. */
  exitIdle(): void {}

  /** There is no backoff here: subchannels have their own, out of the reach of policies. */
  resetBackoff(): void {}

  destroy(): void {
    this.connected.destroy();
  }
}
