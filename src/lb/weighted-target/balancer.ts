import { ConnectivityState, type Picker } from '../../grpc-js';
import { Label } from '../../stats/instrument';
import type { LabelValues } from '../../stats/stats-plugin';
import type { Handle } from '../../util/handle';
import {
  aggregateConnectivity,
  createFailurePicker,
  createIdlePicker,
  describeWait,
  failureText,
  WaitPicker,
} from '../connectivity';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import { createPolicyType, isInstanceOf } from '../tree/checked-policy';
import { ChildPolicy } from '../tree/child-policy';
import type { Publication } from '../tree/lb-batch';
import { labelledUpdate, namedChildUpdate } from '../tree/lb-update';
import type { ChildState, PolicyParts } from '../tree/policy-state';
import {
  parseWeightedTargetConfig,
  WEIGHTED_TARGET,
  WeightedTargetConfig,
  type WeightedTarget,
} from './config';
import { type WeightedPicker, WeightedTargetPicker } from './picker';

/** Distributes calls among named children by weight (gRFC A28). */
export const weightedTargetPolicy: LbPolicyType = createPolicyType({
  name: WEIGHTED_TARGET,
  isConfig: isInstanceOf(WeightedTargetConfig),
  parseConfig: parseWeightedTargetConfig,
  create: (host) => new WeightedTargetPolicy(host),
});

/** The time for which a child removed from the config is kept, in case it is added again (gRFC A28). */
const RETENTION_MS = 15 * 60 * 1000;

/** The number of children in the text of a call that waits. */
const MAX_WAITS = 2;

interface Target {
  readonly child: ChildPolicy;
  /** 0 while the target is not in the config. */
  weight: number;
  /** Set while the target is not in the config. */
  retention: Handle | undefined;
  /** The labels of the parent with the name as locality; `undefined` if the channel is not observed. */
  labels: { readonly parent: LabelValues; readonly own: LabelValues } | undefined;
}

class WeightedTargetPolicy implements LbPolicy<WeightedTargetConfig> {
  private readonly targets = new Map<string, Target>();
  private readonly publication: Publication;
  /** The error of picks; `undefined` while there are targets. */
  private failure: string | undefined;
  private config: WeightedTargetConfig | undefined;
  private published: ConnectivityState | undefined;

  constructor(private readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(update: LbUpdate<WeightedTargetConfig>): void {
    const { config } = update;
    const configChanged = config !== this.config;
    this.config = config;
    if (configChanged) this.retainMissing(config);
    for (const [name, target] of config.targets) this.updateTarget(name, target, update);
    if (config.targets.size === 0) {
      this.fail(failureText('There are no targets to choose from', update.resolutionNote));
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
      const { batch, clock } = this.host.environment;
      target.retention = clock.setTimer(() => batch.run(() => this.remove(name)), RETENTION_MS);
    }
  }

  private remove(name: string): void {
    const target = this.targets.get(name);
    if (target?.retention === undefined) return;
    this.targets.delete(name);
    target.child.destroy();
  }

  /** Updates the child. An unchanged update is not forwarded, and the weight never is. */
  private updateTarget(name: string, config: WeightedTarget, update: LbUpdate): void {
    const target = this.targets.get(name) ?? this.createTarget(name);
    target.retention?.release();
    target.retention = undefined;
    target.weight = config.weight;
    const childUpdate = namedChildUpdate(update, config.childPolicy, name);
    target.child.update(
      update.labels === undefined
        ? childUpdate
        : labelledUpdate(childUpdate, labelsOf(target, name, update.labels)),
    );
  }

  private createTarget(name: string): Target {
    const child = new ChildPolicy({
      host: this.host,
      onStateChanged: () => {
        if (target.weight > 0) this.publication.request();
      },
    });
    const target: Target = { child, weight: 0, retention: undefined, labels: undefined };
    this.targets.set(name, target);
    return target;
  }

  private fail(text: string): void {
    if (text === this.failure) return;
    this.failure = text;
    this.publication.request();
  }

  private active(): Target[] {
    return [...this.targets.values()].filter((target) => target.weight > 0);
  }

  publish(): void {
    const { CONNECTING, TRANSIENT_FAILURE } = ConnectivityState;
    if (this.failure !== undefined) {
      this.published = TRANSIENT_FAILURE;
      this.host.updateState(TRANSIENT_FAILURE, createFailurePicker(this.failure), this.failure);
      return;
    }
    const active = this.active();
    const state = aggregateConnectivity(active.map(({ child }) => child.state));
    if (state === CONNECTING && this.published === state) return;
    this.published = state;
    const decisive = active.filter(({ child }) => child.state === state);
    const errorMessage =
      state === TRANSIENT_FAILURE ? (decisive[0]?.child.errorMessage ?? null) : null;
    this.host.updateState(state, this.createPicker(state, decisive), errorMessage);
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

  /** @param decisive The children in the aggregated state. */
  private createPicker(state: ConnectivityState, decisive: readonly Target[]): Picker {
    const { batch, clock, random } = this.host.environment;
    switch (state) {
      case ConnectivityState.READY:
      case ConnectivityState.TRANSIENT_FAILURE:
        // When all have failed, each call fails with the error of one of them.
        return new WeightedTargetPicker(decisive.map(toWeightedPicker), random);
      case ConnectivityState.IDLE:
        return createIdlePicker(clock, () => batch.run(() => this.exitIdle()));
      default:
        return new WaitPicker(() => this.describeWait());
    }
  }
}

/** The name of a target is its locality, as wrr_locality names them (gRFC A78). */
function labelsOf(target: Target, name: string, parent: LabelValues): LabelValues {
  if (target.labels?.parent !== parent) {
    target.labels = { parent, own: { ...parent, [Label.LOCALITY]: name } };
  }
  return target.labels.own;
}

function toWeightedPicker({ child, weight }: Target): WeightedPicker {
  return { weight, picker: child.picker };
}
