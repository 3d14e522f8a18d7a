import { ok } from '../../util/result';
import { failureText } from '../connectivity';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { LbPolicyType, LbUpdate } from '../lb-policy';
import { childUpdate } from '../tree/lb-update';
import {
  createSingleChildPolicy,
  type OnlyChild,
  type SingleChildDelegate,
} from '../tree/single-child';
import type { WrrLocalityConfig } from './config';
import { parseWrrLocalityConfig, WRR_LOCALITY } from './config';
import { createLocalityTargets, type LocalityTargets } from './locality-targets';

/** Distributes calls among the localities by their weights (gRFC A52). */
export const wrrLocalityPolicy: LbPolicyType = {
  name: WRR_LOCALITY,
  parseConfig: parseWrrLocalityConfig,
  create: (host) => createSingleChildPolicy(host, (only) => new WrrLocality(only)),
};

const NO_LOCALITIES = 'There are no localities to choose from';

/** Updates its child, weighted_target, with a target for each locality. */
class WrrLocality implements SingleChildDelegate<WrrLocalityConfig> {
  /** The last good endpoints, which stay in use after an error. */
  private endpoints: EndpointSet | undefined;
  private targets: LocalityTargets | undefined;

  constructor(private readonly only: OnlyChild) {}

  update(update: LbUpdate<WrrLocalityConfig>): void {
    const { config, endpoints, resolutionNote } = update;
    if (endpoints.ok) this.endpoints = endpoints.value;
    if (this.endpoints === undefined) {
      const error = endpoints.ok ? NO_LOCALITIES : endpoints.error;
      this.only.setFailure(failureText(error, resolutionNote));
    } else {
      const none = this.endpoints.localities.length === 0;
      this.only.setFailure(none ? failureText(NO_LOCALITIES, resolutionNote) : undefined);
      this.updateChild(update, config, this.endpoints);
    }
  }

  private updateChild(update: LbUpdate, config: WrrLocalityConfig, endpoints: EndpointSet): void {
    const targets = createLocalityTargets(endpoints, config.childPolicy, this.targets);
    this.targets = targets;
    for (const name of targets.conflicts) {
      this.only.host.environment.logger.error(
        () => `Locality ${name} is listed with two weights; the first one is used`,
      );
    }
    this.only.child.update(childUpdate(update, targets.config, ok(targets.endpoints)));
  }
}
