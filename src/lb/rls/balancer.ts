import { randomUUID } from 'node:crypto';
import { ConnectivityState, type ChannelCredentials } from '../../grpc-js';
import { composedCredentialsOf } from '../../grpc-js/host-internals';
import { LbLabel, RlsInstruments } from '../../observe/stats/instruments';
import type { Handle } from '../../util/handle';
import { MAX_LOOKUP_TARGETS } from '../../util/limits';
import { err, ok, type Result } from '../../util/result';
import { isSame } from '../../util/same-value';
import { ConnectivityTally, createFailurePicker } from '../connectivity';
import type { LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import type { Publication } from '../tree/lb-batch';
import type { PolicyParts } from '../tree/policy-state';
import { parseRlsConfig, RLS, type RlsConfig, type RouteLookup } from './config';
import {
  createControlChannel,
  type ControlChannelOptions,
  type Lookup,
  type LookupResult,
} from './control-channel';
import { LookupCache, type CacheEntry } from './lookup-cache';
import { PickCounter } from './pick-counter';
import { RlsPicker, type PickedPolicy } from './picker';
import { TargetChild } from './target-child';
import { AdaptiveThrottle } from './throttle';

/** The part of a channel to a lookup service that the policy uses. */
export interface LookupChannel {
  /** @param onResult Called once with the result, and whether the service has accepted the request. Not after `close`. */
  lookUp(lookup: Lookup, onResult: (result: LookupResult, isAccepted: boolean) => void): void;
  close(): void;
}

/** Connects to a lookup service. @returns the error of every lookup if there can be no channel. */
export type ConnectLookup = (options: ControlChannelOptions) => Result<LookupChannel, string>;

/** Asks a lookup service for the targets of calls, by keys from their methods and headers (`grpc.lookup.v1`). */
export function createRlsPolicyType(
  connect: ConnectLookup = createControlChannel,
): LbPolicyType<RlsConfig> {
  return {
    name: RLS,
    parseConfig: parseRlsConfig,
    create: (host) => new RlsPolicy(host, connect),
  };
}

const TRACER = 'rls';

const SWEEP_INTERVAL_MS = 60_000;

/** grpc-js tells neither the method nor the authority of calls to policies. */
const ONLY_XDS = `${RLS} works only under the xds resolver`;

/** The lookup service in use. */
interface Service {
  readonly channel: Result<LookupChannel, string>;
  readonly throttle: AdaptiveThrottle;
  /** The keys that are being looked up. */
  readonly pending: Set<string>;
}

class RlsPolicy implements LbPolicy<RlsConfig>, PickedPolicy {
  private readonly cache: LookupCache<TargetChild>;
  private readonly children = new Map<string, TargetChild>();
  private readonly tally = new ConnectivityTally();
  private readonly publication: Publication;
  private readonly instance = randomUUID();
  private latest: LbUpdate<RlsConfig> | undefined;
  private service: Service | undefined;
  private sweep: Handle | undefined;
  private gauges: Handle | undefined;
  counter: PickCounter | undefined;
  defaultChild: TargetChild | undefined;

  constructor(
    private readonly own: LbHost,
    private readonly connect: ConnectLookup,
  ) {
    const { environment } = own;
    this.publication = environment.batch.createPublication(own.depth, this);
    this.cache = new LookupCache({
      environment,
      onReleased: (targets) => this.release(targets),
      onBackoffEnded: () => this.publication.request(),
    });
  }

  update(config: RlsConfig, endpoints: LbEndpoints, context: LbContext): void {
    const before = this.latest?.config;
    this.latest = { config, endpoints, context };
    this.publication.request();
    if (this.own.environment.channel === undefined) return;
    for (const child of this.children.values()) child.update(this.latest);
    if (config === before) return;
    if (before === undefined) this.start();
    if (before === undefined || !usesSameService(before, config)) this.useService(config, context);
    this.useDefault(config.lookup.defaultTarget);
    this.cache.evict(config.lookup.cacheSizeBytes);
  }

  exitIdle(): void {
    for (const child of this.children.values()) child.exitIdle();
  }

  resetBackoff(): void {
    for (const child of this.children.values()) child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.sweep?.release();
    this.gauges?.release();
    this.closeService();
    this.cache.clear();
    for (const child of this.children.values()) child.destroy();
    this.children.clear();
  }

  describe(): PolicyParts {
    const { cache, children, defaultChild, latest, service } = this;
    return {
      details: {
        lookupService: latest?.config.lookup.lookupService ?? '',
        cacheEntries: cache.size,
        cacheBytes: cache.bytes,
        pendingLookups: service?.pending.size ?? 0,
      },
      children: [...children.values()].flatMap((child) => child.describe(child === defaultChild)),
    };
  }

  /** Publishes a picker in any state: what becomes of a call is decided by its keys. */
  publish(): void {
    const { environment } = this.own;
    if (environment.channel === undefined) {
      const picker = createFailurePicker(ONLY_XDS);
      this.own.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, ONLY_XDS);
      return;
    }
    const state = this.children.size === 0 ? ConnectivityState.IDLE : this.tally.aggregate();
    const isFailing = state === ConnectivityState.TRANSIENT_FAILURE;
    const [first] = this.children.values();
    this.own.updateState(
      state,
      new RlsPicker(this),
      isFailing ? (first?.errorMessage ?? null) : null,
    );
  }

  get lookup(): RouteLookup {
    if (this.latest === undefined) throw new Error('Bug: a pick before the first update');
    return this.latest.config.lookup;
  }

  get host(): string {
    return this.own.environment.channel?.authority ?? '';
  }

  nowMs(): number {
    return this.own.environment.clock.monotonicMs();
  }

  use(key: string): CacheEntry<TargetChild> | undefined {
    return this.cache.use(key);
  }

  isPending(key: string): boolean {
    return this.service?.pending.has(key) === true;
  }

  lookUp(key: string, lookup: Lookup): boolean {
    const { service } = this;
    if (service === undefined || service.throttle.shouldThrottle()) return false;
    const { batch, clock } = this.own.environment;
    const { channel, throttle, pending } = service;
    pending.add(key);
    const onResult = (result: LookupResult, isAccepted: boolean) => {
      if (service !== this.service) return;
      throttle.add(isAccepted);
      batch.run(() => this.onResult(service, key, result));
    };
    // Not inside the pick: it runs code of the application, and may fail at once.
    clock.soon(() => {
      if (channel.ok) channel.value.lookUp(lookup, onResult);
      else onResult(channel, false);
    });
    return true;
  }

  private onResult({ pending }: Service, key: string, result: LookupResult): void {
    if (!pending.delete(key)) return;
    const { cacheSizeBytes, maxAgeMs, staleAgeMs } = this.lookup;
    const targets = result.ok ? this.acquire(result.value.targets) : result;
    this.trace(() => `${key}: ${result.ok ? result.value.targets.join(', ') : result.error}`);
    if (result.ok && targets.ok) {
      const { headerData } = result.value;
      this.cache.succeed(key, { targets: targets.value, headerData, maxAgeMs, staleAgeMs });
    } else if (!targets.ok) this.cache.fail(key, targets.error);
    this.cache.evict(cacheSizeBytes);
    this.publication.request();
  }

  private start(): void {
    const { batch, clock, stats } = this.own.environment;
    const sweep = () => {
      batch.run(() => this.cache.sweep());
      this.sweep = clock.setTimer(sweep, SWEEP_INTERVAL_MS);
    };
    this.sweep = clock.setTimer(sweep, SWEEP_INTERVAL_MS);
    const { CACHE_ENTRIES, CACHE_SIZE } = RlsInstruments;
    this.gauges = stats?.observeGauges([CACHE_ENTRIES, CACHE_SIZE], (report) => {
      const labels = {
        [LbLabel.RLS_SERVER_TARGET]: this.lookup.lookupService,
        [LbLabel.RLS_INSTANCE]: this.instance,
      };
      report(CACHE_ENTRIES, this.cache.size, labels);
      report(CACHE_SIZE, this.cache.bytes, labels);
    });
  }

  /** Connects to the service of a config. Calls that wait for another one are looked up again. */
  private useService({ lookup, channelServiceConfig }: RlsConfig, context: LbContext): void {
    this.closeService();
    const { batch, clock, random, stats } = this.own.environment;
    this.counter = stats && new PickCounter(stats, lookup.lookupService);
    const credentials = this.credentials(context);
    const channel = credentials.ok
      ? this.connect({
          target: lookup.lookupService,
          credentials: credentials.value,
          authority: this.host,
          options: context.options,
          childOptions: context.childChannelOptions ?? context.xds?.childChannelOptions,
          serviceConfig: channelServiceConfig,
          timeoutMs: lookup.timeoutMs,
          clock,
          onRecovered: () =>
            batch.run(() => {
              if (this.cache.resetBackoffs()) this.publication.request();
            }),
        })
      : credentials;
    const throttle = new AdaptiveThrottle(clock, random);
    this.service = { channel, throttle, pending: new Set() };
  }

  private closeService(): void {
    const { service } = this;
    this.service = undefined;
    if (service?.channel.ok === true) service.channel.value.close();
  }

  /** Reads the credentials of the channel off a subchannel, which does not connect. */
  private credentials({ options }: LbContext): Result<ChannelCredentials, string> {
    const subchannel = this.own.createSubchannel({ host: '127.0.0.1', port: 1 }, options);
    const found = composedCredentialsOf(subchannel);
    return found === undefined ? err('the credentials of the channel are unknown') : ok(found);
  }

  private useDefault(target: string): void {
    const before = this.defaultChild;
    if (before?.target === target) return;
    this.defaultChild = target === '' ? undefined : this.acquireChild(target);
    if (before !== undefined) this.release([before]);
  }

  /** @returns an error if there are too many targets. */
  private acquire(targets: readonly string[]): Result<readonly TargetChild[], string> {
    const added = new Set(targets.filter((target) => !this.children.has(target)));
    if (this.children.size + added.size > MAX_LOOKUP_TARGETS)
      return err(`more than ${MAX_LOOKUP_TARGETS} targets are in use`);
    return ok(targets.map((target) => this.acquireChild(target)));
  }

  private acquireChild(target: string): TargetChild {
    const known = this.children.get(target);
    const child =
      known ??
      new TargetChild(this.own, target, ({ state }, before) => {
        this.tally.remove(before);
        this.tally.add(state);
        this.publication.request();
      });
    child.references++;
    if (known !== undefined) return child;
    this.children.set(target, child);
    this.tally.add(child.state);
    if (this.latest !== undefined) child.update(this.latest);
    return child;
  }

  private release(children: readonly TargetChild[]): void {
    for (const child of children) {
      if (--child.references > 0) continue;
      this.children.delete(child.target);
      this.tally.remove(child.state);
      child.destroy();
      this.publication.request();
    }
  }

  private trace(text: () => string): void {
    this.own.environment.logger.trace(TRACER, text);
  }
}

/** Whether two configs have the same lookup service, with the same channel. */
function usesSameService(a: RlsConfig, b: RlsConfig): boolean {
  const { lookupService, timeoutMs } = a.lookup;
  return isSame(
    [lookupService, timeoutMs, a.channelServiceConfig],
    [b.lookup.lookupService, b.lookup.timeoutMs, b.channelServiceConfig],
  );
}
