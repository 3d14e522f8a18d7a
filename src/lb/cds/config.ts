import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readBoolean, readRequiredString } from '../../util/json-fields';
import type { ParseLbConfig } from '../lb-policy';
import { childPolicyToJson, readChildPolicy } from '../registry/policy-config';

export const CDS = 'cds_experimental';

/** The config of `cds_experimental` (gRFCs A27, A74). */
export class CdsConfig implements LbConfig {
  readonly policyName = CDS;

  /**
   * @param cluster The name of the cluster to use.
   * @param isDynamic Whether no route names the cluster, so that the policy itself has to keep it in the `XdsConfig`.
   * @param lbConfig The policy of the aggregate cluster that this one is part of, if it applies instead of the
   * cluster's own; see `FeatureFlags.aggregateClusterBackwardCompat`.
   */
  constructor(
    readonly cluster: string,
    readonly isDynamic: boolean,
    readonly lbConfig?: LbConfig,
  ) {}

  toJson(): object {
    const { cluster, isDynamic, lbConfig } = this;
    return { cluster, isDynamic, ...(lbConfig && { childPolicy: childPolicyToJson(lbConfig) }) };
  }
}

/** Validates the JSON config `{ cluster, isDynamic, childPolicy }`; `childPolicy` is an extension of this package. */
export const parseCdsConfig: ParseLbConfig<CdsConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const cluster = readRequiredString(fields, 'cluster', violations);
    const isDynamic = readBoolean(fields, 'isDynamic', false, violations);
    const lbConfig = fields.has('childPolicy')
      ? readChildPolicy(fields, violations, parser)
      : undefined;
    return cluster === undefined ? undefined : new CdsConfig(cluster, isDynamic, lbConfig);
  });
