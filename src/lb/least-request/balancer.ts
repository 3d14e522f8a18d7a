import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ConnectedEndpoints } from '../connected-endpoints';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import {
  DEFAULT_CHOICE_COUNT,
  LEAST_REQUEST,
  LeastRequestConfig,
  parseLeastRequestConfig,
} from './config';
import { CountedEndpoint, PickTurns } from './counted-endpoint';
import { LeastRequestPicker } from './picker';
import { ReadyEndpoints } from './ready-endpoints';

/** Connects to every endpoint and uses the least busy of a few random ones (gRFC A48). */
export const leastRequestPolicy: LbPolicyType = createPolicyType({
  name: LEAST_REQUEST,
  isConfig: isInstanceOf(LeastRequestConfig),
  parseConfig: parseLeastRequestConfig,
  create: (host) => new LeastRequestPolicy(host),
});

class LeastRequestPolicy implements LbPolicy<LeastRequestConfig> {
  private readonly connected: ConnectedEndpoints;
  private readonly ready = new ReadyEndpoints();
  private readonly turns: PickTurns;
  /** Those that have been READY. Calls outlive connections, so counts stay with the leaf. */
  private readonly byLeaf = new Map<EndpointLeaf, CountedEndpoint>();
  private choiceCount = DEFAULT_CHOICE_COUNT;

  constructor(host: LbHost) {
    const { clock, random } = host.environment;
    this.turns = new PickTurns(clock);
    this.connected = new ConnectedEndpoints({
      host,
      onReady: (leaf) => this.ready.add(this.endpointOf(leaf)),
      onNotReady: (leaf) => this.ready.remove(this.endpointOf(leaf)),
      onRemoved: (leaf) => this.byLeaf.delete(leaf),
      createPicker: () =>
        new LeastRequestPicker({ ready: this.ready, choiceCount: () => this.choiceCount, random }),
    });
  }

  update(update: LbUpdate<LeastRequestConfig>): void {
    this.choiceCount = update.config.choiceCount;
    this.connected.update(update);
  }

  /** All endpoints are connected to at all times, so there is no idleness to leave. */
  exitIdle(): void {}

  /** There is no backoff here: subchannels have their own, out of the reach of policies. */
  resetBackoff(): void {}

  destroy(): void {
    this.turns.release();
    this.connected.destroy();
  }

  private endpointOf(leaf: EndpointLeaf): CountedEndpoint {
    const known = this.byLeaf.get(leaf);
    if (known !== undefined) return known;
    const created = new CountedEndpoint(leaf, this.turns);
    this.byLeaf.set(leaf, created);
    return created;
  }
}
