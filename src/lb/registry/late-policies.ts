import type * as LeastRequest from '../least-request';
import type { LbPolicyType } from '../lb-policy';
import type * as PickFirst from '../pick-first';
import type * as RandomSubsetting from '../random-subsetting';
import type * as RingHash from '../ring-hash';
import type * as WeightedRoundRobin from '../weighted-round-robin';
import type { LbConfigConverter } from './lb-config-converter';
import type { PolicyEnvironment } from './policy-environment';
import { late } from '../../util/late';

const loadLeastRequest = late<typeof LeastRequest>(() => require('../least-request/index'));
const loadPickFirst = late<typeof PickFirst>(() => require('../pick-first/index'));
const loadRandomSubsetting = late<typeof RandomSubsetting>(() =>
  require('../random-subsetting/index'),
);
const loadRingHash = late<typeof RingHash>(() => require('../ring-hash/index'));
const loadWeightedRoundRobin = late<typeof WeightedRoundRobin>(() =>
  require('../weighted-round-robin/index'),
);

/** A policy of which only the names are known until a config names it. */
export interface LatePolicy {
  /** Under one name, or under two. */
  readonly types: readonly LbPolicyType[];
  /** `undefined` if a feature flag disables it. */
  readonly converter: LbConfigConverter | undefined;
}

/**
 * The policies of which a cluster uses one at most. Their code, a file for each in the package, is loaded when a config
 * names them.
 */
export function latePolicies(environment: PolicyEnvironment): readonly LatePolicy[] {
  const { flags } = environment;
  return [
    latePickFirst(environment),
    lateRandomSubsetting(environment),
    ...(flags.ringHash ? [lateRingHash(environment)] : []),
    ...(flags.leastRequest ? [lateLeastRequest()] : []),
    ...(flags.weightedRoundRobin ? [lateWeightedRoundRobin(environment)] : []),
  ];
}

const CONFIGS = 'envoy.extensions.load_balancing_policies';

/** Without the flag, only the converter is missing: clusters without a policy of their own do not use it. */
function latePickFirst({ flags }: PolicyEnvironment): LatePolicy {
  const converter = lateConverter(
    `${CONFIGS}.pick_first.v3.PickFirst`,
    () => loadPickFirst().pickFirstConverter,
  );
  return {
    types: [latePolicy('pick_first', () => loadPickFirst().createPickFirstPolicyType({ flags }))],
    converter: flags.pickFirst ? converter : undefined,
  };
}

function lateRandomSubsetting({ hash }: PolicyEnvironment): LatePolicy {
  const load = () => loadRandomSubsetting().createRandomSubsettingPolicyType({ hash });
  return {
    types: [latePolicy('random_subsetting_experimental', load)],
    converter: lateConverter(
      `${CONFIGS}.random_subsetting.v3.RandomSubsetting`,
      () => loadRandomSubsetting().randomSubsettingConverter,
    ),
  };
}

function lateRingHash({ hash, flags, limits }: PolicyEnvironment): LatePolicy {
  const load = () => loadRingHash().createRingHashPolicyType({ hash, flags, limits });
  return {
    types: [latePolicy('ring_hash_experimental', load, true)],
    converter: lateConverter(
      `${CONFIGS}.ring_hash.v3.RingHash`,
      () => loadRingHash().ringHashConverter,
    ),
  };
}

function lateLeastRequest(): LatePolicy {
  return {
    types: [latePolicy('least_request_experimental', () => loadLeastRequest().leastRequestPolicy)],
    converter: lateConverter(
      `${CONFIGS}.least_request.v3.LeastRequest`,
      () => loadLeastRequest().leastRequestConverter,
    ),
  };
}

function lateWeightedRoundRobin(environment: PolicyEnvironment): LatePolicy {
  const customMetrics = environment.flags.wrrCustomMetrics;
  const types = memoize(() => {
    const { OobReports, openOobStream, createWeightedRoundRobinPolicyTypes } =
      loadWeightedRoundRobin();
    const oobReports = new OobReports({ ...environment, openStream: openOobStream });
    return createWeightedRoundRobinPolicyTypes({ customMetrics, oobReports });
  });
  const converter = memoize(() =>
    loadWeightedRoundRobin().createClientSideWeightedRoundRobinConverter({ customMetrics }),
  );
  return {
    types: ['weighted_round_robin', 'weighted_round_robin_experimental'].map((name) =>
      latePolicy(name, () => find(types(), name)),
    ),
    converter: lateConverter(
      `${CONFIGS}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
      converter,
    ),
  };
}

function find(types: readonly LbPolicyType[], name: string): LbPolicyType {
  const type = types.find((each) => each.name === name);
  if (type === undefined) throw new Error(`Bug: there is no policy ${name}`);
  return type;
}

/** Returns a policy that is loaded for its first config, or its first instance. */
function latePolicy(
  name: string,
  load: () => LbPolicyType,
  connectsOnDemand = false,
): LbPolicyType {
  const type = memoize(load);
  return {
    ...{ name, connectsOnDemand },
    parseConfig: (json, violations, parser) => type().parseConfig(json, violations, parser),
    create: (host) => type().create(host),
  };
}

/** Returns a converter that is loaded for its first config. */
function lateConverter(messageType: string, load: () => LbConfigConverter): LbConfigConverter {
  return { messageType, convert: (value, context) => load().convert(value, context) };
}

function memoize<T>(create: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: create() }).value;
}
