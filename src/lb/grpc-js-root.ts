import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  ConnectivityState,
  SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX,
} from '../grpc-js';
import type {
  ChannelOptions,
  GrpcEndpoint,
  LbHelper,
  LoadBalancer,
  StatusOr,
  TypedLoadBalancingConfig,
} from '../grpc-js';
import type { LbConfig } from '../resources/extension-points';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import type { Handle } from '../util/handle';
import { ok } from '../util/result';
import { Violations } from '../util/violations';
import { FlatEndpoints } from './flat-endpoints';
import { LbBatch } from './lb-batch';
import type { LbEnvironment, LbPolicy, LbPolicyType } from './lb-policy';
import type { LbPolicyRegistry } from './lb-policy-registry';
import { policyToJson } from './policy-json';
import type { LbPolicyRoots } from './register-lb-policies';
import { getXdsLbContext } from './xds-lb-context-arg';

/** Everything the tree of a channel shares, except for the batch, which each tree has of its own. */
export type SharedLbEnvironment = Omit<LbEnvironment, 'batch'>;

/** A config of one of our policies as grpc-js passes it around. */
export class RootConfig implements TypedLoadBalancingConfig {
  constructor(readonly config: LbConfig) {}

  getLoadBalancerName(): string {
    return this.config.policyName;
  }

  toJsonObject(): object {
    return policyToJson(this.config);
  }
}

/** The root of a tree of our policies, as a policy of grpc-js. */
export class GrpcJsRoot implements LoadBalancer {
  private readonly policy: LbPolicy;
  private readonly batch: LbBatch;
  private readonly options = new ChannelOptionsCache();
  private readonly endpoints = new FlatEndpoints();
  private readonly clock: Clock;
  private updated = false;
  private destroyed = false;
  /** The wait for a call that says where to connect. */
  private wakeUp: Handle | undefined;
  /** As last published. */
  private state = ConnectivityState.IDLE;

  constructor(
    private readonly type: LbPolicyType,
    helper: LbHelper,
    shared: SharedLbEnvironment,
  ) {
    this.clock = shared.clock;
    this.batch = new LbBatch((error) => {
      shared.logger.error(() => `Bug in load-balancing policy ${type.name}: ${describe(error)}`);
    });
    this.policy = type.create({
      environment: { ...shared, batch: this.batch },
      depth: 0,
      createSubchannel: (address, args) => helper.createSubchannel(address, args),
      addChannelzChild: (child) => helper.addChannelzChild(child),
      removeChannelzChild: (child) => helper.removeChannelzChild(child),
      updateState: (state, picker, error) => {
        this.state = state;
        if (!this.destroyed) helper.updateState(state, picker, error);
      },
      requestReresolution: () => {
        if (!this.destroyed) helper.requestReresolution();
      },
    });
  }

  /** @returns `true`: whatever is wrong, the policy tells the calls, and the resolver must not retry. */
  updateAddressList(
    list: StatusOr<GrpcEndpoint[]>,
    config: TypedLoadBalancingConfig,
    channelOptions: ChannelOptions,
    resolutionNote: string,
  ): boolean {
    if (!(config instanceof RootConfig)) return false;
    const update = {
      config: config.config,
      endpoints: list.ok
        ? ok(this.endpoints.update(list.value))
        : ({ ok: false, error: list.error.details } as const),
      options: this.options.strip(channelOptions),
      xds: getXdsLbContext(channelOptions),
      resolutionNote,
    };
    this.batch.run(() => this.policy.update(update));
    // The host may have been asked to connect before there was this policy; it will not be asked again.
    if (!this.updated) this.exitIdle();
    this.updated = true;
    return true;
  }

  /**
   * Called by the host for every call, so it must cost nothing unless there is an idleness to leave. A call is
   * about to say itself where to connect. If none did by the next turn of the event loop, it was for somebody
   * who waits for the channel as such.
   */
  exitIdle(): void {
    if (this.state !== ConnectivityState.IDLE) return;
    this.wakeUp ??= this.clock.setTimer(() => {
      this.wakeUp = undefined;
      if (this.state !== ConnectivityState.IDLE) return;
      this.batch.run(() => this.policy.exitIdle());
    }, 0);
  }

  resetBackoff(): void {
    this.batch.run(() => this.policy.resetBackoff());
  }

  destroy(): void {
    this.destroyed = true;
    this.wakeUp?.release();
    this.batch.run(() => this.policy.destroy());
  }

  getTypeName(): string {
    return this.type.name;
  }
}

/** A bug is worth its stack. */
function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : errorMessage(error);
}

/** Makes roots of the policies that are in a registry now. Those registered later need our tree around them. */
export class RegistryRoots implements LbPolicyRoots {
  private readonly types: ReadonlyMap<string, LbPolicyType>;

  constructor(
    private readonly registry: LbPolicyRegistry,
    private readonly shared: SharedLbEnvironment,
  ) {
    this.types = new Map(Array.from(registry.registered(), (type) => [type.name, type]));
  }

  create(policyName: string, helper: LbHelper): LoadBalancer {
    return new GrpcJsRoot(this.typeOf(policyName), helper, this.shared);
  }

  parseConfig(policyName: string, json: unknown): TypedLoadBalancingConfig {
    if (isParsed(json, policyName)) return new RootConfig(json);
    const violations = Violations.root();
    const config = this.typeOf(policyName).parseConfig(json, violations, this.registry);
    if (config === undefined) throw new Error(violations.all.join('; '));
    return new RootConfig(config);
  }

  private typeOf(policyName: string): LbPolicyType {
    const type = this.types.get(policyName);
    if (type === undefined) throw new Error(`Bug: there is no policy ${policyName}`);
    return type;
  }
}

/**
 * Our resolver puts the config itself where grpc-js expects JSON, and so spares both the writing and the
 * parsing. Configs are instances of classes, which JSON never is.
 */
function isParsed(json: unknown, policyName: string): json is LbConfig {
  return (
    typeof json === 'object' &&
    json !== null &&
    Object.getPrototypeOf(json) !== Object.prototype &&
    'policyName' in json &&
    json.policyName === policyName
  );
}

/**
 * The options of a channel as its subchannels may see them. grpc-js mixes what the resolver says for the
 * load balancer into the channel's options, in a new object each time; subchannels are pooled by the
 * values of their options, so that a new config selector there would mean new connections with every
 * update.
 */
export class ChannelOptionsCache {
  private current: ChannelOptions = {};

  /** The options without what is meant for the channel only. The same object while nothing in it changes. */
  strip(options: ChannelOptions): ChannelOptions {
    const entries = Object.entries(options).filter(([key]) => isForSubchannels(key));
    if (!this.isCurrent(entries)) this.current = Object.fromEntries(entries);
    return this.current;
  }

  private isCurrent(entries: readonly (readonly [string, unknown])[]): boolean {
    return (
      entries.length === Object.keys(this.current).length &&
      entries.every(
        ([key, value]) => Object.hasOwn(this.current, key) && this.current[key] === value,
      )
    );
  }
}

function isForSubchannels(key: string): boolean {
  return (
    key !== CHANNEL_ARGS_CONFIG_SELECTOR_KEY && !key.startsWith(SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX)
  );
}
