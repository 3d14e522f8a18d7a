import {
  PickResultType,
  Status,
  type PickArgs,
  type Picker,
  type PickResult,
  type Subchannel,
} from '../../grpc-js';
import { watchCallCredentials } from '../../grpc-js/call-metadata';
import type { Random } from '../../util/random';
import { callAttributes, type AuthorityRewrite } from '../call-attributes';
import {
  createDropResult,
  describeWait,
  withClusterName,
  type DescribedPicker,
} from '../connectivity';
import { addCallCredentials, type CountedSubchannels } from './counted-subchannels';
import type { DropCounter } from './cluster-loads';
import type { ClusterImplOptions } from './config';
import { MILLION } from '../../resources/matching/fraction-parser';
import { toAuthority } from '../../bootstrap/resource-template';
import { FailedCall } from '../../grpc-js/subchannel-wrappers';
import type { InterceptedSubchannel } from '../../grpc-js/subchannel-wrappers';
import { checkAuthority } from '../../security/client/connection-security';
import { AddressIndex } from '../endpoints/endpoint-index';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { quoteName } from '../../util/text';

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
  private result: PickResult | undefined;

  constructor(private readonly options: ClusterImplOptions) {
    const { cluster } = options;
    this.drops = options.drops
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

  get cluster(): string {
    return this.options.cluster;
  }

  get maxRequests(): number {
    return this.options.maxRequests;
  }

  /** The result of a pick over the limit. Created for the first. */
  get overLimit(): PickResult {
    const { cluster, maxRequests } = this.options;
    return (this.result ??= createDropResult(
      Status.UNAVAILABLE,
      `Cluster ${quoteName(cluster)} has reached its limit of ${maxRequests} concurrent requests: see max_requests of its circuit breakers`,
    ));
  }
}

export interface ClusterImplPickerOptions {
  readonly child: Picker;
  readonly limits: CallLimits;
  readonly subchannels: CountedSubchannels;
  /** Counts drops; `undefined` if no load is reported, and no plugin counts them. */
  readonly loads: DropCounter | undefined;
  readonly rewriter: AuthorityRewriter;
  /**
   * Whether the child is READY. If not, no category applies: a queued call is picked with every new picker, and would be
   * dropped much more often than configured.
   */
  readonly isReady: boolean;
  readonly random: Random;
}

/** Drops calls by category, then those over the limit, and forwards the others to the child (gRFC A32). */
export class ClusterImplPicker implements DescribedPicker {
  constructor(private readonly options: ClusterImplPickerOptions) {}

  describeWait(): string | undefined {
    return describeWait(this.options.child);
  }

  pick(args: PickArgs): PickResult {
    const { child, limits, subchannels, loads, rewriter, isReady, random } = this.options;
    if (isReady) {
      for (const { category, perMillion, result } of limits.drops) {
        if (random() * MILLION >= perMillion) continue;
        loads?.countDrop(category);
        return result;
      }
    }
    const { counter } = subchannels;
    if (counter.count >= limits.maxRequests) {
      loads?.countDrop(undefined);
      return limits.overLimit;
    }
    const result = child.pick(args);
    const { subchannel } = result;
    if (result.pickResultType !== PickResultType.COMPLETE || subchannel === null) {
      return withClusterName(result, limits.cluster);
    }
    counter.reserve(limits.maxRequests);
    const counted = subchannels.countPick(result, subchannel);
    if (subchannels.refusesCallCredentials) watchCallCredentials(args.metadata);
    const attributes = callAttributes(args);
    const credentials = attributes?.callCredentials;
    const rewrite = attributes?.authorityRewrite;
    if (rewrite === undefined && credentials === undefined) return counted;
    const picked = counted.subchannel;
    const rewritten = rewrite === undefined ? picked : rewriter.rewrite(picked, rewrite);
    return {
      ...counted,
      subchannel: credentials
        ? addCallCredentials(rewritten, credentials, subchannel, limits.cluster)
        : rewritten,
    };
  }
}

/** The longest authority that is sent. With headers beyond its own limit, a server closes the connection. */
const MAX_LENGTH = 1024;

/** Rewrites the authority of calls to one cluster (gRFCs A81, A111). Its index exists once a route needs hostnames. */
export class AuthorityRewriter {
  private index: AddressIndex | undefined;
  private endpoints: EndpointSet | undefined;

  /** Sets the endpoints of the cluster. They are indexed when a call needs a hostname. */
  update(endpoints: EndpointSet): void {
    this.endpoints = endpoints;
  }

  /** Returns the subchannel to pick for a call whose route rewrites the authority. */
  rewrite(
    picked: InterceptedSubchannel,
    { authority, defaultAuthority }: AuthorityRewrite,
  ): Subchannel {
    const rewritten = authority === '' ? this.hostnameOf(picked) : authority;
    if (rewritten === '') return picked;
    return picked.withCreateCall((metadata, host, method, listener, callId) => {
      const connection = picked.getRealSubchannel();
      // Set by the application for this call.
      if (toAuthority(host) !== defaultAuthority) {
        return connection.createCall(metadata, host, method, listener, callId);
      }
      const details = checkRewrite(rewritten, picked.wrapped);
      return details === undefined
        ? connection.createCall(metadata, rewritten, method, listener, callId)
        : new FailedCall({ code: Status.UNAVAILABLE, details }, listener, callId);
    });
  }

  private hostnameOf(subchannel: Subchannel): string {
    const { endpoints } = this;
    if (endpoints === undefined) return '';
    this.index ??= new AddressIndex();
    const hostname = this.index.findIn(endpoints, subchannel.getAddress())?.hostname ?? '';
    return hostname.length > MAX_LENGTH ? hostname : toAuthority(hostname);
  }
}

/** @returns Why an authority must not be sent; `undefined` if it may. */
function checkRewrite(authority: string, subchannel: Subchannel): string | undefined {
  const { length } = authority;
  return length > MAX_LENGTH
    ? `the route changed the authority to one of ${length} characters: it may have ${MAX_LENGTH}`
    : checkAuthority(authority, subchannel);
}
