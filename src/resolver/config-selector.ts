import type { CallConfig, ConfigSelector, Metadata } from '../grpc-js';
import type { ExceededSteps } from '../resources/matching/match-meter';
import { actionName } from '../routing/action-name';
import type { MatchedCall } from '../routing/matched-call';
import { cutText, escapeQuotes, MAX_QUOTED_LENGTH } from '../util/text';
import type { Handle } from '../util/handle';
import type { Random } from '../util/random';
import type { CompiledRoute } from './compiled-route';
import type { CallClusters } from './cluster-waits';
import type { PendingCalls } from './pending-calls';
import type { RequestHasher } from './request-hash';
import type { RouteTable } from './route-table';
import { XdsCall, type CallChannel } from './xds-call';

/** What the selectors of one channel share. */
export interface RoutingChannel extends CallChannel {
  readonly random: Random;
  readonly hasher: RequestHasher;
  readonly matched: MatchedCall;
  readonly pendingCalls: PendingCalls;
}

/** Queues the calls of a channel that has no config yet. */
export class PendingSelector implements ConfigSelector {
  constructor(private readonly channel: RoutingChannel) {}

  invoke(method: string, headers: Metadata, channelId: number): CallConfig {
    const { channel } = this;
    return channel.pendingCalls.add(channel, { method, headers, channelId });
  }

  unref(): void {}
}

/** The config of a channel that a selector chooses by. */
export interface SelectorConfig {
  readonly table: RouteTable;
  /**
   * Where the config is from. If the source has ended or failed, calls wait for a new config: a channel keeps its selector while it is
   * idle, and uses it for the first calls after that.
   */
  readonly source: { readonly isExpired: boolean };
  readonly clusters: CallClusters;
}

/** Chooses route and cluster for each call of a target (gRFC A31). */
export class XdsConfigSelector implements ConfigSelector {
  private readonly tableRef: Handle;
  /** Whether steps of matching are counted, since a call may take more than its limit. */
  private readonly isMetered: boolean;

  constructor(
    private readonly channel: RoutingChannel,
    private readonly config: SelectorConfig,
  ) {
    const { table } = config;
    this.tableRef = table.acquire();
    this.isMetered = !channel.meter.allows(table.maxSteps);
  }

  invoke(method: string, headers: Metadata, channelId: number): CallConfig {
    const { channel } = this;
    if (this.config.source.isExpired) {
      return channel.pendingCalls.add(channel, { method, headers, channelId });
    }
    channel.clock.eventLoop?.onCall();
    const call = new XdsCall(channel, method);
    this.route(call, method, headers, channelId);
    return call;
  }

  /** Routes the call, or fails it. */
  route(call: XdsCall, methodName: string, headers: Metadata, channelId: number): void {
    const { table, clusters } = this.config;
    const { matched, meter, random, hasher } = this.channel;
    const method = methodName.startsWith('/') ? methodName : `/${methodName}`;
    matched.begin(method, headers);
    if (this.isMetered) meter.begin();
    const found = table.find(matched, this.isMetered);
    const exceeded = this.isMetered ? meter.end() : undefined;
    if (found?.choice === undefined || exceeded !== undefined) {
      matched.end();
      call.failUnrouted(this.describeFailure(method, found, exceeded), found);
      return;
    }
    const { ref, filters } = found.choice.draw(random);
    const { hashPolicies: policies } = found;
    const hash =
      policies.length === 0
        ? hasher.randomHash
        : hasher.read({ policies, headers: matched, channelId });
    matched.end();
    call.routeTo(found, ref, hash);
    if (filters.length > 0) call.addFilters({ filters, method, headers, clusters });
  }

  unref(): void {
    this.tableRef.release();
  }

  private describeFailure(
    method: string,
    found: CompiledRoute | undefined,
    exceeded: ExceededSteps | undefined,
  ): string {
    const { meter } = this.channel;
    const target = escapeQuotes(this.channel.target);
    const path = escapeQuotes(cutText(method, MAX_QUOTED_LENGTH));
    if (found === undefined) {
      return `No route of ${target} matches ${path}: add one, or see why with npx grpc-xds-cli explain`;
    }
    if (exceeded === undefined)
      return `The route of ${target} for ${path} ${describeAction(found)}`;
    const reason = `${meter.describe(exceeded)}, in ${this.config.table.describePlace(found.route)}`;
    return `The route of ${target} for ${path} cannot be determined: ${reason}`;
  }
}

function describeAction({ route: { action } }: CompiledRoute): string {
  return action.kind !== 'forward'
    ? `has the action ${actionName(action)}, which a gRPC client cannot carry out: use the action route`
    : 'cannot be used';
}
