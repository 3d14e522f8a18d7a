import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { decodeMessage } from '../../resources/shared/any';
import { parseObject } from '../../util/json-fields';
import { RoundRobin } from '../../wire/generated/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin';
import { queuePicker } from '../connectivity';
import { ConnectedEndpoints, ReadyList } from '../endpoints/connected-endpoints';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import { ROUND_ROBIN, roundRobinConverter } from '../round-robin/config';
import { convertSlowStart, readSlowStart, type SlowStartConfig } from './config';
import { SlowStart } from './slow-start';

class SlowStartRoundRobinConfig implements LbConfig {
  readonly policyName = ROUND_ROBIN;

  constructor(readonly slowStart: SlowStartConfig | undefined) {}
}

/** `round_robin` with slow start, in place of the one without. */
export const slowStartRoundRobinPolicy: LbPolicyType<SlowStartRoundRobinConfig> = {
  name: ROUND_ROBIN,
  parseConfig: (json, violations) =>
    parseObject(json, violations, (fields) => createConfig(readSlowStart(fields, violations))),
  converter: {
    ...roundRobinConverter,
    convert(value, { violations }) {
      const before = violations.count;
      const message = decodeMessage(RoundRobin, value, violations);
      const slowStart = convertSlowStart(
        message?.slowStartConfig,
        violations.at('slow_start_config'),
      );
      return violations.count > before ? undefined : createConfig(slowStart);
    },
  },
  create: createRoundRobin,
};

// One for all without slow start, since configs are compared by identity.
const WITHOUT = new SlowStartRoundRobinConfig(undefined);

function createConfig(slowStart: SlowStartConfig | undefined): SlowStartRoundRobinConfig {
  return slowStart === undefined ? WITHOUT : new SlowStartRoundRobinConfig(slowStart);
}

function createRoundRobin(host: LbHost): LbPolicy<SlowStartRoundRobinConfig> {
  const { clock, random } = host.environment;
  const ready = new ReadyList<EndpointLeaf>();
  const slowStart = new SlowStart<EndpointLeaf>(clock, random);
  return new ConnectedEndpoints<SlowStartRoundRobinConfig, EndpointLeaf>(host, {
    configure(config) {
      slowStart.config = config.slowStart;
    },
    createEndpoint: (leaf) => leaf,
    onReady(endpoint) {
      ready.add(endpoint);
      slowStart.onReady(endpoint);
    },
    onNotReady(endpoint) {
      ready.remove(endpoint);
      slowStart.onNotReady(endpoint);
    },
    createPicker: () => new SlowStartPicker(ready, slowStart, Math.floor(random() * ready.size)),
  });
}

/** Picks the endpoints that are READY in turn, without those that are passed over. */
class SlowStartPicker implements Picker {
  private readonly draw = () => {
    if (this.next >= this.ready.size) this.next = 0;
    return this.ready.at(this.next++);
  };

  constructor(
    private readonly ready: ReadyList<EndpointLeaf>,
    private readonly slowStart: SlowStart<EndpointLeaf>,
    private next: number,
  ) {}

  pick(args: PickArgs): PickResult {
    return (this.slowStart.choose(this.draw)?.picker ?? queuePicker).pick(args);
  }
}
