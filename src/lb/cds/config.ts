import type { LbConfig } from '../../resources/extension-points';

export const CDS = 'cds_experimental';

/** The config of `cds_experimental` (gRFCs A27, A74). */
export class CdsConfig implements LbConfig {
  readonly policyName = CDS;

  /**
   * @param cluster The name of the cluster to use.
   * @param isDynamic Whether no route names the cluster, so that the policy itself has to keep it in the `XdsConfig`
   * (gRFC A74): for cluster specifier plugins, of which none is implemented.
   */
  constructor(
    readonly cluster: string,
    readonly isDynamic: boolean,
  ) {}
}
