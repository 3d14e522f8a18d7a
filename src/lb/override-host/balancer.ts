import { ConnectivityState } from '../../grpc-js';
import { ok } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ChildPolicy } from '../child-policy';
import { createFailurePicker } from '../connectivity';
import type { Publication } from '../lb-batch';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { OVERRIDE_HOST, OverrideHostConfig, parseOverrideHostConfig } from './config';
import { DrainingFilter } from './draining-filter';
import { OverrideHostPicker } from './picker';
import { SessionHosts } from './session-hosts';

/** Keeps the calls of sessions on their endpoints, also on those that get no other calls (gRFCs A55, A75). */
export const overrideHostPolicy: LbPolicyType = createPolicyType({
  name: OVERRIDE_HOST,
  isConfig: isInstanceOf(OverrideHostConfig),
  parseConfig: parseOverrideHostConfig,
  create: (host) => new OverrideHostPolicy(host),
});

class OverrideHostPolicy implements LbPolicy<OverrideHostConfig> {
  private readonly child: ChildPolicy;
  private readonly publication: Publication;
  private readonly hosts: SessionHosts;
  private readonly draining = new DrainingFilter();
  private isConfigured = false;
  /** Why there is no child; only of interest while there is none. */
  private failure = '';

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, () => this.publish());
    const hosts = new SessionHosts(host, () => this.publication.request());
    this.hosts = hosts;
    this.child = new ChildPolicy({
      host,
      onStateChanged: () => this.publication.request(),
      overrides: {
        createSubchannel(address, options) {
          hosts.noteOptions(options);
          return host.createSubchannel(address, options);
        },
      },
    });
  }

  update(update: LbUpdate<OverrideHostConfig>): void {
    const { config, endpoints, options } = update;
    if (!this.isConfigured) this.publication.request();
    this.isConfigured = true;
    const { statuses, idleTimeoutMs, childPolicy } = config.options;
    if (!endpoints.ok) {
      this.child.update({ ...update, config: childPolicy });
      return;
    }
    const usable = ok(this.draining.filter(endpoints.value));
    this.hosts.update({ endpoints: endpoints.value, statuses, idleTimeoutMs, options });
    this.child.update({ ...update, config: childPolicy, endpoints: usable });
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.hosts.destroy();
    this.child.destroy();
  }

  private publish(): void {
    const { host, child, hosts } = this;
    if (this.isConfigured) {
      const picker = new OverrideHostPicker(child.picker, hosts);
      host.updateState(child.state, picker, child.errorMessage);
    } else {
      const picker = createFailurePicker(this.failure);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, this.failure);
    }
  }
}
