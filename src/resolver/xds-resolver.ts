import { listenerResourceName } from '../bootstrap/resource-template';
import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  statusOrFromValue,
  uriToString,
  type ChannelOptions,
  type ConfigSelector,
  type GrpcUri,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { containedSelector } from '../grpc-js/host-call';
import { FilterStates } from '../http-filters/client-filter';
import { ClusterManagerConfig, type Unresolved } from '../lb/cluster-manager/config';
import { xdsLbContextArg } from '../lb/lb-policy';
import type { LbConfig } from '../resources/extension-points';
import { clientHeaders, MatchedCall } from '../routing/matched-call';
import { PendingSelector, XdsConfigSelector, type RoutingChannel } from './config-selector';
import { ClusterWaits } from './cluster-waits';
import { PendingCalls } from './pending-calls';
import { RequestHasher } from './request-hash';
import { Resolution, type ResolutionOwner, type ResolvedConfig } from './resolution';
import type { ResolvingChannel, XdsResolverDependencies } from './resolver-dependencies';
import {
  connectionOptions,
  dataPlaneAuthority,
  parseTargetName,
  type TargetName,
} from './xds-scheme';
import type { Result } from '../util/result';
import { SettledReport } from '../util/settled-report';
import { LoggedOnce } from '../util/logged-once';
import { sanitizeText } from '../util/text';

const TRACER = 'xds_resolver';

/** The error of every call on a channel that was created before `shutdown()`. */
const SHUT_DOWN =
  'shutdown() of grpc-xds has ended this channel: call register() and create a new channel';

const NO_CLUSTERS: ReadonlyMap<string, LbConfig> = new Map();

/** Resolves `xds:` targets to a load-balancing config and a config selector (gRFCs A27, A31, A74). */
export class XdsResolver implements Resolver, ResolutionOwner {
  private resolution: Resolution | undefined;
  /** The error to report next. A result, or the start of another resolution, cancels it. */
  private errorDue: { readonly details: string } | undefined;
  /** The last result published without a config; `undefined` before the first of a resolution. */
  private unresolved: Unresolved | undefined;
  private readonly pendingCalls: PendingCalls;
  /** The failures logged since there was a config, so that each is logged once. */
  private readonly loggedFailures = new LoggedOnce();
  /** The failure of a config that was in use, until it is logged. */
  private readonly settled: SettledReport;
  private readonly channel: RoutingChannel;
  private readonly name: Result<TargetName, string>;
  /** The target as a URI. */
  private readonly uri: string;
  private readonly connectionOptions: ChannelOptions;
  private readonly resolving: ResolvingChannel;

  constructor(
    private readonly target: GrpcUri,
    private readonly listener: ResolverListener,
    private readonly options: ChannelOptions,
    private readonly shared: XdsResolverDependencies,
  ) {
    this.settled = new SettledReport(shared.clock);
    this.name = parseTargetName(target);
    this.uri = uriToString(target);
    this.connectionOptions = connectionOptions(target, options);
    this.pendingCalls = new PendingCalls({
      clock: shared.clock,
      waitingFor: (atMost) => this.resolution?.waitingFor(atMost) ?? [],
      pickAgain: () => this.resolution?.publishAgain(),
      hurry: () => this.resolution?.clusters.hurry(),
    });
    this.resolving = { target: this.uri, reasons: () => this.pendingCalls.reasons() };
    this.channel = this.createChannel();
  }

  updateResolution(): void {
    if (this.resolution === undefined) this.start();
    else this.resolution.requestReresolution();
  }

  destroy(): void {
    const { resolution } = this;
    this.shared.shutdown?.removeEventListener('abort', this.onShutdown);
    this.shared.liveResolutions.channels.delete(this.resolving);
    this.errorDue = undefined;
    this.settled.cancel();
    this.unresolved = undefined;
    const reason = 'The channel was closed before the call was sent';
    this.pendingCalls.failAll(reason);
    this.channel.clusterWaits.failAll(reason);
    this.resolution = undefined;
    resolution?.close();
  }

  publish({ table, lbConfig, lbContext, failure }: ResolvedConfig): boolean {
    const { resolution } = this;
    if (resolution === undefined) return false;
    this.errorDue = undefined;
    if (failure === undefined) this.logRecovery();
    const selector = new XdsConfigSelector(this.channel, {
      table,
      source: resolution,
      clusters: lbContext.clusters,
    });
    let isAccepted = false;
    try {
      isAccepted = this.notify(selector, lbConfig, xdsLbContextArg(lbContext), failure);
    } finally {
      // The channel did not take the selector and will not release it.
      if (!isAccepted) selector.unref();
    }
    if (isAccepted && failure === undefined) this.pendingCalls.routeBy(selector);
    else if (isAccepted && failure !== undefined) this.pendingCalls.fail(failure);
    return isAccepted;
  }

  onFailure(details: string, isLogged: boolean): void {
    this.trace(() => `cannot be used: ${details}`);
    const level = isLogged ? 'info' : 'error';
    if (this.resolution?.hasConfig === true) {
      this.settled.schedule(() => this.logFailure(details, level));
    } else {
      this.reportError(details, level);
    }
  }

  private start(): void {
    const { shutdown, liveResolutions } = this.shared;
    liveResolutions.channels.add(this.resolving);
    if (shutdown?.aborted === true) {
      this.end();
      return;
    }
    shutdown?.addEventListener('abort', this.onShutdown);
    this.errorDue = undefined;
    this.pendingCalls.begin();
    if (this.unresolved === undefined) this.publishUnresolved(undefined);
    // The application may have closed the channel when it changed its state.
    if (this.unresolved === undefined) return;
    const bootstrap = this.shared.loadBootstrap();
    if (!bootstrap.ok) {
      this.reportError(bootstrap.error.message);
      return;
    }
    const { name } = this;
    const listenerName = name.ok ? listenerResourceName(bootstrap.value, name.value) : name;
    if (!listenerName.ok) {
      this.reportError(listenerName.error);
      return;
    }
    this.trace(() => `resolving through Listener ${listenerName.value}`);
    if (this.unresolved.error !== undefined) this.publishUnresolved(undefined);
    this.resolution = new Resolution({
      bootstrap: bootstrap.value,
      target: this.uri,
      listenerName: listenerName.value,
      host: dataPlaneAuthority(this.target, this.options),
      channelOptions: this.options,
      stats: this.channel.stats,
      rates: this.channel.rates,
      shared: this.shared,
      owner: this,
    });
    this.resolution.start();
  }

  private readonly onShutdown = () => this.end();

  /** Handles `shutdown()` of the package: fails every call, now and later, and releases the resolution. */
  private end(): void {
    const { resolution } = this;
    this.errorDue = undefined;
    this.settled.cancel();
    this.resolution = undefined;
    this.pendingCalls.end(SHUT_DOWN);
    this.channel.clusterWaits.failAll(SHUT_DOWN);
    this.publishUnresolved(SHUT_DOWN, true);
    resolution?.close();
  }

  /**
   * Gives the channel a config selector that queues calls, and a state: CONNECTING, or TRANSIENT_FAILURE with an error.
   * Left to the channel, calls would wait there, and their status could not say for what.
   */
  private publishUnresolved(error: string | undefined, isFinal = false): void {
    this.unresolved = { error, isFinal };
    const lbConfig = new ClusterManagerConfig(NO_CLUSTERS, this.unresolved);
    this.notify(new PendingSelector(this.channel), lbConfig, {}, error);
  }

  /** @returns Whether the channel accepted the result. */
  private notify(
    selector: ConfigSelector,
    lbConfig: LbConfig,
    args: ChannelOptions,
    note: string | undefined,
  ): boolean {
    return this.listener(
      statusOrFromValue([]),
      {
        [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: containedSelector(selector),
        ...this.connectionOptions,
        ...args,
      },
      statusOrFromValue({
        loadBalancingConfig: [{ [lbConfig.policyName]: lbConfig }],
        methodConfig: [],
      }),
      note ?? '',
    );
  }

  private createChannel(): RoutingChannel {
    const { clock, logger, meter, random, stats, rates, hash, limits } = this.shared;
    const { uri: target, pendingCalls } = this;
    return {
      clock,
      logger,
      meter,
      random,
      target,
      pendingCalls,
      filterStates: new FilterStates(),
      clusterWaits: new ClusterWaits(clock),
      attemptsLimit: this.options['grpc-node.retry_max_attempts_limit'],
      origin: () => this.resolution?.origin,
      hasher: new RequestHasher({ target, hash, random, meter, limits }),
      matched: new MatchedCall(random, clientHeaders, meter),
      stats: stats?.forChannel(target, logger),
      ...(rates && { rates: rates.channel(target) }),
    };
  }

  /** Reports an error to the channel when the current stack has unwound, and logs it. */
  private reportError(text: string, level: 'info' | 'error' = 'error'): void {
    // Of the bootstrap: it has paths and names of others.
    const details = sanitizeText(text);
    const due = { details };
    this.errorDue = due;
    this.shared.clock.soon(() => {
      if (this.errorDue !== due) return;
      this.errorDue = undefined;
      this.logFailure(details, level);
      this.pendingCalls.fail(details);
      if (this.unresolved?.error !== details) this.publishUnresolved(details);
    });
  }

  private logFailure(details: string, level: 'info' | 'error'): void {
    if (!this.loggedFailures.isFirst(details)) return;
    this.shared.logger[level](() => `${this.uri}: no configuration: ${details}`, {
      event: 'config-failed',
      target: this.uri,
      error: details,
    });
  }

  private logRecovery(): void {
    const { loggedFailures, shared, uri: target } = this;
    this.settled.cancel();
    if (!loggedFailures.clear()) return;
    shared.logger.info(() => `${target}: configured again`, { event: 'config-recovered', target });
  }

  private trace(text: () => string): void {
    this.shared.logger.trace(TRACER, () => `${this.uri} ${text()}`);
  }
}
