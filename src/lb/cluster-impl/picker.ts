import {
  PickResultType,
  Status,
  type PickArgs,
  type Picker,
  type PickResult,
  type Subchannel,
} from '../../grpc-js';
import { watchCallCredentials } from '../../grpc-js/call-metadata';
import { lazy } from '../../util/lazy';
import type { Random } from '../../util/random';
import type { RunningClock } from '../../util/running-time';
import { callAttributes, callOfAttempt, type CallAttributes } from '../call-attributes';
import {
  createDropResult,
  describeWait,
  withClusterName,
  type DescribedPicker,
} from '../connectivity';
import { addCallCredentials, type ClusterSubchannels } from './cluster-calls';
import type { DropCounter } from './cluster-loads';
import type { ClusterImplOptions } from './config';
import type * as TryTimeout from './try-timeout';
import { MILLION } from '../../resources/matching/fraction-parser';
import { quoteName } from '../../util/text';

/** Loaded for the first call with a timeout of its tries. */
const loadTryTimeout = lazy<typeof TryTimeout>(() => require('./try-timeout'));

const { COMPLETE } = PickResultType;

/** A category of calls to drop, and the result of their picks. */
export interface PreparedDrop {
  readonly category: string;
  readonly perMillion: number;
  readonly result: PickResult;
}

/** The part of a config that pickers use; all pickers of a config share it. */
export class CallLimits {
  /** The categories that drop any calls. */
  readonly drops: readonly PreparedDrop[];
  readonly cluster: string;
  readonly maxRequests: number;
  private result: PickResult | undefined;

  constructor({ cluster, maxRequests, drops }: ClusterImplOptions) {
    this.cluster = cluster;
    this.maxRequests = maxRequests;
    this.drops = drops
      .filter(({ perMillion }) => perMillion > 0)
      .map(({ category, perMillion }) => ({
        category,
        perMillion,
        result: createDropResult(
          Status.UNAVAILABLE,
          `Call dropped by category ${quoteName(category)} of cluster ${quoteName(cluster)}: see drop_overloads of its endpoints`,
        ),
      }));
  }

  /** The result of a pick over the limit. Created for the first. */
  get overLimit(): PickResult {
    const { cluster, maxRequests } = this;
    return (this.result ??= createDropResult(
      Status.UNAVAILABLE,
      `Cluster ${quoteName(cluster)} has reached its limit of ${maxRequests} concurrent requests: see max_requests of its circuit breakers`,
    ));
  }
}

export interface ClusterImplPickerOptions {
  readonly child: Picker;
  readonly limits: CallLimits;
  readonly subchannels: ClusterSubchannels;
  /** Counts drops; `undefined` if no load is reported, and no plugin counts them. */
  readonly loads: DropCounter | undefined;
  /**
   * Whether the child is READY. If not, no category applies: a queued call is picked with every new picker, and would be
   * dropped much more often than configured.
   */
  readonly isReady: boolean;
  readonly random: Random;
  readonly clock: RunningClock;
}

/** Drops calls by category, then those over the limit, and forwards the others to the child (gRFC A32). */
export class ClusterImplPicker implements DescribedPicker {
  private readonly drops: readonly PreparedDrop[];

  constructor(private readonly options: ClusterImplPickerOptions) {
    this.drops = options.isReady ? options.limits.drops : [];
  }

  describeWait(): string | undefined {
    return describeWait(this.options.child);
  }

  pick(args: PickArgs): PickResult {
    const { child, limits, subchannels, random } = this.options;
    const call = callAttributes(args);
    // Whatever becomes of the pick (gRFC A89).
    if (call?.stats !== undefined) call.stats.backendService = limits.cluster;
    for (const { category, perMillion, result } of this.drops) {
      if (random() * MILLION < perMillion) return this.drop(category, result);
    }
    const { counter } = subchannels;
    if (counter.count >= limits.maxRequests) return this.drop(undefined, limits.overLimit);
    const result = child.pick(args);
    const { subchannel } = result;
    if (result.pickResultType !== COMPLETE || subchannel === null) {
      return withClusterName(result, limits.cluster);
    }
    counter.reserve(limits.maxRequests);
    const counted = subchannels.countPick(result, subchannel);
    if (subchannels.refusesCallCredentials) watchCallCredentials(args.metadata);
    if (call === undefined) return counted;
    const { authorityRewrite, stats, callCredentials, perTryTimeoutMs } = call;
    if (authorityRewrite !== undefined || stats !== undefined) {
      callOfAttempt.set(args.metadata, call);
    }
    if (callCredentials === undefined && perTryTimeoutMs === undefined) return counted;
    return { ...counted, subchannel: this.adapt(counted.subchannel, subchannel, call) };
  }

  /** Returns a picked subchannel with what the call has besides. @param connection The subchannel as the child picked it. */
  private adapt(picked: Subchannel, connection: Subchannel, call: CallAttributes): Subchannel {
    const { clock, limits } = this.options;
    const { callCredentials, perTryTimeoutMs } = call;
    const { cluster } = limits;
    const limited =
      perTryTimeoutMs === undefined
        ? picked
        : loadTryTimeout().limitTry(picked, perTryTimeoutMs, cluster, clock);
    if (callCredentials === undefined) return limited;
    return addCallCredentials(limited, callCredentials, connection, cluster);
  }

  private drop(category: string | undefined, result: PickResult): PickResult {
    this.options.loads?.countDrop(category);
    return result;
  }
}
