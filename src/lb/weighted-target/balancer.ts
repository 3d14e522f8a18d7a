import { ConnectivityState, type Picker } from '../../grpc-js';
import { Label } from '../../observe/stats/instruments';
import type { LabelValues } from '../../observe/stats/stats-plugin';
import type { Handle } from '../../util/handle';
import { createFailurePicker, createIdlePicker, describeWait, WaitPicker } from '../connectivity';
import { childEndpoints, type LbEndpoints } from '../endpoints/endpoint-set';
import {
  LabelledContext,
  type LbContext,
  type LbHost,
  type LbPolicy,
  type LbPolicyType,
} from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import type { Publication } from '../tree/lb-batch';
import type { ChildState, PolicyParts } from '../tree/policy-state';
import type { WeightedTargetConfig } from './config';
import { WEIGHTED_TARGET } from './config';
import { TargetTally, WeightedTargetPicker, type TalliedTarget } from './target-tally';

/** Distributes calls among named children by weight (gRFC A28). */
export const weightedTargetPolicy: LbPolicyType = {
  name: WEIGHTED_TARGET,
  create: (host) => new WeightedTargetPolicy(host),
};

/** The time for which a child removed from the config is kept, in case it is added again (gRFC A28). */
const RETENTION_MS = 15 * 60 * 1000;

/** Removed children that are kept: a control plane that renames its localities must not make them ever more. */
const MAX_RETAINED = 1000;

/** The number of children in the text of a call that waits. */
const MAX_WAITS = 2;

/** A child. Its weight is 0 while the target is not in the config. */
interface Target extends TalliedTarget {
  readonly child: SwitchingChild;
  /** Set while the target is not in the config. */
  retention: Handle | undefined;
  /** Its name is its locality, as wrr_locality names them (gRFC A78). */
  readonly labels: LabelValues;
  readonly labelled: LabelledContext;
}

class WeightedTargetPolicy implements LbPolicy<WeightedTargetConfig> {
  private readonly targets = new Map<string, Target>();
  /** The names of those that are not in the config, in the order in which they were removed. */
  private readonly retained = new Set<string>();
  private readonly tally = new TargetTally();
  private readonly publication: Publication;
  /** The error of picks; `undefined` while there are targets. */
  private failure: string | undefined;
  private config: WeightedTargetConfig | undefined;
  private published: ConnectivityState | undefined;

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(config: WeightedTargetConfig, endpoints: LbEndpoints, context: LbContext): void {
    const configChanged = config !== this.config;
    this.config = config;
    if (configChanged) this.retainMissing(config);
    for (const [name, { childPolicy, weight }] of config.targets) {
      const target = this.targets.get(name) ?? this.createTarget(name);
      if (configChanged) this.activate(name, target, weight);
      // Without labels above, the channel is not observed.
      const labelled = target.labelled.of(context, context.labels && target.labels);
      target.child.update(childPolicy, childEndpoints(endpoints, name), labelled);
    }
    if (configChanged) this.removeOldest();
    if (config.targets.size === 0) {
      this.fail('There are no targets to choose from');
    } else if (configChanged) {
      this.failure = undefined;
      this.publication.request();
    }
  }

  exitIdle(): void {
    for (const { child } of this.active()) child.exitIdle();
  }

  resetBackoff(): void {
    for (const { child } of this.active()) child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    for (const { child, retention } of this.targets.values()) {
      retention?.release();
      child.destroy();
    }
    this.targets.clear();
  }

  describe(): PolicyParts {
    const children: ChildState[] = [];
    for (const [name, { child, weight }] of this.targets) {
      const state = child.describe();
      if (weight > 0 && state !== undefined) children.push({ name, role: { weight }, ...state });
    }
    return { children };
  }

  /** Deactivates the targets that are not in the config, and starts their retention timers. */
  private retainMissing(config: WeightedTargetConfig): void {
    for (const [name, target] of this.targets) {
      if (config.targets.has(name) || target.retention !== undefined) continue;
      target.weight = 0;
      this.tally.update(target);
      const { batch, clock } = this.host.environment;
      target.retention = clock.setTimer(() => batch.run(() => this.remove(name)), RETENTION_MS);
      this.retained.add(name);
    }
  }

  private removeOldest(): void {
    for (const name of this.retained) {
      if (this.retained.size <= MAX_RETAINED) return;
      this.remove(name);
    }
  }

  private remove(name: string): void {
    const target = this.targets.get(name);
    if (target?.retention === undefined) return;
    target.retention.release();
    this.retained.delete(name);
    this.targets.delete(name);
    this.tally.remove(target);
    target.child.destroy();
  }

  private activate(name: string, target: Target, weight: number): void {
    target.retention?.release();
    target.retention = undefined;
    this.retained.delete(name);
    target.weight = weight;
    this.tally.update(target);
  }

  private createTarget(name: string): Target {
    const child = new SwitchingChild({
      host: this.host,
      onStateChanged: () => {
        if (target.weight === 0) return;
        this.tally.update(target);
        this.publication.request();
      },
    });
    const target: Target = {
      child,
      weight: 0,
      retention: undefined,
      labels: { [Label.LOCALITY]: name },
      labelled: new LabelledContext(),
      place: this.tally.takePlace(),
      counted: undefined,
    };
    this.targets.set(name, target);
    return target;
  }

  private fail(text: string): void {
    if (text === this.failure) return;
    this.failure = text;
    this.publication.request();
  }

  private *active(): IterableIterator<Target> {
    for (const target of this.targets.values()) if (target.weight > 0) yield target;
  }

  publish(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    if (this.failure !== undefined) {
      this.published = TRANSIENT_FAILURE;
      this.host.updateState(TRANSIENT_FAILURE, createFailurePicker(this.failure), this.failure);
      return;
    }
    const state = this.tally.state;
    // In other states, calls that a child has queued are picked for once more.
    if (state === CONNECTING && this.published === state) return;
    this.published = state;
    this.host.updateState(state, this.createPicker(state), this.errorOf(state));
  }

  /** Returns the error of the first child, when all have failed. */
  private errorOf(state: ConnectivityState): string | null {
    if (state !== ConnectivityState.TRANSIENT_FAILURE) return null;
    for (const { child, weight } of this.targets.values())
      if (weight > 0) return child.errorMessage;
    return null;
  }

  /** Returns what the first of the children that are connecting say. Calls of any of them may be queued. */
  private describeWait(): string {
    const texts: string[] = [];
    for (const { child } of this.active()) {
      if (texts.length === MAX_WAITS) break;
      const text = describeWait(child.picker);
      if (text !== undefined) texts.push(text);
    }
    return texts.length === 0 ? 'no endpoint is connected' : texts.join('; ');
  }

  private createPicker(state: ConnectivityState): Picker {
    const { environment } = this.host;
    const { random } = environment;
    switch (state) {
      case ConnectivityState.READY:
        return new WeightedTargetPicker(this.tally.ready, random);
      case ConnectivityState.TRANSIENT_FAILURE:
        // When all have failed, each call fails with the error of one of them.
        return new WeightedTargetPicker(this.tally.failed, random);
      case ConnectivityState.IDLE:
        return createIdlePicker(environment, () => this.exitIdle());
      default:
        return new WaitPicker(() => this.describeWait());
    }
  }
}
