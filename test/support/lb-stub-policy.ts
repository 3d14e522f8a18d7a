import { ConnectivityState } from '../../src/grpc-js';
import type { Picker, PickResult } from '../../src/grpc-js';
import { createFailurePicker, queuePicker } from '../../src/lb/connectivity';
import type { EndpointSet, LbEndpoints } from '../../src/lb/endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicy, LbPolicyType } from '../../src/lb/lb-policy';
import { err, ok, type Result } from '../../src/util/result';
import type { LbConfig } from '../../src/resources/extension-points';

/** A picker told apart by its name. */
export interface NamedPicker extends Picker {
  readonly name: string;
}

/** What a policy was updated with. */
interface StubUpdate extends LbContext {
  readonly config: LbConfig;
  readonly endpoints: Result<EndpointSet, string>;
  readonly context: LbContext;
}

/** A child policy that reports what the test says, and remembers what it was told. */
export class StubPolicy implements LbPolicy {
  readonly updates: StubUpdate[] = [];
  exitIdleCalls = 0;
  resetBackoffCalls = 0;
  destroyed = false;

  constructor(
    readonly host: LbHost,
    readonly policyName: string,
  ) {}

  /** Reports a state, as a batch of its own. */
  report(
    state: ConnectivityState,
    picker: Picker = queuePicker,
    error: string | null = null,
  ): void {
    this.host.environment.batch.run(() => this.host.updateState(state, picker, error));
  }

  /** Reports READY with a picker of the given name. */
  reportReady(name: string): void {
    this.report(ConnectivityState.READY, createNamedPicker(name));
  }

  /** Reports a failure with the given text. */
  reportFailure(text: string): void {
    this.report(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(text), text);
  }

  /** The last update; throws if there was none. */
  get lastUpdate(): StubUpdate {
    const last = this.updates.at(-1);
    if (last === undefined) throw new Error(`${this.policyName} was never updated`);
    return last;
  }

  update(config: LbConfig, endpoints: LbEndpoints, context: LbContext): void {
    const result = typeof endpoints === 'string' ? err(endpoints) : ok(endpoints);
    this.updates.push({ config, endpoints: result, context, ...context });
  }

  exitIdle(): void {
    this.exitIdleCalls++;
  }

  resetBackoff(): void {
    this.resetBackoffCalls++;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

/** A kind of policy whose instances the test plays. */
export class StubPolicyType implements LbPolicyType {
  /** Every instance there ever was, oldest first. */
  readonly instances: StubPolicy[] = [];

  readonly connectsOnDemand: boolean;

  constructor(
    readonly name = 'stub',
    { connectsOnDemand = false } = {},
  ) {
    this.connectsOnDemand = connectsOnDemand;
  }

  parseConfig(): LbConfig {
    return { policyName: this.name };
  }

  create(host: LbHost): StubPolicy {
    const policy = new StubPolicy(host, this.name);
    this.instances.push(policy);
    return policy;
  }

  /** The n-th instance made; throws if there were fewer. */
  instance(index: number): StubPolicy {
    const instance = this.instances[index];
    if (instance === undefined) throw new Error(`There is no instance ${index} of ${this.name}`);
    return instance;
  }

  /** Instances not destroyed, oldest first. */
  get live(): readonly StubPolicy[] {
    return this.instances.filter((instance) => !instance.destroyed);
  }
}

/** Makes a picker that fails every call with its name, by which tests tell it apart. */
function createNamedPicker(name: string): NamedPicker {
  const failing = createFailurePicker(name);
  return { name, pick: (args): PickResult => failing.pick(args) };
}
