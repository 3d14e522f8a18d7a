import { ConnectivityState, type Picker } from '../../grpc-js';
import type { ChildChannelOptions } from '../../grpc-js/child-channel-options';
import type { LbConfig } from '../../resources/extension-points';
import { abandon, atOnce, isPromiseLike, parseContained } from '../../util/contained';
import { errorMessage, errorStack } from '../../util/errors';
import { createFailurePicker, createIdlePicker, NO_ENDPOINTS, queuePicker } from '../connectivity';
import { EndpointChildren, type EndpointOwner } from '../endpoints/endpoint-children';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { EndpointSet, LbEndpoints } from '../endpoints/endpoint-set';
import type { LbConfigConverter, LbContext, LbHost, LbPolicy, LbPolicyType } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import type { PolicyParts } from '../tree/policy-state';
import {
  ConnectionGroups,
  connectionState,
  LeafConnection,
  CustomPicker,
  type PickGuard,
} from './connections';
import type {
  CustomLbPolicy,
  LbPicker,
  LbPolicyConfigInput,
  LbPolicyDefinition,
  LbPublishedState,
} from './definition';
import type { Violations } from '../../util/violations';

const NO_OPTIONS: ChildChannelOptions = Object.freeze({});

/**
 * Runs the policy of an application. Owns the connections, so that none can be leaked, and catches the exceptions of the
 * policy, which fail its calls and nothing else.
 */
export class CustomBalancer<Config> implements LbPolicy<CustomConfig<Config>>, EndpointOwner {
  private readonly children = new EndpointChildren(this);
  private readonly publication: Publication;
  private readonly connections = new Map<EndpointLeaf, LeafConnection>();
  private policy: CustomLbPolicy<Config> | undefined;
  private lastEndpoints: EndpointSet | undefined;
  private readonly groups: ConnectionGroups;
  /** The state that the policy published last. */
  private chosen: LbPublishedState = { kind: 'connecting' };
  /** The reason why there are no endpoints; `undefined` while there are. */
  private failure: string | undefined = NO_ENDPOINTS;
  /** The error that the policy threw; `undefined` if none. */
  private broken: string | undefined;
  private readonly guard: PickGuard = { isPicking: false };
  private destroyed = false;

  constructor(
    readonly host: LbHost,
    private readonly definition: LbPolicyDefinition<Config>,
  ) {
    this.groups = new ConnectionGroups((endpoint) => {
      const leaf = this.children.find(endpoint);
      return leaf && this.connectionOf(leaf);
    });
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  update(config: CustomConfig<Config>, endpoints: LbEndpoints, context: LbContext): void {
    const { childChannelOptions, options } = context;
    if (typeof endpoints === 'string') {
      // The last good endpoints stay in use.
      if (this.children.size === 0) this.setFailure(endpoints);
      else this.publication.request();
      return;
    }
    this.children.update(endpoints, options);
    if (endpoints !== this.lastEndpoints) {
      this.groups.update(endpoints, this.children.size);
      this.lastEndpoints = endpoints;
    }
    this.setFailure(this.children.size === 0 ? NO_ENDPOINTS : undefined);
    if (this.children.size > 0) this.updatePolicy(config.value, childChannelOptions);
  }

  exitIdle(): void {
    const { policy } = this;
    if (policy?.exitIdle !== undefined) this.runPolicy(() => policy.exitIdle?.());
  }

  /** Does nothing: the backoff is that of the subchannels, which policies cannot reset. */
  resetBackoff(): void {}

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.publication.cancel();
    const { policy } = this;
    if (policy?.close !== undefined) this.runPolicy(() => policy.close?.());
    this.children.destroy();
    this.connections.clear();
  }

  describe(): PolicyParts {
    return { endpoints: Array.from(this.children.inOrder(), (leaf) => leaf.describe()) };
  }

  private updatePolicy(
    config: Config,
    childChannelOptions: ChildChannelOptions = NO_OPTIONS,
  ): void {
    this.broken = undefined;
    const { localities } = this.groups;
    const update = { config, childChannelOptions, localities };
    this.runPolicy(() => (this.policy ??= this.createPolicy()).update(update));
    this.publication.request();
  }

  private createPolicy(): CustomLbPolicy<Config> {
    const { host, definition } = this;
    const created = definition.create({
      publish: (state) => {
        if (isState(state)) this.chosen = state;
        else this.onCrash(new Error('it published something other than a state'));
        if (isPromiseLike<unknown>(state)) abandon(state);
        host.environment.batch.run(() => this.publication.request());
      },
      random: () => host.environment.random(),
    });
    return checkPolicy(atOnce(created, 'create must not return a promise'));
  }

  private connectionOf(leaf: EndpointLeaf): LeafConnection {
    const known = this.connections.get(leaf);
    if (known !== undefined) return known;
    const connection = new LeafConnection(leaf, (target) => this.connect(target));
    this.connections.set(leaf, connection);
    return connection;
  }

  private connect(leaf: EndpointLeaf): void {
    const { batch, clock } = this.host.environment;
    const isUrgent = this.guard.isPicking;
    const connect = () => batch.run(() => leaf.connect(isUrgent));
    if (isUrgent) clock.soon(connect);
    else connect();
  }

  onLeafRemoved(leaf: EndpointLeaf): void {
    this.connections.delete(leaf);
  }

  onLeafChanged(leaf: EndpointLeaf, previous: ConnectivityState): void {
    const { policy, host } = this;
    const connection = this.connections.get(leaf);
    if (this.destroyed || policy === undefined || connection === undefined) return;
    this.runPolicy((): unknown =>
      policy.onConnectionChanged(connection, connectionState(previous)),
    );
    const lost = previous === ConnectivityState.READY && leaf.state !== previous;
    if (lost) host.requestReresolution();
  }

  private setFailure(failure: string | undefined): void {
    this.failure = failure;
    this.publication.request();
  }

  /** Runs code of the application. An exception becomes the failure of the policy. */
  private runPolicy(run: () => unknown): void {
    try {
      atOnce(run(), 'its methods must not return promises');
    } catch (error) {
      this.onCrash(error);
      if (!this.destroyed) this.publication.request();
    }
  }

  private onCrash(error: unknown): void {
    this.host.environment.logger.error(() => this.describeCrash(errorStack(error)));
    this.broken = this.describeCrash(errorMessage(error));
  }

  private describeCrash(cause: string): string {
    return `Load-balancing policy ${this.definition.name} failed: ${cause}`;
  }

  publish(): void {
    const reason = this.failure ?? this.broken ?? failureOf(this.chosen);
    const { host } = this;
    if (reason !== undefined) {
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, createFailurePicker(reason), reason);
      return;
    }
    switch (this.chosen.kind) {
      case 'ready': {
        host.updateState(ConnectivityState.READY, this.wrap(this.chosen.picker), null);
        return;
      }
      case 'idle': {
        host.updateState(ConnectivityState.IDLE, this.idlePicker(this.chosen.picker), null);
        return;
      }
      default: {
        host.updateState(ConnectivityState.CONNECTING, queuePicker, null);
        return;
      }
    }
  }

  private idlePicker(picker: LbPicker | undefined): Picker {
    if (picker !== undefined) return this.wrap(picker);
    return createIdlePicker(this.host.environment, () => this.exitIdle());
  }

  private wrap(picker: LbPicker): Picker {
    const { logger } = this.host.environment;
    return new CustomPicker({
      picker,
      guard: this.guard,
      describe: (cause) => this.describeCrash(cause),
      onError: (error) => logger.error(() => this.describeCrash(errorStack(error))),
    });
  }
}

/** @throws Error if this is none. Plain JavaScript may create anything. */
function checkPolicy<Config>(created: CustomLbPolicy<Config>): CustomLbPolicy<Config> {
  const policy: unknown = created;
  const isPolicy = typeof policy === 'object' && policy !== null && 'update' in policy;
  if (isPolicy && typeof policy.update === 'function') return created;
  throw new Error('create must return a policy');
}

/** Whether a policy has published one of the states. Plain JavaScript may publish anything. */
function isState(state: unknown): boolean {
  if (typeof state !== 'object' || state === null || !('kind' in state)) return false;
  const picker: unknown = 'picker' in state ? state.picker : undefined;
  switch (state.kind) {
    case 'ready':
      return isPicker(picker);
    case 'idle':
      return picker === undefined || isPicker(picker);
    case 'failed':
      return 'reason' in state && typeof state.reason === 'string';
    default:
      return state.kind === 'connecting';
  }
}

function isPicker(picker: unknown): boolean {
  return (
    typeof picker === 'object' &&
    picker !== null &&
    'pick' in picker &&
    typeof picker.pick === 'function'
  );
}

function failureOf(state: LbPublishedState): string | undefined {
  return state.kind === 'failed' ? state.reason : undefined;
}

/** A config parsed by a policy of the application. */
export class CustomConfig<Config> implements LbConfig {
  constructor(
    readonly policyName: string,
    readonly value: Config,
  ) {}
}

/** Creates a policy from its definition. */
export function createCustomPolicyType<Config>(
  definition: LbPolicyDefinition<Config>,
): LbPolicyType & Required<Pick<LbPolicyType, 'parseConfig'>> {
  const { name, messageType } = definition;
  const parse = (input: LbPolicyConfigInput, violations: Violations) => {
    const parsed = parseContained(() => definition.parseConfig(input), violations, 'the policy');
    return parsed && new CustomConfig(name, parsed.value);
  };
  return {
    name,
    parseConfig: (json, violations) => parse({ kind: 'json', typeName: name, json }, violations),
    converter: messageType === undefined ? undefined : createConverter(messageType, parse),
    create: (host) => new CustomBalancer(host, definition),
  };
}

function createConverter(
  messageType: string,
  parse: (input: LbPolicyConfigInput, violations: Violations) => LbConfig | undefined,
): LbConfigConverter {
  return {
    messageType,
    convert: (bytes, { violations }) =>
      parse({ kind: 'message', typeName: messageType, bytes }, violations),
  };
}
