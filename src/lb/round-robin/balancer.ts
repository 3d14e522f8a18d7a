import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import { ConnectedEndpoints, ReadyList } from '../endpoints/connected-endpoints';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import type { RoundRobinConfig } from './config';
import { parseRoundRobinConfig, ROUND_ROBIN, roundRobinConverter } from './config';

/** Connects to every endpoint and uses those that are READY in turn (gRFC A61). */
export const roundRobinPolicy: LbPolicyType = {
  name: ROUND_ROBIN,
  parseConfig: parseRoundRobinConfig,
  converter: roundRobinConverter,
  create: createRoundRobin,
};

function createRoundRobin(host: LbHost): LbPolicy<RoundRobinConfig> {
  const ready = new ReadyList<EndpointLeaf>();
  return new ConnectedEndpoints<RoundRobinConfig, EndpointLeaf>(host, {
    createEndpoint: (leaf) => leaf,
    onReady: (endpoint) => ready.add(endpoint),
    onNotReady: (endpoint) => ready.remove(endpoint),
    createPicker: () => new RoundRobinPicker(ready, host.environment.random),
  });
}

/**
 * Picks the endpoints that are READY at the moment of the pick in turn. Starts at random, so that many clients with the
 * same list do not all begin with the same endpoint.
 */
class RoundRobinPicker implements Picker {
  private next: number;

  constructor(
    private readonly ready: ReadyList<EndpointLeaf>,
    random: Random,
  ) {
    this.next = Math.floor(random() * ready.size);
  }

  pick(args: PickArgs): PickResult {
    if (this.next >= this.ready.size) this.next = 0;
    // Empty between the loss of the last endpoint and the next picker.
    const picker = this.ready.at(this.next)?.picker ?? queuePicker;
    this.next++;
    return picker.pick(args);
  }
}
