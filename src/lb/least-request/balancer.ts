import { ConnectedEndpoints, ReadyList } from '../endpoints/connected-endpoints';
import type { LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import type { LeastRequestConfig } from './config';
import {
  DEFAULT_CHOICE_COUNT,
  LEAST_REQUEST,
  leastRequestConverter,
  parseLeastRequestConfig,
} from './config';
import { CountedEndpoint, PickTurns } from './counted-endpoint';
import { LeastRequestPicker } from './picker';

/** Connects to every endpoint and uses the least busy of a few random ones (gRFC A48). */
export const leastRequestPolicy: LbPolicyType = {
  name: LEAST_REQUEST,
  parseConfig: parseLeastRequestConfig,
  converter: leastRequestConverter,
  create: createLeastRequest,
};

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
