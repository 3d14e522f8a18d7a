import { listenerResourceName } from '../bootstrap/resource-template';
import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  Metadata,
  Status,
  statusOrFromError,
  statusOrFromValue,
  uriToString,
  type ChannelOptions,
  type GrpcUri,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { FilterStates } from '../http-filters/filter-states';
import { xdsLbContextArg } from '../lb/tree/xds-lb-context-arg';
import { XdsConfigSelector } from './config-selector';
import { ExpiringSelector, PendingCalls } from './pending-calls';
import {
  Resolution,
  type ResolutionOwner,
  type ResolvedConfig,
  type XdsResolverDependencies,
} from './resolution';
import { dataPlaneAuthority, parseTargetName, type TargetName } from './xds-scheme';

const TRACER = 'xds_resolver';

/** Maximum number of pending resources in the status of a call whose deadline has passed. */
const MAX_LISTED_WAITS = 3;

/** Bounds the memory of errors with varying details. */
const MAX_REMEMBERED_FAILURES = 100;

/** Resolves `xds:` targets to a load-balancing config and a config selector (gRFCs A27, A31, A74). */
export class XdsResolver implements Resolver, ResolutionOwner {
  private resolution: Resolution | undefined;
  /** The error to report next. A result, or the start of another resolution, cancels it. */
  private errorDue: { readonly details: string } | undefined;
  private readonly pendingCalls: PendingCalls;
  /** The failures logged since there was a config, so that each is logged once. */
  private readonly loggedFailures = new Set<string>();
  private readonly filterStates = new FilterStates();
  private readonly name: TargetName;
  /** The target as a URI. */
  private readonly uri: string;

  constructor(
    private readonly target: GrpcUri,
    private readonly listener: ResolverListener,
    private readonly options: ChannelOptions,
    private readonly shared: XdsResolverDependencies,
  ) {
    this.name = parseTargetName(target);
    this.uri = uriToString(target);
    this.pendingCalls = new PendingCalls(
      () => this.resolution?.waitingFor(MAX_LISTED_WAITS) ?? [],
      shared.clock,
    );
  }

  updateResolution(): void {
    const { resolution } = this;
    if (resolution === undefined) {
      this.start();
      return;
    }
    resolution.requestReresolution();
    // The channel drops an error after a while, and then waits for the next result.
    const { failure, hasConfig } = resolution;
    if (failure !== undefined && !hasConfig) this.reportError(failure);
  }

  destroy(): void {
    const { resolution } = this;
    this.errorDue = undefined;
    this.pendingCalls.failAll('The channel was closed before the call was sent');
    this.resolution = undefined;
    resolution?.close();
  }

  publish({ table, lbConfig, lbContext, failure }: ResolvedConfig): boolean {
    const { resolution } = this;
    if (resolution === undefined) return false;
    this.errorDue = undefined;
    if (failure === undefined) this.loggedFailures.clear();
    const selector = this.createSelector(resolution, { table, lbContext });
    let isAccepted = false;
    try {
      isAccepted = this.listener(
        statusOrFromValue([]),
        { [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: selector, ...xdsLbContextArg(lbContext) },
        statusOrFromValue({
          loadBalancingConfig: [{ [lbConfig.policyName]: lbConfig }],
          methodConfig: [],
        }),
        failure ?? '',
      );
    } finally {
      // The channel did not take the selector and will not release it.
      if (!isAccepted) selector.unref();
    }
    if (isAccepted && failure === undefined) this.pendingCalls.routeBy(selector);
    else if (isAccepted && failure !== undefined) this.pendingCalls.fail(failure);
    return isAccepted;
  }

  onFailure(details: string): void {
    this.trace(() => `cannot be used: ${details}`);
    if (this.resolution?.hasConfig === true) this.logFailure(details);
    else this.reportError(details);
  }

  private start(): void {
    this.errorDue = undefined;
    this.pendingCalls.begin();
    const bootstrap = this.shared.loadBootstrap();
    if (!bootstrap.ok) {
      this.reportError(bootstrap.error);
      return;
    }
    const listenerName = listenerResourceName(bootstrap.value, this.name);
    if (!listenerName.ok) {
      this.reportError(listenerName.error);
      return;
    }
    this.trace(() => `resolving through Listener ${listenerName.value}`);
    this.resolution = new Resolution({
      bootstrap: bootstrap.value,
      target: this.uri,
      listenerName: listenerName.value,
      host: dataPlaneAuthority(this.target, this.options),
      channelOptions: this.options,
      shared: this.shared,
      owner: this,
    });
    this.resolution.start();
  }

  /** Without a config, calls are pending as those of an idle channel: they fail, or wait for one. */
  private createSelector(
    resolution: Resolution,
    { table, lbContext }: Pick<ResolvedConfig, 'table' | 'lbContext'>,
  ): ExpiringSelector {
    const { random, hash, regexes, limits } = this.shared;
    const { uri: target, options: channelOptions } = this;
    const { filterStates: states } = this;
    const channel = { states, cluster: (name: string) => lbContext.clusters.cluster(name) };
    const options = { table, target, random, hash, regexes, limits, channelOptions, channel };
    return new ExpiringSelector(
      new XdsConfigSelector(options),
      () => resolution.isExpired,
      this.pendingCalls,
    );
  }

  /** Reports an error to the channel when the current stack has unwound, and logs it. */
  private reportError(details: string): void {
    const due = { details };
    this.errorDue = due;
    this.shared.clock.soon(() => {
      if (this.errorDue !== due) return;
      this.errorDue = undefined;
      this.logFailure(details);
      this.pendingCalls.fail(details);
      const error = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
      this.listener(statusOrFromError(error), {}, statusOrFromError(error), '');
    });
  }

  private logFailure(details: string): void {
    const logged = this.loggedFailures;
    if (logged.has(details)) return;
    if (logged.size >= MAX_REMEMBERED_FAILURES) logged.clear();
    logged.add(details);
    this.shared.logger.error(() => `${this.uri}: no configuration: ${details}`);
  }

  private trace(text: () => string): void {
    this.shared.logger.trace(TRACER, () => `${this.uri} ${text()}`);
  }
}
