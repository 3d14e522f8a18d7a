import type { LbConfig } from '../../resources/extension-points';
import { readBoolean, readObject, readRequiredString } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';

/** The gRPC name of the policy. */
export const CDS = 'cds_experimental';

/** The config of `cds_experimental` (gRFCs A27, A74). */
export class CdsConfig implements LbConfig {
  readonly policyName = CDS;

  /**
   * @param cluster The name of the cluster to use.
   * @param isDynamic Whether no route names the cluster, so that the policy itself has to keep it in the
   * `XdsConfig`.
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

/** Validates the JSON config `{ cluster, isDynamic, childPolicy }`, the last of which is an extension of ours. */
export function parseCdsConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): CdsConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const cluster = readRequiredString(fields, 'cluster', violations);
  const isDynamic = readBoolean(fields, 'isDynamic', false, violations);
  const childPolicy = fields.get('childPolicy');
  const lbConfig =
    childPolicy === undefined
      ? undefined
      : parser.parseList(childPolicy, violations.at('childPolicy'));
  if (cluster === undefined || violations.count > before) return undefined;
  return new CdsConfig(cluster, isDynamic, lbConfig);
}
