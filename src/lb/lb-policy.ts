import type { ClusterStore } from '../dependency-manager/xds-config';
import type { ChannelOptions, LbHelper } from '../grpc-js';
import type { LoadReporter } from '../load-reporting/load-reporter';
import type { LbConfig } from '../resources/extension-points';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { Violations } from '../util/violations';
import type { ConnectionAttempts } from './connection-attempts';
import type { EndpointSet } from './endpoint-set';
import type { LbBatch } from './lb-batch';
import type { TimeSlices } from './time-slices';

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
}

/** Finds policies by their gRPC name. */
export interface LbPolicyLookup {
  get(policyName: string): LbPolicyType | undefined;
}

/** The services of the parent of a policy. */
export interface LbHost extends LbHelper {
  readonly environment: LbEnvironment;
  /** Distance from the root; deeper policies publish first. */
  readonly depth: number;
}

/** The xDS part of an update: the same object as long as the target is resolved. `undefined` under other resolvers. */
export interface XdsLbContext {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  /** The clusters of the target. A policy watches the cluster that it needs. */
  readonly clusters: ClusterStore;
  /** Receives load reports (gRFC A27); `undefined` if there are none. */
  readonly loads: LoadReporter | undefined;
}

/** An update from the parent. Parts that did not change are the same objects as in the update before. */
export interface LbUpdate<Config extends LbConfig = LbConfig> {
  readonly config: Config;
  /** The endpoints, or why there are none. */
  readonly endpoints: Result<EndpointSet, string>;
  /** For subchannels. The same object for the life of the channel, so that subchannels stay pooled. */
  readonly options: ChannelOptions;
  readonly xds: XdsLbContext | undefined;
  /** Appended to errors of failed picks (gRFC A61); empty if none. */
  readonly resolutionNote: string;
}

/** A load-balancing policy at work. Every method is called from the tree's batch. */
export interface LbPolicy<Config extends LbConfig = LbConfig> {
  /** Takes an update. Never throws for bad input: it fails picks with a reason. */
  update(update: LbUpdate<Config>): void;
  /** Starts connecting if idle. */
  exitIdle(): void;
  /** Forgets connection backoffs. */
  resetBackoff(): void;
  /** Releases everything; no call to the host comes after. */
  destroy(): void;
}

/** A kind of policy: its gRPC name, its config and the factory of its instances. */
export interface LbPolicyType<Config extends LbConfig = LbConfig> {
  readonly name: string;
  /**
   * Whether a policy of this kind is IDLE and connects to nothing until a call needs it: it need not be
   * created before. Default: no.
   */
  readonly connectsOnDemand?: boolean;
  /**
   * Validates the gRPC JSON config.
   * @param children Parses the configs of child policies.
   * @returns `undefined` after adding a violation.
   */
  parseConfig(json: unknown, violations: Violations, children: LbChildParser): Config | undefined;
  create(host: LbHost): LbPolicy<Config>;
}

/** Parses the child policies inside a JSON config. */
export interface LbChildParser {
  /** A list with one `{ name: config }` per choice; the first supported one wins. */
  parseList(json: unknown, violations: Violations): LbConfig | undefined;
}
