import {
  Cluster_LbPolicy,
  Cluster_RingHashLbConfig_HashFunction,
  type Cluster,
  type Cluster_SlowStartConfig,
  type LoadBalancingPolicy,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { formatDurationString } from '../../util/duration';
import { ENVOY_FEATURES } from '../../util/feature-flags';
import { Violations } from '../../util/violations';
import type { ExtensionPoints, LbConfig, LbConfigParser, TypedBytes } from '../extension-points';
import { enumName } from '../../util/enum-name';
import { typeNameOf } from '../shared/any';
import { readExtension } from '../shared/extension-parser';

const DEFAULT_MIN_RING_SIZE = 1024n;
const MAX_RING_SIZE = 8_388_608n;
const DEFAULT_CHOICE_COUNT = 2;
const MIN_CHOICE_COUNT = 2;

/**
 * The policy of a cluster: `load_balancing_policy` if there is one (gRFC A52), `lb_policy` with its settings
 * otherwise (gRFCs A27, A42, A48). `undefined` after adding a violation.
 */
export function parseClusterLbPolicy(
  cluster: Cluster,
  extensions: Pick<ExtensionPoints, 'lbConfigs' | 'customLbConfig' | 'envoyFeatures'>,
  violations: Violations,
): LbConfig | undefined {
  const { lbConfigs, customLbConfig = true, envoyFeatures = false } = extensions;
  const { loadBalancingPolicy } = cluster;
  if (loadBalancingPolicy !== undefined && customLbConfig) {
    return parseLbPolicyList(
      loadBalancingPolicy,
      0,
      lbConfigs,
      violations.at('load_balancing_policy'),
    );
  }
  const json = legacyPolicy(cluster, envoyFeatures, violations);
  return json && lbConfigs.fromJson(json, violations.at('lb_policy'));
}

/** Returns the gRPC config of `lb_policy` and its settings. */
function legacyPolicy(
  { lbPolicy, lbConfig, clusterDiscoveryType }: Cluster,
  envoyFeatures: boolean,
  violations: Violations,
): readonly object[] | undefined {
  // What Envoy demands of an aggregate cluster, whose policy means nothing to a client (gRFC A75).
  const isProvided = lbPolicy === Cluster_LbPolicy.CLUSTER_PROVIDED;
  if (isProvided && clusterDiscoveryType?.$case === 'clusterType') {
    return inEachLocality({ round_robin: {} });
  }
  switch (lbPolicy) {
    case Cluster_LbPolicy.ROUND_ROBIN:
      return lbConfig === undefined ? inEachLocality({ round_robin: {} }) : roundRobin(lbConfig);
    case Cluster_LbPolicy.LEAST_REQUEST:
      return leastRequest(lbConfig, violations);
    case Cluster_LbPolicy.RING_HASH:
      return ringHash(lbConfig, violations.at('ring_hash_lb_config'));
    case Cluster_LbPolicy.MAGLEV:
      if (envoyFeatures) return maglev(lbConfig);
      return unsupported(lbPolicy, `, which ${ENVOY_FEATURES}=true enables`, violations);
    default:
      return unsupported(lbPolicy, '', violations);
  }
}

function roundRobin(settings: Cluster['lbConfig']): readonly object[] {
  const own = settings?.$case === 'roundRobinLbConfig' ? settings.value : undefined;
  return inEachLocality({ round_robin: slowStart(own?.slowStartConfig) });
}

function leastRequest(
  settings: Cluster['lbConfig'],
  violations: Violations,
): readonly object[] | undefined {
  const own = settings?.$case === 'leastRequestLbConfig' ? settings.value : undefined;
  const { choiceCount = DEFAULT_CHOICE_COUNT, slowStartConfig } = own ?? {};
  if (choiceCount >= MIN_CHOICE_COUNT) {
    const config = { choiceCount, ...slowStart(slowStartConfig) };
    return inEachLocality({ least_request_experimental: config });
  }
  const reason = `must be at least ${MIN_CHOICE_COUNT}, not ${choiceCount}`;
  return violations.at('least_request_lb_config').at('choice_count').add(reason);
}

function maglev(settings: Cluster['lbConfig']): readonly object[] {
  const own = settings?.$case === 'maglevLbConfig' ? settings.value : undefined;
  const tableSize = own?.tableSize;
  return [{ maglev_experimental: tableSize === undefined ? {} : { tableSize: Number(tableSize) } }];
}

function unsupported(policy: Cluster_LbPolicy, guard: string, violations: Violations): undefined {
  const name = enumName(Cluster_LbPolicy, policy);
  const reason = `must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not ${name}${guard}`;
  return violations.at('lb_policy').add(reason);
}

/** Returns the field of JSON for slow start, which a policy validates if it is enabled. */
function slowStart(slowStartConfig: Cluster_SlowStartConfig | undefined): object {
  if (slowStartConfig === undefined) return {};
  const { slowStartWindow: window, aggression, minWeightPercent } = slowStartConfig;
  const windowMs = window && Number(window.seconds) * 1000 + window.nanos / 1e6;
  return {
    slowStartConfig: {
      slowStartWindow: windowMs && formatDurationString(windowMs),
      aggression: aggression?.defaultValue,
      minWeightPercent: minWeightPercent?.value,
    },
  };
}

/** Localities by weight, then a policy for the endpoints. */
function inEachLocality(childPolicy: object): readonly object[] {
  return [{ xds_wrr_locality_experimental: { childPolicy: [childPolicy] } }];
}

function ringHash(
  lbConfig: Cluster['lbConfig'],
  violations: Violations,
): readonly object[] | undefined {
  const settings = lbConfig?.$case === 'ringHashLbConfig' ? lbConfig.value : undefined;
  const before = violations.count;
  const min = settings?.minimumRingSize ?? DEFAULT_MIN_RING_SIZE;
  const max = settings?.maximumRingSize ?? MAX_RING_SIZE;
  const hashFunction = settings?.hashFunction ?? Cluster_RingHashLbConfig_HashFunction.XX_HASH;
  checkRingSize(min, violations.at('minimum_ring_size'));
  checkRingSize(max, violations.at('maximum_ring_size'));
  if (min > max) {
    const reason = `must not exceed maximum_ring_size, which is ${max.toString()}, but is ${min.toString()}`;
    violations.at('minimum_ring_size').add(reason);
  }
  if (hashFunction !== Cluster_RingHashLbConfig_HashFunction.XX_HASH) {
    const name = enumName(Cluster_RingHashLbConfig_HashFunction, hashFunction);
    violations.at('hash_function').add(`must be XX_HASH, not ${name}`);
  }
  if (violations.count > before) return undefined;
  return [{ ring_hash_experimental: { minRingSize: Number(min), maxRingSize: Number(max) } }];
}

function checkRingSize(size: bigint, violations: Violations): void {
  if (size >= 1n && size <= MAX_RING_SIZE) return;
  violations.add(`must be from 1 to ${MAX_RING_SIZE.toString()}, not ${size.toString()}`);
}

/**
 * Converts the first supported policy of a list (gRFC A52). An error in that one counts, even if a later one
 * would do.
 *
 * @param depth How many policies the list is nested in.
 * @returns `undefined` after adding a violation.
 */
function parseLbPolicyList(
  { policies }: LoadBalancingPolicy,
  depth: number,
  lbConfigs: Pick<LbConfigParser, 'fromProto'>,
  violations: Violations,
): LbConfig | undefined {
  const policiesAt = violations.at('policies');
  const unsupported: string[] = [];
  for (const [i, { typedExtensionConfig }] of policies.entries()) {
    const at = policiesAt.index(i).at('typed_extension_config').at('typed_config');
    const typedConfig = typedExtensionConfig?.typedConfig;
    if (typedConfig === undefined) return at.add('field not present');
    const config = lbConfigs.fromProto(typedConfig, depth, at);
    if (config !== 'unsupported') return config;
    unsupported.push(nameOf(typedConfig));
  }
  return policiesAt.add(describeUnsupported(unsupported));
}

const GUARDED: ReadonlySet<string> = new Set([
  'maglev_experimental',
  'envoy.extensions.load_balancing_policies.maglev.v3.Maglev',
]);

/** Says why a list without a supported policy is rejected. @param names The names of the policies in the list. */
export function describeUnsupported(names: readonly string[]): string {
  if (names.length === 0) return 'names no load-balancing policy';
  const guard = names.some((name) => GUARDED.has(name))
    ? `: ${ENVOY_FEATURES}=true enables Maglev`
    : '';
  return `names no supported load-balancing policy, only ${names.join(', ')}${guard}`;
}

/** Returns the name of the policy, in a TypedStruct or as a message of its own. */
function nameOf(config: TypedBytes): string {
  return readExtension(config, Violations.root())?.typeName ?? typeNameOf(config.typeUrl);
}
