import type { ChannelOptions, Picker, Subchannel, SubchannelAddress } from '../../grpc-js';
import { ok } from '../../util/result';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import type { LbPolicyType, LbUpdate } from '../lb-policy';
import { childUpdate } from '../lb-update';
import {
  createSingleChildPolicy,
  type OnlyChild,
  type SingleChildDelegate,
} from '../single-child-policy';
import { OVERRIDE_HOST, OverrideHostConfig, parseOverrideHostConfig } from './config';
import { DrainingFilter } from './draining-filter';
import { OverrideHostPicker } from './picker';
import { SessionHosts } from './session-hosts';

/** Keeps the calls of sessions on their endpoints, also on those that get no other calls (gRFCs A55, A75). */
export const overrideHostPolicy: LbPolicyType = createPolicyType({
  name: OVERRIDE_HOST,
  isConfig: isInstanceOf(OverrideHostConfig),
  parseConfig: parseOverrideHostConfig,
  create: (host) => createSingleChildPolicy(host, (only) => new OverrideHost(only)),
});

class OverrideHost implements SingleChildDelegate<OverrideHostConfig> {
  private readonly hosts: SessionHosts;
  private readonly draining = new DrainingFilter();
  private isConfigured = false;

  constructor(private readonly only: OnlyChild) {
    this.hosts = new SessionHosts(only.host, () => only.requestPublication());
  }

  update(update: LbUpdate<OverrideHostConfig>): void {
    const { config, endpoints, options } = update;
    if (!this.isConfigured) this.only.requestPublication();
    this.isConfigured = true;
    const { statuses, idleTimeoutMs, childPolicy } = config.options;
    if (!endpoints.ok) {
      this.only.child.update(childUpdate(update, childPolicy));
      return;
    }
    const usable = ok(this.draining.filter(endpoints.value));
    this.hosts.update({ endpoints: endpoints.value, statuses, idleTimeoutMs, options });
    this.only.child.update(childUpdate(update, childPolicy, usable));
  }

  createPicker(childPicker: Picker): Picker {
    return new OverrideHostPicker(childPicker, this.hosts);
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    this.hosts.noteOptions(options);
    return this.only.host.createSubchannel(address, options);
  }

  release(): void {
    this.hosts.destroy();
  }
}
