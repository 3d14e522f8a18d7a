import type { Bootstrap } from '../bootstrap/bootstrap';
import type { Limits } from '../bootstrap/limits';
import { listenerResourceName } from '../bootstrap/resource-template';
import {
  XdsDependencyManager,
  type ClientResourceTypes,
  type ResourceSource,
} from '../dependency-manager/dependency-manager';
import type { DnsWatcherFactory } from '../dependency-manager/dns-watch';
import type { XdsConfig } from '../dependency-manager/xds-config';
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
import { CdsConfig } from '../lb/cds/config';
import { ClusterManagerConfig } from '../lb/cluster-manager/config';
import type { XdsLbContext } from '../lb/lb-policy';
import { xdsLbContextArg } from '../lb/xds-lb-context-arg';
import type { LoadReporter } from '../load-reporting/load-reporter';
import type { LbConfig } from '../resources/extension-points';
import type { Clock } from '../util/clock';
import type { RegexMeter } from '../regex/regex-meter';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { ProcessHold } from '../util/process-hold';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import { diagnostics } from '../xds-client/diagnostics';
import { ClusterRefs } from './cluster-refs';
import { XdsConfigSelector } from './config-selector';
import { ExpiringSelector } from './expiring-selector';
import { FailureLog } from './failure-log';
import type { FilterPreparer } from './filter-chain';
import { LateCalls } from './late-calls';
import type { LiveConfigs } from './live-configs';
import type { TextHash } from './request-hash';
import { RouteTable } from './route-table';
import { dataPlaneAuthority, parseTargetName, type TargetName } from './target-name';

const TRACER = 'xds_resolver';

/** How many pending resources the status of a call lists whose deadline has passed. */
const MAX_LISTED_WAITS = 3;

/** A reference to the client of a target. */
export interface ClientHold extends Handle {
  readonly client: ResourceSource;
  /** Takes the load reports of every channel of the bootstrap (gRFC A27); absent if nothing does. */
  readonly loads?: LoadReporter;
}

/** What every xds resolver of the process shares, and the bootstrap of its channel. */
export interface XdsResolverDependencies {
  /** The bootstrap registered when the channel was made. Read anew for each attempt, because an agent may write the file after the application has started. */
  readonly loadBootstrap: () => Result<Bootstrap, string>;
  /** Acquires the client of a target: every channel of the target shares it (gRFC A71). */
  readonly acquireClient: (bootstrap: Bootstrap, target: string) => ClientHold;
  readonly types: ClientResourceTypes;
  readonly httpFilters: FilterPreparer;
  readonly hash: TextHash;
  /** Counts the steps of the regular expressions that a call is matched against. */
  readonly regexes: RegexMeter;
  readonly liveConfigs: LiveConfigs;
  readonly createDns: (options: ChannelOptions) => DnsWatcherFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: Limits;
}

/** Everything that exists only while the target is being resolved. */
interface Resolution {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  readonly manager: XdsDependencyManager;
  readonly client: ClientHold;
  readonly clusters: ClusterRefs;
  /** The compiled config in use; `undefined` until there is one. */
  current: { readonly config: XdsConfig; readonly table: RouteTable } | undefined;
  /** Why the target cannot be used, when that is the latest word. */
  failure: string | undefined;
  lbConfig: { readonly config: LbConfig; readonly revision: number } | undefined;
  readonly lbContext: XdsLbContext;
  /** Whether the channel has the current routes, clusters and failure. */
  isPublished: boolean;
}

/**
 * Resolves `xds:` targets: turns each `XdsConfig` into a load-balancing config, of which every cluster that
 * a route or a running call needs is part, and a config selector (gRFCs A27, A31, A74).
 */
export class XdsResolver implements Resolver {
  private resolution: Resolution | undefined;
  /** The error about to be told. Whatever is told or begun before that makes it void. */
  private errorDue: { readonly details: string } | undefined;
  private readonly lateCalls: LateCalls;
  private readonly failures: FailureLog;
  private readonly name: TargetName;

  constructor(
    private readonly target: GrpcUri,
    private readonly listener: ResolverListener,
    private readonly options: ChannelOptions,
    private readonly shared: XdsResolverDependencies,
  ) {
    this.name = parseTargetName(target);
    this.failures = new FailureLog(uriToString(target), shared.logger);
    this.lateCalls = new LateCalls(
      () => this.resolution?.client.client.waitingFor?.(MAX_LISTED_WAITS) ?? [],
      new ProcessHold(shared.clock),
    );
  }

  updateResolution(): void {
    const { resolution } = this;
    if (resolution === undefined) {
      this.start();
      return;
    }
    resolution.manager.requestReresolution();
    // The channel forgets an error after a while, and then waits for the next word from here.
    if (resolution.current === undefined && resolution.failure !== undefined) {
      this.reportError(resolution.failure);
    }
  }

  destroy(): void {
    const { resolution } = this;
    this.errorDue = undefined;
    this.lateCalls.failAll('The channel was closed before the call was sent');
    if (resolution === undefined) return;
    this.resolution = undefined;
    this.shared.liveConfigs.delete(this);
    resolution.manager.close();
    resolution.current?.table.letGo();
    resolution.client.release();
  }

  private start(): void {
    this.errorDue = undefined;
    this.lateCalls.begin();
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
    this.resolution = this.createResolution(bootstrap.value, listenerName.value);
    this.resolution.manager.start();
  }

  private createResolution(bootstrap: Bootstrap, listenerName: string): Resolution {
    const client = this.shared.acquireClient(bootstrap, uriToString(this.target));
    const manager = new XdsDependencyManager({
      source: client.client,
      types: this.shared.types,
      dns: this.shared.createDns(this.options),
      listenerName,
      host: dataPlaneAuthority(this.target, this.options),
      clientNote: `xDS node "${bootstrap.node.id}"`,
      ...{ limits: this.shared.limits, logger: this.shared.logger },
      onUpdate: (update) => {
        if (this.resolution === resolution) this.onUpdate(resolution, update);
      },
    });
    const clusters = new ClusterRefs(
      (cluster) => manager.subscribeCluster(cluster),
      (cluster) => new CdsConfig(cluster, false),
      () => this.queuePublication(resolution),
    );
    const resolution: Resolution = {
      nodeId: bootstrap.node.id,
      manager,
      client,
      clusters,
      current: undefined,
      failure: undefined,
      lbConfig: undefined,
      lbContext: { clusters: manager, nodeId: bootstrap.node.id, loads: client.loads },
      isPublished: false,
    };
    return resolution;
  }

  private onUpdate(resolution: Resolution, update: Result<XdsConfig, string>): void {
    if (update.ok) {
      this.onConfig(resolution, update.value);
      this.publishEvent(resolution, update);
      return;
    }
    this.publishEvent(resolution, update);
    resolution.failure = update.error;
    resolution.isPublished = false;
    this.shared.liveConfigs.delete(this);
    this.trace(() => `cannot be used: ${update.error}`);
    if (resolution.current === undefined) {
      this.reportError(update.error);
      return;
    }
    this.failures.report(update.error);
    this.publish(resolution);
  }

  /** The channel is involved only if routes, clusters or the failure changed: `cds` policies watch their clusters. */
  private onConfig(resolution: Resolution, config: XdsConfig): void {
    if (resolution.failure !== undefined) resolution.isPublished = false;
    resolution.failure = undefined;
    this.failures.clear();
    this.compile(resolution, config);
    const target = uriToString(this.target);
    this.shared.liveConfigs.set(this, { target, config, channelOptions: this.options });
    const isCurrent = resolution.lbConfig?.revision === resolution.clusters.revision;
    if (!resolution.isPublished || !isCurrent) this.publish(resolution);
  }

  /** Publishes to the subscribers of the diagnostics channels. */
  private publishEvent({ nodeId }: Resolution, update: Result<XdsConfig, string>): void {
    const { configPublished, configFailed } = diagnostics;
    if (!configPublished.hasSubscribers && !configFailed.hasSubscribers) return;
    const target = uriToString(this.target);
    if (!update.ok) {
      configFailed.publish({ nodeId, target, error: update.error });
      return;
    }
    const { listener, clusters } = update.value;
    configPublished.publish({ nodeId, target, listener: listener.name, clusters: clusters.size });
  }

  /** Compiles the routes anew only if they, or what they inherit from the listener, changed. */
  private compile(resolution: Resolution, config: XdsConfig): void {
    const { current } = resolution;
    const same =
      current?.config.virtualHost === config.virtualHost &&
      current.config.listener === config.listener;
    if (same) {
      resolution.current = { config, table: current.table };
      return;
    }
    const table = new RouteTable(config, resolution.clusters, this.shared.httpFilters);
    table.hold();
    resolution.current = { config, table };
    resolution.isPublished = false;
    current?.table.letGo();
  }

  /** Publishes once, after whatever is going on, that clusters have gone out of use, unless that was done by then. */
  private queuePublication(resolution: Resolution): void {
    resolution.client.client.run(() => {
      const isDue = resolution.lbConfig?.revision !== resolution.clusters.revision;
      if (isDue && this.resolution === resolution) this.publish(resolution);
    });
  }

  private publish(resolution: Resolution): void {
    const { current, failure } = resolution;
    if (current === undefined) return;
    this.errorDue = undefined;
    const selector = this.createSelector(resolution, current.table);
    const isAccepted = this.deliver(resolution, selector);
    resolution.isPublished = isAccepted;
    // The channel has not taken the selector and will never let go of it.
    if (!isAccepted) selector.unref();
    else if (failure === undefined) this.lateCalls.routeBy(selector);
    else this.lateCalls.fail(failure);
  }

  /** Gives the channel its config. @returns whether the channel took the selector. */
  private deliver(resolution: Resolution, selector: ExpiringSelector): boolean {
    const policy = this.currentLbConfig(resolution);
    try {
      return this.listener(
        statusOrFromValue([]),
        {
          [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: selector,
          ...xdsLbContextArg(resolution.lbContext),
        },
        statusOrFromValue({
          loadBalancingConfig: [{ [policy.policyName]: policy }],
          methodConfig: [],
        }),
        resolution.failure ?? '',
      );
    } catch (error) {
      selector.unref();
      resolution.lbConfig = undefined;
      throw error;
    }
  }

  /** Once there is no config any more, calls go where those of an idle channel go: they fail, or wait for one. */
  private createSelector(resolution: Resolution, table: RouteTable): ExpiringSelector {
    const { random, hash, regexes, limits } = this.shared;
    const target = uriToString(this.target);
    return new ExpiringSelector(
      new XdsConfigSelector({
        ...{ table, target, random, hash, regexes, limits },
        channelOptions: this.options,
      }),
      () => this.resolution !== resolution || resolution.failure !== undefined,
      this.lateCalls,
    );
  }

  /** The same object as long as the set of clusters is the same. */
  private currentLbConfig(resolution: Resolution): LbConfig {
    const { clusters, lbConfig } = resolution;
    if (lbConfig?.revision === clusters.revision) return lbConfig.config;
    const children = new Map<string, LbConfig>();
    for (const ref of clusters.values()) children.set(ref.childName, ref.lbConfig);
    const config = new ClusterManagerConfig(children);
    resolution.lbConfig = { config, revision: clusters.revision };
    return config;
  }

  /** Gives the channel the reason why calls fail, once the current stack has unwound, and logs it. */
  private reportError(details: string): void {
    const due = { details };
    this.errorDue = due;
    this.shared.clock.soon(() => {
      if (this.errorDue !== due) return;
      this.errorDue = undefined;
      this.failures.report(details);
      this.lateCalls.fail(details);
      const error = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
      this.listener(statusOrFromError(error), {}, statusOrFromError(error), '');
    });
  }

  private trace(text: () => string): void {
    this.shared.logger.trace(TRACER, () => `${uriToString(this.target)} ${text()}`);
  }
}
