import {
  Metadata,
  PickResultType,
  Status,
  toPickInformation,
  type CallConfig,
  type CallCredentials,
  type Filter,
  type MethodConfig,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import { connectionSilenceMs } from '../grpc-js/connection-silence';
import { ContainedFilter, rejectWith, runContained } from '../grpc-js/host-callbacks';
import type { AuthorityRewrite, CallAttributes, OverrideHost } from '../lb/call-attributes';
import type * as Stats from '../observe/stats/call-stats';
import type { CallStats } from '../observe/stats/call-stats';
import type { ChannelRates } from '../observe/rates/process-rates';
import type { RatedCall } from '../observe/rates/target-rates';
import type { ChannelStats } from '../observe/stats/stats-plugin';
import type { Clock } from '../util/clock';
import { late } from '../util/late';
import {
  CallFilters,
  type CallFiltersOptions,
  type FilterChannel,
  type FilteredCall,
} from './call-filters';
import type { ClusterRef, ReferencedCluster } from './cluster-refs';
import type { CompiledRoute } from './compiled-route';
import {
  explainBlock,
  explainDeadline,
  explainPending,
  IN_FILTERS,
  nameConfigurationTime,
  nameRouteTimeout,
} from './deadline-status';
import type { PendingHash } from './request-hash';
import { Attempts, describeAttemptsLimit } from './attempts';
import { RouteDeadline } from './route-deadline';
import { namesCause, nameOrigin, namesCluster, type Origin } from './status-origin';

/** Loaded for the first observed call. */
const loadStats = late<typeof Stats>(() => require('../observe/stats/call-stats'));

const NO_CONFIG: MethodConfig = { name: [] };
const CANCELLED = {
  code: Status.CANCELLED,
  details: 'The call has ended',
  metadata: new Metadata(),
};

/** What the calls of one channel share. */
export interface CallChannel extends FilterChannel {
  readonly clock: Clock;
  /** `undefined` if no plugin observes the channel. */
  readonly stats: ChannelStats | undefined;
  /** Counts the calls of the target while a page is served. Default: nothing does. */
  readonly rates?: ChannelRates;
  /** Returns where the config in use is from; `undefined` if there is none. Default: it is not known. */
  readonly origin?: () => Origin | undefined;
  /** The largest number of attempts of a call. Default: that of grpc-js. */
  readonly attemptsLimit?: number;
}

/** Manages the calls that are pending. */
export interface PendingOwner {
  /** Returns why a call is still pending, as sentences. */
  reasons(): readonly string[];
  /** Called when a call has ended, possibly before it was routed. */
  onEnded(call: XdsCall): void;
  /** Called when the timeout of the route has passed and a call waits for a pick. */
  onDeadline(): void;
}

/**
 * - `pending`: without a route
 * - `routed`: with a route, and a reference to its cluster
 * - `picked`: committed, without the reference
 * - `ended`
 */
type CallState = 'pending' | 'routed' | 'picked' | 'ended';

type Sent = ReturnType<Filter['sendMessage']>;

/**
 * One call of a channel. The call config, the factory it names, the filter that factory creates and the attributes that
 * pickers read are this one object, because a call that costs a few microseconds should not leave a dozen objects behind.
 * What few calls have is in members of its own: filters, and what a call needs that was pending.
 *
 * The reference to its cluster is released when the call is committed, or else when it has ended: the host library ends
 * calls without committing them when a filter rejects them, when they are cancelled early, or while they wait to be
 * retried (gRFC A31).
 */
export class XdsCall extends ContainedFilter implements CallConfig, CallAttributes, FilteredCall {
  /** `undefined` if no plugin observes the call. It is notified of the end here, which saves a filter. */
  readonly stats: CallStats | undefined;
  /** `undefined` if calls are not counted. */
  private readonly rated: RatedCall | undefined;
  private state: CallState = 'pending';
  private route: CompiledRoute | undefined = undefined;
  private target: ReferencedCluster | undefined = undefined;
  private hash: PendingHash | bigint = 0n;
  private filters: CallFilters | undefined = undefined;
  private pending: PendingPart | undefined = undefined;
  /** The status of a call that cannot be routed. */
  private unrouted: StatusObject | undefined = undefined;
  /** The last pick without a connection. */
  private notPicked: PickResult | undefined = undefined;
  /** The last pick with a connection. */
  private picked: PickResult | undefined = undefined;
  /** Of a call with more than one attempt. */
  private attempts: Attempts | undefined = undefined;

  /** Plugins observe a call from the moment at which the channel requests a config for it (gRFC A66). */
  constructor(
    private readonly channel: CallChannel,
    method: string,
  ) {
    super();
    const tracer = channel.stats?.startCall(method);
    this.stats = tracer && new (loadStats().CallStats)(tracer, channel.clock);
    this.rated = channel.rates?.current?.startCall(channel.clock);
  }

  get status(): Status {
    return Status.OK;
  }

  get methodConfig(): MethodConfig {
    return (this.pending ?? this.route)?.methodConfig ?? NO_CONFIG;
  }

  get pickInformation(): CallConfig['pickInformation'] {
    return toPickInformation(this);
  }

  get dynamicFilterFactories(): CallConfig['dynamicFilterFactories'] {
    return [this];
  }

  /** Empty before the call is routed. */
  get cluster(): string {
    return this.target?.childName ?? '';
  }

  /** The name of the cluster itself. */
  get clusterName(): string {
    return this.target?.cluster ?? '';
  }

  get authorityRewrite(): AuthorityRewrite | undefined {
    return this.route?.authorityRewrite;
  }

  get overrideHost(): OverrideHost | undefined {
    return this.filters?.overrideHost;
  }

  get callCredentials(): CallCredentials | undefined {
    return this.filters?.callCredentials;
  }

  get endedPick(): PickResult | undefined {
    return this.pending?.deadline?.endedPick;
  }

  /** Makes the call pending until it is routed or fails. */
  wait(owner: PendingOwner): void {
    this.pending = new PendingPart(this.channel.clock, owner);
    if (this.stats !== undefined) this.stats.wasResolutionDelayed = true;
  }

  /** Routes the call, and acquires a reference to the cluster. */
  routeTo(route: CompiledRoute, { target }: ClusterRef, hash: PendingHash): void {
    target.acquire();
    this.state = 'routed';
    this.route = route;
    this.target = target;
    this.hash = hash;
    this.rated?.onRouted(route.key, target.cluster);
    this.pending?.begin(route);
  }

  /** Creates the HTTP filters of a call that is routed. */
  addFilters(options: CallFiltersOptions): void {
    this.filters = new CallFilters(this, this.channel, options);
  }

  /**
   * Fails the call with UNAVAILABLE, since it cannot be routed. The status of a call config would reach the application
   * with a fixed text instead.
   */
  fail(details: string): void {
    this.unrouted = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
    this.pending?.decide();
  }

  /**
   * Fails a call for which the config in use has no route: the status names where that is from, also of a pending call.
   *
   * @param route The one that matches, if calls that match it must fail.
   */
  failUnrouted(details: string, route?: CompiledRoute): void {
    this.fail(details);
    if (route !== undefined) this.rated?.onRouted(route.key);
    const origin = this.channel.origin?.();
    if (this.unrouted && origin) this.unrouted = nameOrigin(this.unrouted, origin);
  }

  /** Sends a call whose filters run to another cluster of its route. @param name Such as `cluster:foo`. */
  chooseCluster(name: string): boolean {
    const { route, target } = this;
    if (name === this.cluster) return true;
    const other = route?.choice?.find(name)?.ref;
    // The route may have been removed before the filter's choice, and the cluster with it.
    if (this.state !== 'routed' || other === undefined || other.isReleased) return false;
    other.target.acquire();
    this.target = other.target;
    this.rated?.onMoved(other.cluster);
    target?.release();
    return true;
  }

  requestHash(): bigint {
    const { hash } = this;
    return typeof hash === 'bigint' ? hash : (this.hash = hash.compute());
  }

  onPick(result: PickResult): PickResult {
    const { pickResultType: type } = result;
    if (type === PickResultType.COMPLETE) this.onAttempt(result);
    else if (type !== PickResultType.DROP) this.notPicked = result;
    return this.pending === undefined ? result : this.pending.limit(result);
  }

  private onAttempt(result: PickResult): void {
    if (this.picked !== undefined) (this.attempts ??= new Attempts(this.picked)).add(result);
    this.picked = result;
  }

  onCommitted(): void {
    runContained('the commit of a call', () => this.commit());
  }

  /** Called when the call is committed, and by the end of the call, which may come without it. */
  private commit(): void {
    if (this.state !== 'routed') return;
    this.state = 'picked';
    this.target?.release();
  }

  protected override filterRequestHeaders(headers: Promise<Metadata>): Promise<Metadata> {
    const { pending } = this;
    return pending === undefined
      ? this.filterMetadata(headers)
      : pending.whenDecided(() => this.filterMetadata(headers));
  }

  protected override filterResponseHeaders(metadata: Metadata): Metadata {
    return this.filters === undefined ? metadata : this.filters.receiveMetadata(metadata);
  }

  /** The host goes on to send a call that was cancelled before it was sent; its first message ends it here. */
  protected override filterRequestMessage(message: Sent): Sent {
    if (this.filters !== undefined) return this.filters.sendMessage(message);
    return this.state === 'ended' ? rejectWith(CANCELLED) : message;
  }

  protected override filterResponseMessage(message: Promise<Buffer>): Promise<Buffer> {
    return this.filters === undefined ? message : this.filters.receiveMessage(message);
  }

  protected override filterStatus(status: StatusObject): StatusObject {
    const { pending, filters, stats } = this;
    let shown = status;
    if (pending !== undefined) {
      pending.owner.onEnded(this);
      shown = pending.end(shown);
    }
    if (filters !== undefined) shown = filters.end(shown);
    this.commit();
    this.state = 'ended';
    if (shown.code !== Status.OK) shown = this.explain(shown);
    stats?.end(shown.code, shown.details);
    this.rated?.end(shown.code);
    return shown;
  }

  private filterMetadata(headers: Promise<Metadata>): Promise<Metadata> {
    if (this.unrouted !== undefined) return rejectWith(this.unrouted);
    return this.filters === undefined ? headers : this.filters.sendMetadata(headers);
  }

  /** Returns the status with what is known of its cause. */
  private explain(status: StatusObject): StatusObject {
    const { target, pending, notPicked, attempts } = this;
    const { eventLoop } = this.channel.clock;
    if (target !== undefined) {
      const { cluster } = target;
      const silenceMs = () => this.silenceMs();
      // Of a call that was pending, the deadline names itself.
      const timeoutMs = pending === undefined ? this.route?.timeoutMs : undefined;
      const named = nameRouteTimeout(status, timeoutMs);
      const explained = explainDeadline(named, { cluster, notPicked, eventLoop, silenceMs });
      const { retryPolicy } = this.methodConfig;
      // Without a policy the host library retries once what no server has seen (gRFC A6).
      if (attempts === undefined || retryPolicy === undefined) return this.nameOrigin(explained);
      const limit = describeAttemptsLimit(retryPolicy.maxAttempts, this.channel.attemptsLimit);
      return this.nameOrigin(attempts.explain(explained, cluster, limit));
    }
    if (pending === undefined) return this.nameOrigin(status);
    return explainBlock(
      explainPending(status, () => pending.owner.reasons()),
      eventLoop,
    );
  }

  private silenceMs(): number | undefined {
    const { subchannel } = this.picked ?? {};
    if (!subchannel) return undefined;
    return connectionSilenceMs(subchannel, this.channel.clock.monotonicMs());
  }

  /** Returns the status with where the config is from, unless the server of the call or the application has ended it. */
  private nameOrigin(status: StatusObject): StatusObject {
    const { target, picked, filters } = this;
    let isOwn = status.code !== Status.CANCELLED;
    if (picked !== undefined) isOwn = target !== undefined && namesCluster(status, target.cluster);
    else if (filters !== undefined) isOwn &&= namesCause(status);
    const origin = isOwn ? this.channel.origin?.() : undefined;
    return origin === undefined ? status : nameOrigin(status, origin);
  }
}

/** What a call has that was pending before it was routed, also afterwards. */
class PendingPart {
  /** Completed when the call is routed. The host library reads the retry policy when it sends the call. */
  readonly methodConfig: MethodConfig = { name: [] };
  deadline: RouteDeadline | undefined;
  /** Ends the time in which the call is pending. */
  decide: () => void = () => {};
  private readonly startMs: number;
  private readonly decided: Promise<void>;
  /** Ends the filters when the deadline passes. */
  private failOnDeadline: (status: object) => void = () => {};
  /** Whether the last pick gave no connection. */
  private isQueued = false;

  constructor(
    private readonly clock: Clock,
    readonly owner: PendingOwner,
  ) {
    this.startMs = clock.monotonicMs();
    this.decided = new Promise((resolve) => {
      this.decide = resolve;
    });
  }

  /** Goes on with the call when it was routed, or fails: with its headers, until the deadline. */
  whenDecided(filter: () => Promise<Metadata>): Promise<Metadata> {
    return this.decided.then(() => {
      if (this.deadline === undefined) return filter();
      return new Promise((resolve, reject) => {
        this.failOnDeadline = reject;
        filter().then(resolve, reject);
      });
    });
  }

  /** Applies the retry policy and the timeout of the route. */
  begin({ timeoutMs, retryPolicy, methodConfig }: CompiledRoute): void {
    const { clock, startMs } = this;
    if (methodConfig.retryPolicy !== undefined) {
      this.methodConfig.retryPolicy = methodConfig.retryPolicy;
    }
    if (timeoutMs !== undefined) {
      const onPassed = () => this.onDeadline();
      this.deadline = new RouteDeadline({ clock, startMs, timeoutMs, retryPolicy, onPassed });
    }
    this.decide();
  }

  /** Returns a pick that takes account of the deadline. */
  limit(result: PickResult): PickResult {
    this.isQueued = result.pickResultType !== PickResultType.COMPLETE;
    return this.deadline?.limit(result) ?? result;
  }

  /** Ends the deadline. @returns the status, which names the time in which the call was pending. */
  end(status: StatusObject): StatusObject {
    return nameConfigurationTime(this.deadline?.end(status) ?? status);
  }

  private onDeadline(): void {
    if (this.deadline !== undefined) this.failOnDeadline(this.deadline.status(IN_FILTERS));
    if (this.isQueued) this.owner.onDeadline();
  }
}
