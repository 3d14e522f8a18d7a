import {
  Metadata,
  PickResultType,
  Status,
  type CallCredentials,
  type Filter,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import { ContainedFilter, HostCall, rejectWith } from '../grpc-js/host-call';
import { deadlineOf, routed } from '../grpc-js/routed-call';
import type { AuthorityRewrite, CallAttributes, Mirror, OverrideHost } from '../lb/call-attributes';
import type * as Stats from '../observe/stats/call-stats';
import type { CallStats } from '../observe/stats/call-stats';
import type { ChannelRates } from '../observe/rates/process-rates';
import type { RatedCall } from '../observe/rates/target-rates';
import type { Clock } from '../util/clock';
import { lazy } from '../util/lazy';
import { Attempts } from './attempts';
import type { CallFilters, CallFiltersOptions, FilterChannel, FilteredCall } from './call-filters';
import type { ClusterRef, ActiveCluster } from './cluster-refs';
import type { CompiledRoute } from './compiled-route';
import type * as UncommonCalls from './uncommon-calls';
import type { PendingHash } from './request-hash';
import { explainStatus, nameOrigin, type Origin } from './status-explanation';

/** Loaded for the first observed call. */
const loadStats = lazy<typeof Stats>(() => require('../observe/stats/call-stats'));
/** Not what a failed call needs: a process may fail for want of file descriptors. */
export const loadUncommon = lazy<typeof UncommonCalls>(() => require('./uncommon-calls'));

const { COMPLETE, DROP } = PickResultType;

/** What the calls of one channel share. */
export interface CallChannel extends FilterChannel {
  readonly clock: Clock;
  /** Counts the calls of the target while a page is served. Default: nothing does. */
  readonly rates?: ChannelRates;
  /** Returns where the config in use is from; `undefined` if there is none. Default: it is not known. */
  readonly origin?: () => Origin | undefined;
  /** The largest number of attempts of a call. Default: that of grpc-js. */
  readonly attemptsLimit?: number | undefined;
}

type Sent = ReturnType<Filter['sendMessage']>;

/**
 * One call of a channel. One object serves as call config, filter and attributes for pickers: fewer allocations for each call. What few
 * calls have is in members of its own: filters, and what is known of several attempts.
 *
 * The reference to its cluster is released when the call is committed, or else when it has ended: grpc-js ends
 * calls without committing them when a filter rejects them, when they are cancelled early, or while they wait to be
 * retried (gRFC A31).
 */
export class XdsCall extends HostCall implements CallAttributes, FilteredCall {
  /** Empty before the call is routed. */
  cluster = '';
  authorityRewrite: AuthorityRewrite | undefined = undefined;
  perTryTimeoutMs: number | undefined = undefined;
  mirrors: readonly Mirror[] | undefined = undefined;
  overrideHost: OverrideHost | undefined = undefined;
  callCredentials: CallCredentials | undefined = undefined;
  /** `undefined` if no plugin observes the call. */
  readonly stats: CallStats | undefined;
  /** `undefined` if calls are not counted. */
  private readonly rated: RatedCall | undefined;
  /** The call of grpc-js, if calls are shown. */
  private readonly host = routed.call;
  /** Whether the call has a reference to its cluster: from when it is routed until it is committed. */
  private holdsCluster = false;
  private route: CompiledRoute | undefined = undefined;
  private target: ActiveCluster | undefined = undefined;
  private hash: PendingHash | bigint = 0n;
  private filters: CallFilters | undefined = undefined;
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
    protected readonly channel: CallChannel,
    readonly method: string,
  ) {
    super();
    const tracer = channel.stats?.startCall(method);
    this.stats = tracer && new (loadStats().CallStats)(tracer, channel.clock);
    this.rated = channel.rates?.current?.startCall(channel.clock);
  }

  /** The name of the cluster itself. */
  get clusterName(): string {
    return this.target?.cluster ?? '';
  }

  /** Routes the call, and acquires a reference to the cluster. */
  routeTo(route: CompiledRoute, { target }: ClusterRef, hash: PendingHash): void {
    target.acquire();
    this.holdsCluster = true;
    this.route = route;
    this.methodConfig = route.methodConfig;
    this.authorityRewrite = route.authorityRewrite;
    this.perTryTimeoutMs = route.retryPolicy?.perTryTimeoutMs;
    this.mirrors = route.mirrors;
    this.target = target;
    this.cluster = target.childName;
    this.hash = hash;
    this.rated?.onRouted(route.key, target.cluster);
  }

  /** Creates the HTTP filters of a call that is routed. */
  addFilters(options: CallFiltersOptions): void {
    this.filters = new (loadUncommon().CallFilters)(this, this.channel, options);
  }

  /**
   * Fails the call with UNAVAILABLE, since it cannot be routed. The status of a call config would reach the application
   * with a fixed text instead.
   */
  fail(details: string): void {
    this.unrouted = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
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
    if (this.unrouted && origin) {
      this.unrouted = nameOrigin(this.unrouted, origin);
    }
  }

  /** Sends a call whose filters run to another cluster of its route. @param name Such as `cluster:foo`. */
  chooseCluster(name: string): boolean {
    const { route, target } = this;
    if (name === this.cluster) return true;
    const other = route?.choice?.find(name)?.ref;
    // The route may have been removed before the filter's choice, and the cluster with it.
    if (!this.holdsCluster || other === undefined || other.isReleased) return false;
    other.target.acquire();
    this.target = other.target;
    this.cluster = name;
    this.rated?.onMoved(other.cluster);
    target?.release();
    return true;
  }

  startChild<T>(start: (deadlineMs: number) => T): T {
    const run = () => start(this.deadlineMs);
    return this.stats === undefined ? run() : this.stats.run(run);
  }

  /** Milliseconds since 1970; `Infinity` if the call has no deadline, or it is not known. */
  protected get deadlineMs(): number {
    return deadlineOf(this.host);
  }

  requestHash(): bigint {
    const { hash } = this;
    return typeof hash === 'bigint' ? hash : (this.hash = hash.compute());
  }

  onPick(result: PickResult): PickResult {
    const { pickResultType: type } = result;
    if (type === COMPLETE) {
      if (this.picked !== undefined) {
        (this.attempts ??= new Attempts(this.picked)).add(result);
      }
      this.picked = result;
    } else if (type !== DROP) {
      this.notPicked = result;
    }
    return result;
  }

  override createFilter(): Filter {
    const passes = this.filters === undefined && this.unrouted === undefined;
    return passes ? this : new CallFilter(this);
  }

  /** Returns the headers when the HTTP filters have passed them; rejected if the call cannot be routed. */
  filterHeaders(headers: Promise<Metadata>): Promise<Metadata> {
    if (this.unrouted !== undefined) return rejectWith(this.unrouted);
    return this.filters === undefined ? headers : this.filters.sendMetadata(headers);
  }

  /** The HTTP filters of the call; `undefined` if it has none, or is not routed yet. */
  get httpFilters(): CallFilters | undefined {
    return this.filters;
  }

  /** Called when the call is committed, and by the end of the call, which may come without it. */
  protected override commit(): void {
    if (!this.holdsCluster) return;
    this.holdsCluster = false;
    this.target?.release();
  }

  override end(status: StatusObject): StatusObject {
    let shown = this.filters === undefined ? status : this.filters.end(status);
    this.commit();
    this.hasEnded = true;
    if (shown.code !== Status.OK) shown = this.explain(shown);
    this.stats?.end(shown.code, shown.details);
    this.rated?.end(shown.code);
    return shown;
  }

  /** The timeout that a deadline may have been the end of. */
  protected get routeTimeoutMs(): number | undefined {
    return this.route?.timeoutMs;
  }

  /** Returns the status with what is known of its cause. */
  protected explain(status: StatusObject): StatusObject {
    const { channel, target, notPicked, picked, attempts, filters } = this;
    return explainStatus(status, {
      cluster: target?.cluster,
      notPicked,
      picked,
      attempts,
      hasFilters: filters !== undefined,
      retryPolicy: this.methodConfig.retryPolicy,
      routeTimeoutMs: this.routeTimeoutMs,
      channel,
    });
  }
}

/** The filter of a call that waits for its route, has none, or passes HTTP filters. */
export class CallFilter extends ContainedFilter {
  constructor(private readonly call: XdsCall) {
    super();
  }

  protected override filterRequestHeaders(headers: Promise<Metadata>): Promise<Metadata> {
    return this.call.filterHeaders(headers);
  }

  protected override filterResponseHeaders(headers: Metadata): Metadata {
    return this.call.httpFilters?.receiveMetadata(headers) ?? headers;
  }

  protected override filterRequestMessage(message: Sent): Sent {
    const { call } = this;
    return call.httpFilters?.sendMessage(message) ?? call.sendMessage(message);
  }

  protected override filterResponseMessage(message: Promise<Buffer>): Promise<Buffer> {
    return this.call.httpFilters?.receiveMessage(message) ?? message;
  }

  protected override filterStatus(status: StatusObject): StatusObject {
    return this.call.end(status);
  }
}
