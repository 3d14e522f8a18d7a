import { ConnectedEndpoints, ReadyList } from '../endpoints/connected-endpoints';
import type { LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import { createPolicyType, isInstanceOf } from '../tree/checked-policy';
import {
  DEFAULT_CHOICE_COUNT,
  LEAST_REQUEST,
  LeastRequestConfig,
  parseLeastRequestConfig,
} from './config';
import { CountedEndpoint, PickTurns } from './counted-endpoint';
import { LeastRequestPicker } from './picker';

/** Connects to every endpoint and uses the least busy of a few random ones (gRFC A48). */
export const leastRequestPolicy: LbPolicyType = createPolicyType({
  name: LEAST_REQUEST,
  isConfig: isInstanceOf(LeastRequestConfig),
  parseConfig: parseLeastRequestConfig,
  create: createLeastRequest,
});

function createLeastRequest(host: LbHost): LbPolicy<LeastRequestConfig> {
  const { clock, random } = host.environment;
  const ready = new ReadyList<CountedEndpoint>();
  const turns = new PickTurns(clock);
  let choiceCount = DEFAULT_CHOICE_COUNT;
  return new ConnectedEndpoints<LeastRequestConfig, CountedEndpoint>(host, {
    configure: (config) => {
      choiceCount = config.choiceCount;
    },
    // Calls outlive connections, and so do their counts.
    createEndpoint: (leaf) => new CountedEndpoint(leaf, turns),
    onReady: (endpoint) => ready.add(endpoint),
    onNotReady: (endpoint) => ready.remove(endpoint),
    describe: (endpoint) => ({ callsInFlight: endpoint.load }),
    createPicker: () => new LeastRequestPicker(ready, () => choiceCount, random),
    release: () => turns.release(),
  });
}
