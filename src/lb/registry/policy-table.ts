import type { Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import { late } from '../../util/late';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import type { XxHash64 } from '../../util/hashes';
import type * as LeastRequest from '../least-request';
import type { LbPolicyType } from '../lb-policy';
import type * as PickFirst from '../pick-first/balancer';
import type * as RandomSubsetting from '../random-subsetting';
import type * as RingHash from '../ring-hash';
import type * as WeightedRoundRobin from '../weighted-round-robin';
import type { LbConfigConverter } from './policy-config';

const loadLeastRequest = late<typeof LeastRequest>(() => require('../least-request/index'));
const loadPickFirst = late<typeof PickFirst>(() => require('../pick-first/balancer'));
const loadRandomSubsetting = late<typeof RandomSubsetting>(() =>
  require('../random-subsetting/index'),
);
const loadRingHash = late<typeof RingHash>(() => require('../ring-hash/index'));
const loadWeightedRoundRobin = late<typeof WeightedRoundRobin>(() =>
  require('../weighted-round-robin/index'),
);

/** The dependencies of the policies of the process. */
export interface PolicyEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly flags: FeatureFlags;
  readonly hash: XxHash64;
  readonly limits: Limits;
}

/** The code of a policy. */
export interface PolicyCode {
  /** One for each name. */
  readonly types: readonly LbPolicyType[];
  readonly converter?: LbConfigConverter;
}

/** What is known of a policy before its code is loaded. */
interface PolicyRow {
  /** The name in gRPC, or two. */
  readonly names: readonly [string, ...string[]];
  /** The feature flag that enables it. Default: always enabled. */
  readonly flag?: keyof FeatureFlags;
  /**
   * `internal`: the client creates the configs itself, from several resources, which cannot name the policy; without those,
   * its calls fail. grpc-go, grpc-java and C-core read such configs. `fixed`: policies create each other's configs, so
   * that an application cannot replace it; nor an internal one.
   */
  readonly kind?: 'internal' | 'fixed';
  readonly connectsOnDemand?: boolean;
  /** The xDS config, below `envoy.extensions.load_balancing_policies`. Default: there is none. */
  readonly message?: string;
  /** The feature flag without which the policy cannot be named through xDS. Default: that of the policy. */
  readonly messageFlag?: keyof FeatureFlags;
  /** Loads the code, when a config first names the policy. Default: it is loaded with the registry. */
  readonly load?: (environment: PolicyEnvironment) => PolicyCode;
}

/**
 * The policies of this package: those that every cluster has, and those of which a cluster uses one at most. The code of the
 * latter, a file for each in the package, is loaded when a config names them.
 */
const policyTable: readonly PolicyRow[] = [
  { names: ['xds_cluster_manager_experimental'], kind: 'internal' },
  { names: ['cds_experimental'], kind: 'internal' },
  { names: ['xds_cluster_impl_experimental'], kind: 'internal' },
  { names: ['priority_experimental'], kind: 'internal' },
  {
    names: ['xds_wrr_locality_experimental'],
    kind: 'fixed',
    message: 'wrr_locality.v3.WrrLocality',
  },
  { names: ['weighted_target_experimental'], kind: 'internal' },
  {
    names: ['outlier_detection_experimental', 'outlier_detection'],
    kind: 'fixed',
    flag: 'outlierDetection',
  },
  { names: ['xds_override_host_experimental'], kind: 'internal', flag: 'overrideHost' },
  { names: ['round_robin'], message: 'round_robin.v3.RoundRobin' },
  {
    names: ['pick_first'],
    message: 'pick_first.v3.PickFirst',
    // Clusters without a policy of their own do not need the message.
    messageFlag: 'pickFirst',
    load({ flags }) {
      const { createPickFirstPolicyType, pickFirstConverter } = loadPickFirst();
      return { types: [createPickFirstPolicyType({ flags })], converter: pickFirstConverter };
    },
  },
  {
    names: ['random_subsetting_experimental'],
    message: 'random_subsetting.v3.RandomSubsetting',
    load({ hash }) {
      const { createRandomSubsettingPolicyType, randomSubsettingConverter } =
        loadRandomSubsetting();
      const type = createRandomSubsettingPolicyType({ hash });
      return { types: [type], converter: randomSubsettingConverter };
    },
  },
  {
    names: ['ring_hash_experimental'],
    flag: 'ringHash',
    connectsOnDemand: true,
    message: 'ring_hash.v3.RingHash',
    load({ hash, flags, limits }) {
      const { createRingHashPolicyType, ringHashConverter } = loadRingHash();
      const type = createRingHashPolicyType({ hash, flags, limits });
      return { types: [type], converter: ringHashConverter };
    },
  },
  {
    names: ['least_request_experimental'],
    flag: 'leastRequest',
    message: 'least_request.v3.LeastRequest',
    load() {
      const { leastRequestPolicy, leastRequestConverter } = loadLeastRequest();
      return { types: [leastRequestPolicy], converter: leastRequestConverter };
    },
  },
  {
    names: ['weighted_round_robin', 'weighted_round_robin_experimental'],
    flag: 'weightedRoundRobin',
    message: 'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
    load(environment) {
      const { OobReports, openOobStream, ...code } = loadWeightedRoundRobin();
      const customMetrics = environment.flags.wrrCustomMetrics;
      const oobReports = new OobReports({ ...environment, openStream: openOobStream });
      return {
        types: code.createWeightedRoundRobinPolicyTypes({ customMetrics, oobReports }),
        converter: code.createClientSideWeightedRoundRobinConverter({ customMetrics }),
      };
    },
  },
];

/** The policies that an application cannot replace. */
export const fixedPolicies: ReadonlySet<string> = new Set(
  policyTable.filter(({ kind }) => kind !== undefined).map(({ names: [name] }) => name),
);

function enabledPolicies(flags: FeatureFlags): readonly PolicyRow[] {
  return policyTable.filter(({ flag }) => flag === undefined || flags[flag]);
}

/** Returns the gRPC names of the policies of this package, without loading their code. */
export function policyNames(flags: FeatureFlags): readonly string[] {
  return enabledPolicies(flags).flatMap(({ names }) => names);
}

/**
 * Returns the policies of this package and the converters of their xDS configs. Each is created for its first config.
 *
 * @param loaded Returns the policies whose code is loaded already, by their first names.
 */
export function createPolicies(
  environment: PolicyEnvironment,
  loaded: ReadonlyMap<string, (environment: PolicyEnvironment) => PolicyCode>,
): {
  readonly policies: readonly LbPolicyType[];
  readonly converters: readonly LbConfigConverter[];
} {
  const { flags } = environment;
  const policies: LbPolicyType[] = [];
  const converters: LbConfigConverter[] = [];
  for (const row of enabledPolicies(flags)) {
    const code = lateCode(row.load ?? loaded.get(row.names[0]), environment);
    for (const name of row.names) policies.push(latePolicy(name, row, code));
    const { message, messageFlag } = row;
    const isEnabled = messageFlag === undefined || flags[messageFlag];
    if (message !== undefined && isEnabled) converters.push(lateConverter(message, code));
  }
  return { policies, converters };
}

function lateCode(load: PolicyRow['load'], environment: PolicyEnvironment): () => PolicyCode {
  let loaded: PolicyCode | undefined;
  return () => (loaded ??= load?.(environment) ?? { types: [] });
}

function latePolicy(
  name: string,
  { connectsOnDemand = false, kind }: PolicyRow,
  code: () => PolicyCode,
): LbPolicyType {
  const type = () => {
    const found = code().types.find((each) => each.name === name);
    if (found === undefined) throw new Error(`Bug: there is no policy ${name}`);
    return found;
  };
  return {
    name,
    connectsOnDemand,
    ...(kind !== 'internal' && {
      parseConfig: (json, violations, parser) => type().parseConfig?.(json, violations, parser),
    }),
    create: (host) => type().create(host),
  };
}

function lateConverter(message: string, code: () => PolicyCode): LbConfigConverter {
  return {
    messageType: `envoy.extensions.load_balancing_policies.${message}`,
    convert(value, context) {
      const { converter } = code();
      return converter === undefined ? 'unsupported' : converter.convert(value, context);
    },
  };
}
