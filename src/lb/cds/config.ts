import type { LbConfig } from '../../resources/extension-points';
import type { Violations } from '../../util/violations';
import { readBoolean, readObject, readRequiredString } from '../json-fields';

/** The gRPC name of the policy. */
export const CDS = 'cds_experimental';

/** The config of `cds_experimental` (gRFCs A27, A74). */
export class CdsConfig implements LbConfig {
  readonly policyName = CDS;

  /**
   * @param cluster The name of the cluster to use.
   * @param isDynamic Whether no route names the cluster, so that the policy itself has to keep it in the
   * `XdsConfig`.
   */
  constructor(
    readonly cluster: string,
    readonly isDynamic: boolean,
  ) {}

  toJson(): object {
    return { cluster: this.cluster, isDynamic: this.isDynamic };
  }
}

/** Validates the JSON config `{ cluster, isDynamic }`. */
export function parseCdsConfig(json: unknown, violations: Violations): CdsConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const cluster = readRequiredString(fields, 'cluster', violations);
  const isDynamic = readBoolean(fields, 'isDynamic', false, violations);
  if (cluster === undefined || violations.count > before) return undefined;
  return new CdsConfig(cluster, isDynamic);
}
