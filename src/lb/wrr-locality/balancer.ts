import { ConnectivityState } from '../../grpc-js';
import { ok } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ChildPolicy } from '../child-policy';
import { createFailurePicker, failureText } from '../connectivity';
import type { EndpointSet } from '../endpoint-set';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { parseWrrLocalityConfig, WRR_LOCALITY, WrrLocalityConfig } from './config';
import { createLocalityTargets, type LocalityTargets } from './locality-targets';

/** Distributes calls among the localities by their weights (gRFC A52). */
export const wrrLocalityPolicy: LbPolicyType = createPolicyType({
  name: WRR_LOCALITY,
  isConfig: isInstanceOf(WrrLocalityConfig),
  parseConfig: parseWrrLocalityConfig,
  create: (host) => new WrrLocalityPolicy(host),
});

const NO_LOCALITIES = 'There are no localities to choose from';

/** Turns localities into targets; weighted_target, its only child, does the rest. */
class WrrLocalityPolicy implements LbPolicy<WrrLocalityConfig> {
  private readonly child: ChildPolicy;
  private readonly publication: Publication;
  /** The last good ones: a later error leaves them in place. */
  private endpoints: EndpointSet | undefined;
  private targets: LocalityTargets | undefined;
  /** Why there are no localities; `undefined` if the child is to be asked. */
  private failure: string | undefined;

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
    this.child = new ChildPolicy({ host, onStateChanged: () => this.publication.request() });
  }

  update(update: LbUpdate<WrrLocalityConfig>): void {
    const { config, endpoints, resolutionNote } = update;
    if (endpoints.ok) this.endpoints = endpoints.value;
    if (this.endpoints === undefined) {
      const error = endpoints.ok ? NO_LOCALITIES : endpoints.error;
      this.setFailure(failureText(error, resolutionNote));
    } else {
      const none = this.endpoints.localities.length === 0;
      this.setFailure(none ? failureText(NO_LOCALITIES, resolutionNote) : undefined);
      this.updateChild(update, config, this.endpoints);
    }
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.child.destroy();
  }

  private updateChild(update: LbUpdate, config: WrrLocalityConfig, endpoints: EndpointSet): void {
    const targets = createLocalityTargets(endpoints, config.childPolicy, this.targets);
    this.targets = targets;
    for (const name of targets.conflicts) {
      this.host.environment.logger.error(
        () => `Locality ${name} is listed with two weights; the first one is used`,
      );
    }
    this.child.update({ ...update, config: targets.config, endpoints: ok(targets.endpoints) });
  }

  private setFailure(failure: string | undefined): void {
    if (failure === this.failure) return;
    this.failure = failure;
    this.publication.request();
  }

  private publish(): void {
    const { failure, host, child } = this;
    if (failure === undefined) {
      host.updateState(child.state, child.picker, child.errorMessage);
    } else {
      const picker = createFailurePicker(failure);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, failure);
    }
  }
}
