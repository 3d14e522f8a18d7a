import type { EndpointSet, LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbPolicyType } from '../lb-policy';
import { Child } from '../tree/child';
import { SingleChildPolicy } from '../tree/single-child';
import { weightedTargetPolicy } from '../weighted-target/balancer';
import {
  parseWrrLocalityConfig,
  WRR_LOCALITY,
  wrrLocalityConverter,
  type WrrLocalityConfig,
} from './config';
import { createLocalityTargets, type LocalityTargets } from './locality-targets';

/** Distributes calls among the localities by their weights (gRFC A52). */
export const wrrLocalityPolicy: LbPolicyType = {
  name: WRR_LOCALITY,
  parseConfig: parseWrrLocalityConfig,
  converter: wrrLocalityConverter,
  create: (host) => new WrrLocality(host),
};

const NO_LOCALITIES = 'There are no localities to choose from';

/** Updates its child, weighted_target, with a target for each locality. */
class WrrLocality extends SingleChildPolicy<WrrLocalityConfig> {
  protected readonly child = new Child(this, weightedTargetPolicy);
  /** The last good endpoints, which stay in use after an error. */
  private endpoints: EndpointSet | undefined;
  private targets: LocalityTargets | undefined;

  update(config: WrrLocalityConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (typeof endpoints !== 'string') this.endpoints = endpoints;
    if (this.endpoints === undefined) {
      this.setFailure(typeof endpoints === 'string' ? endpoints : NO_LOCALITIES);
      return;
    }
    const isEmpty = this.endpoints.localities.length === 0;
    this.setFailure(isEmpty ? NO_LOCALITIES : undefined);
    const targets = createLocalityTargets(this.endpoints, config.childPolicy, this.targets);
    this.targets = targets;
    for (const name of targets.conflicts) {
      this.host.environment.logger.error(
        () => `Locality ${name} is listed with two weights; the first one is used`,
      );
    }
    this.child.update(targets.config, targets.endpoints, context);
  }
}
