import type { Random } from '../../util/random';
import { ConnectedEndpoints, ReadyList } from '../endpoints/connected-endpoints';
import type { LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import { SlowStart } from '../slow-start/slow-start';
import type { LeastRequestConfig } from './config';
import {
  createLeastRequestConverter,
  DEFAULT_CHOICE_COUNT,
  LEAST_REQUEST,
  parseLeastRequestConfig,
} from './config';
import { CountedEndpoint, PickTurns } from './counted-endpoint';
import { LeastRequestPicker } from './picker';

/** Connects to every endpoint and uses the least busy of a few random ones (gRFC A48). */
export const leastRequestPolicy = createPolicyType(false);

/** Does so with slow start. */
export const slowStartLeastRequestPolicy = createPolicyType(true);

function createPolicyType(hasSlowStart: boolean): LbPolicyType<LeastRequestConfig> {
  return {
    name: LEAST_REQUEST,
    parseConfig: (json, violations) => parseLeastRequestConfig(json, violations, hasSlowStart),
    converter: createLeastRequestConverter(hasSlowStart),
    create: (host) => createLeastRequest(host, hasSlowStart),
  };
}

function createLeastRequest(host: LbHost, hasSlowStart: boolean): LbPolicy<LeastRequestConfig> {
  const { clock, random } = host.environment;
  const ready = new ReadyList<CountedEndpoint>();
  const slowStart = hasSlowStart ? new SlowStart<CountedEndpoint>(clock, random) : undefined;
  const turns = new PickTurns(clock);
  let choiceCount = DEFAULT_CHOICE_COUNT;
  return new ConnectedEndpoints<LeastRequestConfig, CountedEndpoint>(host, {
    configure: (config) => {
      choiceCount = config.choiceCount;
      if (slowStart !== undefined) slowStart.config = config.slowStart;
    },
    // Calls outlive connections, and so do their counts.
    createEndpoint: (leaf) => new CountedEndpoint(leaf, turns),
    onReady: (endpoint) => {
      ready.add(endpoint);
      slowStart?.onReady(endpoint);
    },
    onNotReady: (endpoint) => {
      ready.remove(endpoint);
      slowStart?.onNotReady(endpoint);
    },
    describe: (endpoint) => ({ callsInFlight: endpoint.load }),
    createPicker: () => {
      const drawn = slowStart === undefined ? random : passOver(random, ready, slowStart);
      return new LeastRequestPicker(ready, () => choiceCount, drawn);
    },
    release: () => turns.release(),
  });
}

/** Returns the random numbers that stand for endpoints which are not passed over. */
function passOver(
  random: Random,
  ready: ReadyList<CountedEndpoint>,
  slowStart: SlowStart<CountedEndpoint>,
): Random {
  return () => {
    let drawn = 0;
    slowStart.choose(() => {
      drawn = random();
      return ready.at(Math.floor(drawn * ready.size));
    });
    return drawn;
  };
}
