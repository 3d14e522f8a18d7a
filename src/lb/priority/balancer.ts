import { ConnectivityState, type Picker } from '../../grpc-js';
import type { FeatureFlags } from '../../util/feature-flags';
import { SettledReport } from '../../util/settled-report';
import { createFailurePicker, ExplainingPicker } from '../connectivity';
import { emptyEndpointSet, type LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import type { ChildState, PolicyParts } from '../tree/policy-state';
import { PriorityChild } from './child';
import { PriorityOrder } from './choose-priority';
import {
  describeFailed,
  describeLocalities,
  describePriority,
  failureOf,
  MAX_SEARCHED,
  type FailedPriority,
} from './failed-priorities';
import type { PriorityConfig } from './config';
import { PRIORITY } from './config';

export interface PriorityPolicyOptions {
  readonly flags: Pick<FeatureFlags, 'priorityChildCache'>;
}

/** Creates the policy that uses its first child that is not failing (gRFC A56). */
export function createPriorityPolicyType({ flags }: PriorityPolicyOptions): LbPolicyType {
  return {
    name: PRIORITY,
    create: (host) => new PriorityPolicy(host, flags.priorityChildCache),
  };
}

const TRACER = 'priority';

interface Published {
  readonly state: ConnectivityState;
  /** That of the child, if it is one. */
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/**
 * Creates children in order, each when all before it have failed or used up the failover time. The priority is chosen when
 * the picker is published, at the end of the batch: never inside of an update of a child.
 */
class PriorityPolicy implements LbPolicy<PriorityConfig> {
  private readonly children = new Map<string, PriorityChild>();
  private readonly publication: Publication;
  private order = new PriorityOrder([], this.children);
  private lastUpdate: LbUpdate<PriorityConfig> | undefined;
  /** The name of the child in use. */
  private chosen: string | undefined;
  /** The priorities that were left for a later one and are not reported yet, with the next one. */
  private readonly failovers = new Map<string, string>();
  private readonly settled: SettledReport;
  /** Whether a failover was logged whose end is to be logged. */
  private hasReported = false;
  private published: Published | undefined;

  /** @param keepsRemoved Whether children that left the config are kept for a while. */
  constructor(
    private readonly host: LbHost,
    private readonly keepsRemoved: boolean,
  ) {
    const { environment } = host;
    this.publication = environment.batch.createPublication(host.depth, this);
    this.settled = new SettledReport(environment.clock);
  }

  update(config: PriorityConfig, endpoints: LbEndpoints, context: LbContext): void {
    const update = { config, endpoints, context };
    const isOther = config !== this.lastUpdate?.config;
    this.lastUpdate = update;
    if (isOther) this.order = new PriorityOrder([...config.priorities.keys()], this.children);
    for (const [name, child] of this.children) {
      const childConfig = config.priorities.get(name);
      if (childConfig !== undefined) child.update(childConfig, update);
      // Kept for a while by gRFC A56, destroyed at once by gRFC A115.
      else if (this.keepsRemoved) child.deactivate();
      else this.destroyChild(name, child);
    }
    // Otherwise, only a child changes what is published. The text of a failure names the endpoints of all priorities.
    const isFailing = this.published?.state === ConnectivityState.TRANSIENT_FAILURE;
    if (isOther || isFailing) this.publication.request();
  }

  exitIdle(): void {
    if (this.chosen !== undefined) this.children.get(this.chosen)?.policy.exitIdle();
  }

  resetBackoff(): void {
    for (const { policy } of this.children.values()) policy.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.settled.cancel();
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
    const { lastUpdate: update, order } = this;
    const choice = order.choose();
    const name = choice && order.names[choice.chosen];
    if (name !== this.chosen) this.choose(name);
    if (update === undefined) return;
    if (choice === undefined || name === undefined) {
      this.publishFailure(update);
      return;
    }
    order.apply(choice);
    const child = this.children.get(name);
    const config = update.config.priorities.get(name);
    if (child !== undefined) {
      this.publishState(child);
    } else if (config !== undefined) {
      this.createChild(name).update(config, update);
      order.note(name);
      // A child that is applied later is CONNECTING until then.
      this.publication.request();
    }
  }

  private choose(name: string | undefined): void {
    if (this.chosen !== undefined && name !== undefined) this.onChange(this.chosen, name);
    this.chosen = name;
    this.trace(() => (name === undefined ? 'no priority to use' : `using ${name}`));
  }

  /** Handles a failover, or the return from it; nothing if an update has removed the previous priority. */
  private onChange(previous: string, name: string): void {
    const { order } = this;
    const [from, to] = [order.positionOf(previous), order.positionOf(name)];
    if (from !== undefined && to !== undefined && to > from) {
      this.failovers.set(previous, name);
      this.settled.schedule(() => this.reportFailovers());
      return;
    }
    for (const left of [...this.failovers.keys()]) {
      if ((order.positionOf(left) ?? Infinity) >= (to ?? 0)) this.failovers.delete(left);
    }
    if (this.failovers.size === 0) this.settled.cancel();
    if (from !== undefined && to !== undefined && this.hasReported) {
      this.hasReported = to > 0;
      this.host.environment.logger.info(
        () => `Failover ended: ${this.nameOf(to, name)} is used again`,
        { event: 'failover-recovered' },
      );
    }
  }

  /** Logs the failovers that last: a cluster of an aggregate may be removed just before the aggregate is replaced. */
  private reportFailovers(): void {
    const { order, chosen = '', host } = this;
    const current = order.positionOf(chosen) ?? 0;
    for (const [previous, name] of this.failovers) {
      const [from, to] = [order.positionOf(previous), order.positionOf(name)];
      const policy = this.children.get(previous)?.policy;
      if (from === undefined || to === undefined || policy === undefined || from >= current)
        continue;
      this.hasReported = true;
      host.environment.logger.error(() => {
        const reason = failureOf(policy);
        return `Failover from ${this.nameOf(from, previous)} to ${this.nameOf(to, name)}: ${reason}`;
      });
    }
    this.failovers.clear();
  }

  private createChild(name: string): PriorityChild {
    this.trace(() => `creating ${name}`);
    const child: PriorityChild = new PriorityChild({
      name,
      host: this.host,
      onChanged: () => {
        this.order.note(name);
        this.publication.request();
      },
      onExpired: () => this.destroyChild(name, child),
    });
    this.children.set(name, child);
    return child;
  }

  private destroyChild(name: string, child: PriorityChild): void {
    this.trace(() => `destroying ${name}`);
    this.children.delete(name);
    this.order.note(name);
    child.destroy();
  }

  /** The config has no priorities. */
  private publishFailure({ endpoints }: LbUpdate): void {
    const { TRANSIENT_FAILURE } = ConnectivityState;
    const { published } = this;
    const failure =
      typeof endpoints === 'string' ? endpoints : 'There are no priorities to choose from';
    if (published?.state === TRANSIENT_FAILURE && published.errorMessage === failure) return;
    const picker = createFailurePicker(failure);
    this.published = { state: TRANSIENT_FAILURE, picker, errorMessage: failure };
    this.host.updateState(TRANSIENT_FAILURE, picker, failure);
  }

  /** Publishes the state of the child in use, unless it is the published one. */
  private publishState({ state, policy: { picker, errorMessage: own } }: PriorityChild): void {
    const { published } = this;
    const others = state === ConnectivityState.TRANSIENT_FAILURE ? this.describeOthers() : '';
    const errorMessage = others === '' ? own : `${own ?? 'it is not connected'}${others}`;
    const same =
      published?.state === state &&
      published.picker === picker &&
      published.errorMessage === errorMessage;
    if (same) return;
    this.published = { state, picker, errorMessage };
    const shown =
      others === '' ? picker : new ExplainingPicker(picker, (details) => details + others);
    this.host.updateState(state, shown, errorMessage);
  }

  /** Describes the priorities before the one in use, which has failed: all of them have failed, too. */
  private describeOthers(): string {
    const { order, chosen = '', children } = this;
    const count = order.positionOf(chosen) ?? 0;
    if (count === 0) return '';
    const first: FailedPriority[] = [];
    for (const [position, name] of order.names.slice(0, Math.min(count, MAX_SEARCHED)).entries()) {
      const policy = children.get(name)?.policy;
      if (policy !== undefined) first.push({ text: this.nameOf(position, name), policy });
    }
    return describeFailed(first, count);
  }

  /** Names a priority: by its localities, or by the cluster of an aggregate. The names of the others mean nothing to people. */
  private nameOf(position: number, name: string): string {
    const { endpoints = emptyEndpointSet } = this.lastUpdate ?? {};
    const of = typeof endpoints === 'string' ? undefined : endpoints.children?.get(name);
    return describePriority(position, (of && describeLocalities(of)) || name);
  }

  private trace(text: () => string): void {
    this.host.environment.logger.trace(TRACER, text);
  }
}
