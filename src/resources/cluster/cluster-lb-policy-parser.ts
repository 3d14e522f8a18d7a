import {
  Cluster_LbPolicy,
  Cluster_RingHashLbConfig_HashFunction,
  type Cluster,
  type Cluster_RingHashLbConfig,
  type LoadBalancingPolicy,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
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
  { lbConfigs, customLbConfig = true }: Pick<ExtensionPoints, 'lbConfigs' | 'customLbConfig'>,
  violations: Violations,
): LbConfig | undefined {
  const { loadBalancingPolicy } = cluster;
  if (loadBalancingPolicy !== undefined && customLbConfig) {
    return parseLbPolicyList(
      loadBalancingPolicy,
      0,
      lbConfigs,
      violations.at('load_balancing_policy'),
    );
  }
  const json = legacyPolicy(cluster, violations);
  return json && lbConfigs.fromJson(json, violations.at('lb_policy'));
}

/** Returns the gRPC config of `lb_policy` and its settings. */
function legacyPolicy(
  { lbPolicy, lbConfig, clusterDiscoveryType }: Cluster,
  violations: Violations,
): readonly object[] | undefined {
  // What Envoy demands of an aggregate cluster, whose policy means nothing to a client (gRFC A75).
  const isProvided = lbPolicy === Cluster_LbPolicy.CLUSTER_PROVIDED;
  if (isProvided && clusterDiscoveryType?.$case === 'clusterType') {
    return inEachLocality({ round_robin: {} });
  }
  switch (lbPolicy) {
    case Cluster_LbPolicy.ROUND_ROBIN:
      return inEachLocality({ round_robin: {} });
    case Cluster_LbPolicy.LEAST_REQUEST: {
      const settings = lbConfig?.$case === 'leastRequestLbConfig' ? lbConfig.value : undefined;
      const { choiceCount = DEFAULT_CHOICE_COUNT } = settings ?? {};
      if (choiceCount >= MIN_CHOICE_COUNT) {
        return inEachLocality({ least_request_experimental: { choiceCount } });
      }
      const reason = `must be at least ${MIN_CHOICE_COUNT}, not ${choiceCount}`;
      return violations.at('least_request_lb_config').at('choice_count').add(reason);
    }
    case Cluster_LbPolicy.RING_HASH: {
      const settings = lbConfig?.$case === 'ringHashLbConfig' ? lbConfig.value : undefined;
      return ringHash(settings, violations.at('ring_hash_lb_config'));
    }
    default:
      return violations
        .at('lb_policy')
        .add(
          `must be ROUND_ROBIN, LEAST_REQUEST or RING_HASH, not ${enumName(Cluster_LbPolicy, lbPolicy)}`,
        );
  }
}

/** Localities by weight, then a policy for the endpoints. */
function inEachLocality(childPolicy: object): readonly object[] {
  return [{ xds_wrr_locality_experimental: { childPolicy: [childPolicy] } }];
}

function ringHash(
  settings: Cluster_RingHashLbConfig | undefined,
  violations: Violations,
): readonly object[] | undefined {
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
  return policiesAt.add(
    unsupported.length === 0
      ? 'names no load-balancing policy'
      : `names no supported load-balancing policy, only ${unsupported.join(', ')}`,
  );
}

/** Returns the name of the policy, in a TypedStruct or as a message of its own. */
function nameOf(config: TypedBytes): string {
  return readExtension(config, Violations.root())?.typeName ?? typeNameOf(config.typeUrl);
}
