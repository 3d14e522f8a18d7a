import type { ClusterStore } from '../dependency-manager/xds-config';
import type { ChannelOptions, LbHelper } from '../grpc-js';
import type { ChildChannelOptions } from '../grpc-js/child-channel-options';
import type { LoadReporter } from '../xds-client/lrs/load-reporter';
import type { XdsEndpoint } from '../resources/endpoints/endpoints';
import type { LbConfig, LbConfigParser } from '../resources/extension-points';
import type { CertificateSource } from '../security/providers/certificate-provider';
import type { ChannelRates } from '../observe/rates/process-rates';
import type { ChannelStats, LabelValues } from '../observe/stats/stats-plugin';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Violations } from '../util/violations';
import type { ConnectionAttempts } from './connections/connection-attempts';
import type { LbEndpoints } from './endpoints/endpoint-set';
import type { LbBatch } from './tree/lb-batch';
import type { PolicyParts } from './tree/policy-state';
import type { TimeSlices } from '../util/time-slices';
import type { ClusterUpdates } from './cds/cluster-updates';

/** The environment that all policies of a channel share. */
export interface LbEnvironment {
  readonly batch: LbBatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policies: LbPolicyLookup;
  /** Shared by all channels of the process. */
  readonly connectionAttempts: ConnectionAttempts;
  /** Shared by all channels of the process. */
  readonly timeSlices: TimeSlices;
  readonly clusterUpdates: ClusterUpdates;
  /** What the calls of the channel are measured and counted with. Default: they are not. */
  readonly callTiming?: {
    /** Whether the latency of calls is described. */
    readonly isRequested: boolean;
    /** Counts the attempts of calls while a page is served; `undefined` if nothing does. Not known before the first update. */
    readonly rates: ChannelRates | undefined;
  };
  /** What observes the channel; `undefined` if nothing does. Not known before the first update. */
  readonly stats?: ChannelStats | undefined;
  /** The channel, for events. Not known before the first update, nor under other resolvers than xds. */
  readonly channel?: ChannelNames | undefined;
}

/** What tells a channel from others. */
export interface ChannelNames {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  /** The target that the channel was created with. */
  readonly target: string;
  /** The data-plane authority. */
  readonly authority: string;
}

/** Finds policies by their gRPC name. */
export interface LbPolicyLookup {
  get(policyName: string): LbPolicyType | undefined;
}

/** An endpoint, and why there is no connection to it. */
export interface FailedEndpoint {
  readonly endpoint: XdsEndpoint;
  /** `null` if there is no error. */
  readonly errorMessage: string | null;
}

/** Receives which endpoints of a cluster fail. */
export interface EndpointWatcher {
  /** The endpoint cannot be connected to, or for another reason than before. */
  onFailed(endpoint: FailedEndpoint): void;
  /** The endpoint, which had failed, is connected. */
  onRecovered(endpoint: FailedEndpoint): void;
  /** The endpoint, which had failed, is no longer used. */
  onRemoved(endpoint: FailedEndpoint): void;
}

/** The services of the parent of a policy. What the parent does not serve itself is the function of its own host. */
export interface LbHost extends LbHelper {
  readonly createSubchannel: LbHelper['createSubchannel'];
  readonly addChannelzChild: LbHelper['addChannelzChild'];
  readonly removeChannelzChild: LbHelper['removeChannelzChild'];
  readonly environment: LbEnvironment;
  /** The distance from the root; deeper policies publish first. */
  readonly depth: number;
  /** The watcher of the cluster that the policy belongs to; `undefined` if there is none. */
  readonly endpointWatcher?: EndpointWatcher | undefined;
}

/** The xDS part of an update: the same object as long as the target is resolved. */
export interface XdsLbContext extends ChannelNames {
  /** The clusters of the target. A policy watches the cluster that it needs. */
  readonly clusters: ClusterStore;
  /** The certificates of the bootstrap, for clusters with TLS (gRFC A29). */
  readonly certificates: CertificateSource;
  /** Receives load reports (gRFC A27); `undefined` if load is not reported. */
  readonly loads: LoadReporter | undefined;
  /** What observes the channel, the same from its start to its end; `undefined` if nothing does. */
  readonly stats?: ChannelStats | undefined;
  /** Counts the attempts of calls while a page is served. Default: nothing does. */
  readonly rates?: ChannelRates | undefined;
  /** The options of channels that policies create (gRFC A110). Default: none. */
  readonly childChannelOptions?: ChildChannelOptions | undefined;
}

/**
 * What policies need besides their config and endpoints. Never changed: a policy whose children need another one creates it
 * when its own is another one, and keeps it, so that all compare it with `===`.
 */
export interface LbContext {
  /** The options of subchannels: the same object for the life of the channel, so that subchannels stay pooled. */
  readonly options: ChannelOptions;
  /** `undefined` under other resolvers than xds. */
  readonly xds: XdsLbContext | undefined;
  /** The cluster and locality of the endpoints, as labels of metrics (gRFCs A78, A89). Default: none. */
  readonly labels?: LabelValues | undefined;
  /** The options of channels that policies below a cluster create (gRFC A110). Default: none. */
  readonly childChannelOptions?: ChildChannelOptions | undefined;
}

/** The context of children that have labels besides: the same object while neither it nor they change. */
export class LabelledContext {
  private parent: LbContext | undefined;
  private added: LabelValues | undefined;
  private own: LbContext | undefined;

  /** @param labels Added to those of the context. `undefined`: the context is that of the children. */
  of(context: LbContext, labels: LabelValues | undefined): LbContext {
    if (labels === undefined) return context;
    if (this.own === undefined || context !== this.parent || labels !== this.added) {
      this.parent = context;
      this.added = labels;
      this.own = { ...context, labels: { ...context.labels, ...labels } };
    }
    return this.own;
  }
}

/** The arguments of an update, for a policy that applies it later. */
export interface LbUpdate<Config extends LbConfig = LbConfig> {
  readonly config: Config;
  readonly endpoints: LbEndpoints;
  readonly context: LbContext;
}

/** An instance of a load-balancing policy. Every method is called in the batch of the tree. */
export interface LbPolicy<Config extends LbConfig = LbConfig> {
  /** Applies an update. What did not change is the object of the update before. Fails picks with a reason for bad input. */
  update(config: Config, endpoints: LbEndpoints, context: LbContext): void;
  /** Starts connecting if idle. */
  exitIdle(): void;
  /** Resets connection backoffs. */
  resetBackoff(): void;
  /** Releases everything; the host is not called afterwards. */
  destroy(): void;
  /** Describes what the policy knows of itself and of what is below it. Default: nothing. */
  describe?(): PolicyParts;
}

/** A kind of policy: its gRPC name, its config and the factory of its instances. */
export interface LbPolicyType<Config extends LbConfig = LbConfig> {
  readonly name: string;
  /**
   * Whether a policy of this kind stays IDLE without a connection until a call needs it, so that it need not be created
   * before. Default: `false`.
   */
  readonly connectsOnDemand?: boolean;
  /** Absent if only the client creates the configs, from several resources: neither a resource nor JSON can name the policy. */
  readonly parseConfig?: ParseLbConfig<Config>;
  /** In place of `parseConfig`, for a policy that only the configs of cluster specifier plugins can name. Default: they cannot. */
  readonly parsePluginConfig?: ParseLbConfig<Config>;
  /** Absent if a `load_balancing_policy` can name the policy in a TypedStruct at most. */
  readonly converter?: LbConfigConverter | undefined;
  create(host: LbHost): LbPolicy<Config>;
}

/**
 * Validates the gRPC JSON config of a policy.
 *
 * @param parser Parses the configs of child policies.
 * @returns `undefined` after adding a violation.
 */
export type ParseLbConfig<Config> = (
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
) => Config | undefined;

/** Parses the child policies inside a JSON config. */
export interface LbChildParser {
  /** Parses a list with one `{ name: config }` per choice, of which the first supported one is used. */
  parseList(json: unknown, violations: Violations): LbConfig | undefined;
}

export interface ConversionContext {
  /** Converts the configs of child policies. */
  readonly parser: Pick<LbConfigParser, 'fromProto'>;
  /** The number of policies the config is nested in. */
  readonly depth: number;
  readonly violations: Violations;
}

/** Converts the xDS config of one policy (gRFC A52). */
export interface LbConfigConverter {
  /** The full name of the message, without the `type.googleapis.com/` prefix. */
  readonly messageType: string;
  /** @returns `'unsupported'` to try the next policy of the list, `undefined` after adding a violation. */
  convert(value: Uint8Array, context: ConversionContext): LbConfig | 'unsupported' | undefined;
}

/**
 * The resolver attribute with the {@link XdsLbContext}. Because of the prefix, grpc-js does not add it to the options of
 * subchannels, where it would open a new connection with every config update.
 */
const XDS_LB_CONTEXT_KEY = 'grpc.internal.no_subchannel.grpc_xds.lb_context';

/** Returns the attribute with the context, to be spread into the attributes of the resolver. */
export function xdsLbContextArg(context: XdsLbContext): Record<string, XdsLbContext> {
  return { [XDS_LB_CONTEXT_KEY]: context };
}

/** Returns the context in the options of an update; `undefined` under another resolver. */
export function getXdsLbContext(options: ChannelOptions): XdsLbContext | undefined {
  const context: unknown = options[XDS_LB_CONTEXT_KEY];
  return isXdsLbContext(context) ? context : undefined;
}

/** Whether a value is a context. Only the resolver of this package sets it, so two fields are enough to check. */
function isXdsLbContext(value: unknown): value is XdsLbContext {
  return typeof value === 'object' && value !== null && 'nodeId' in value && 'clusters' in value;
}
