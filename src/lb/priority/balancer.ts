import { ConnectivityState, type Picker } from '../../grpc-js';
import type { FeatureFlags } from '../../util/feature-flags';
import { createFailurePicker, describeWait, failureText } from '../connectivity';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { createPolicyType, isInstanceOf } from '../tree/checked-policy';
import type { Publication } from '../tree/lb-batch';
import type { ChildState, PolicyParts } from '../tree/policy-state';
import { PriorityChild } from './child';
import { choosePriority } from './choose-priority';
import { parsePriorityConfig, PRIORITY, PriorityConfig } from './config';

export interface PriorityPolicyOptions {
  readonly flags: Pick<FeatureFlags, 'priorityChildCache'>;
}

/** Creates the policy that uses its first child that is not failing (gRFC A56). */
export function createPriorityPolicyType({ flags }: PriorityPolicyOptions): LbPolicyType {
  return createPolicyType({
    name: PRIORITY,
    isConfig: isInstanceOf(PriorityConfig),
    parseConfig: parsePriorityConfig,
    create: (host) => new PriorityPolicy(host, flags.priorityChildCache),
  });
}

/** The policy without the cache that gRFC A115 removed. */
export const priorityPolicy: LbPolicyType = createPriorityPolicyType({
  flags: { priorityChildCache: false },
});

const TRACER = 'priority';

interface Published {
  readonly state: ConnectivityState;
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/**
 * Creates children in order, each when all before it have failed or used up the failover time. The priority is chosen when
 * the picker is published, at the end of the batch: once per batch, and never while an update is being applied.
 */
class PriorityPolicy implements LbPolicy<PriorityConfig> {
  private readonly children = new Map<string, PriorityChild>();
  private readonly publication: Publication;
  private lastUpdate: LbUpdate<PriorityConfig> | undefined;
  /** The name of the child in use. */
  private chosen: string | undefined;
  /** The error of picks while there are no priorities. */
  private failure = '';
  private published: Published | undefined;

  /** @param keepsRemoved Whether children that left the config are kept for a while. */
  constructor(
    private readonly host: LbHost,
    private readonly keepsRemoved: boolean,
  ) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(update: LbUpdate<PriorityConfig>): void {
    const { config } = update;
    this.publication.request();
    this.lastUpdate = update;
    this.failure = describeEmptiness(update);
    for (const [name, child] of this.children) {
      const childConfig = config.priorities.get(name);
      if (childConfig !== undefined) child.update(childConfig, update);
      // Kept for a while by gRFC A56, destroyed at once by gRFC A115.
      else if (this.keepsRemoved) child.deactivate();
      else this.destroyChild(name, child);
    }
  }

  exitIdle(): void {
    if (this.chosen !== undefined) this.children.get(this.chosen)?.policy.exitIdle();
  }

  resetBackoff(): void {
    for (const { policy } of this.children.values()) policy.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    for (const child of this.children.values()) child.destroy();
    this.children.clear();
  }

  describe(): PolicyParts {
    const priorities = [...(this.lastUpdate?.config.priorities.keys() ?? [])];
    const children = priorities.flatMap((name): readonly ChildState[] => {
      const child = this.children.get(name)?.policy.describe();
      return child === undefined ? [] : [{ name, role: { inUse: name === this.chosen }, ...child }];
    });
    return { details: { priorities: priorities.length }, children };
  }

  publish(): void {
    const { lastUpdate } = this;
    const choice = lastUpdate && choosePriority(this.prioritiesOf(lastUpdate.config));
    if (lastUpdate === undefined || choice === undefined) {
      this.choose(undefined);
      this.publishFailure();
      return;
    }
    const { name, config, child } = choice.chosen;
    this.choose(name);
    for (const priority of choice.active) priority.child?.activate();
    for (const priority of choice.unneeded) priority.child?.deactivate();
    if (child !== undefined) {
      this.publishState(child);
    } else {
      this.createChild(name).update(config, lastUpdate);
      // The child reports its state in this batch; the picker is published then.
      this.publication.request();
    }
  }

  private prioritiesOf({ priorities }: PriorityConfig) {
    return [...priorities].map(([name, config]) => ({
      name,
      config,
      child: this.children.get(name),
    }));
  }

  private choose(name: string | undefined): void {
    if (name === this.chosen) return;
    if (this.chosen !== undefined && name !== undefined) this.logChange(this.chosen, name);
    this.chosen = name;
    this.trace(() => (name === undefined ? 'no priority to use' : `using ${name}`));
  }

  /** Logs a failover, and the return from it; nothing if an update has removed the previous priority. */
  private logChange(previous: string, name: string): void {
    const order = [...(this.lastUpdate?.config.priorities.keys() ?? [])];
    const [from, to] = [order.indexOf(previous), order.indexOf(name)];
    const policy = this.children.get(previous)?.policy;
    if (from === -1 || policy === undefined) return;
    const { logger } = this.host.environment;
    const where = (position: number, child: string) => `priority ${position} (${child})`;
    logger.error(() => {
      if (to < from) return `Failover ended: ${where(to, name)} is used again`;
      const reason = policy.errorMessage ?? describeWait(policy.picker) ?? 'it is not connected';
      return `Failover from ${where(from, previous)} to ${where(to, name)}: ${reason}`;
    });
  }

  private createChild(name: string): PriorityChild {
    this.trace(() => `creating ${name}`);
    const child: PriorityChild = new PriorityChild({
      name,
      host: this.host,
      onChanged: () => this.publication.request(),
      onExpired: () => this.destroyChild(name, child),
    });
    this.children.set(name, child);
    return child;
  }

  private destroyChild(name: string, child: PriorityChild): void {
    this.trace(() => `destroying ${name}`);
    this.children.delete(name);
    child.destroy();
  }

  private publishFailure(): void {
    const { TRANSIENT_FAILURE } = ConnectivityState;
    const { failure, published } = this;
    if (published?.state === TRANSIENT_FAILURE && published.errorMessage === failure) return;
    const picker = createFailurePicker(failure);
    this.published = { state: TRANSIENT_FAILURE, picker, errorMessage: failure };
    this.host.updateState(TRANSIENT_FAILURE, picker, failure);
  }

  /** Publishes the state of the child in use, unless it is the published one. */
  private publishState({ state, policy: { picker, errorMessage } }: PriorityChild): void {
    const { published } = this;
    const same =
      published?.state === state &&
      published.picker === picker &&
      published.errorMessage === errorMessage;
    if (same) return;
    this.published = { state, picker, errorMessage };
    this.host.updateState(state, picker, errorMessage);
  }

  private trace(text: () => string): void {
    this.host.environment.logger.trace(TRACER, text);
  }
}

/** Returns the error of picks while the config has no priorities. */
function describeEmptiness({ endpoints, resolutionNote }: LbUpdate): string {
  return endpoints.ok
    ? failureText('There are no priorities to choose from', resolutionNote)
    : endpoints.error;
}
