import type { LbConfig } from '../../resources/extension-points';
import { parseObject, readBoolean, readRequiredString } from '../../util/json-fields';
import type { ParseLbConfig } from '../lb-policy';

export const CDS = 'cds_experimental';

/** The config of `cds_experimental` (gRFCs A27, A74). */
export class CdsConfig implements LbConfig {
  readonly policyName = CDS;

  /**
   * @param cluster The name of the cluster to use.
   * @param isDynamic Whether no route names the cluster, so that the policy itself has to keep it in the `XdsConfig`
   * (gRFC A74): for cluster specifier plugins.
   */
  constructor(
    readonly cluster: string,
    readonly isDynamic: boolean,
  ) {}
}

/** Validates the JSON config `{ cluster, isDynamic }`. */
export const parseCdsConfig: ParseLbConfig<CdsConfig> = (json, violations) =>
  parseObject(json, violations, (fields) => {
    const cluster = readRequiredString(fields, 'cluster', violations);
    const isDynamic = readBoolean(fields, 'isDynamic', false, violations);
    return cluster === undefined ? undefined : new CdsConfig(cluster, isDynamic);
  });
