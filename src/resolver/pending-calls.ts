import {
  FilterStackFactory,
  Metadata,
  Status,
  toPickInformation,
  type CallConfig,
  type ConfigSelector,
  type Filter,
  type MethodConfig,
  type StatusObject,
} from '../grpc-js';
import { createFilterFactory } from '../grpc-js/host-adapters';
import { toCallAttributes, type CallAttributes, type OverrideHost } from '../lb/call-attributes';
import { keepProcessAlive, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { failCall, type RouteSelector } from './config-selector';

/**
 * A config selector that queues calls once its resolution has ended. A channel keeps its selector while it is idle, and
 * uses it for the first calls after that.
 */
export class ExpiringSelector implements ConfigSelector {
  constructor(
    private readonly selector: RouteSelector,
    private readonly isExpired: () => boolean,
    private readonly pendingCalls: PendingCalls,
  ) {}

  invoke(methodName: string, metadata: Metadata, channelId: number): CallConfig {
    const { selector } = this;
    if (!this.isExpired()) return selector.invoke(methodName, metadata, channelId);
    return this.pendingCalls.add({
      method: methodName,
      headers: metadata,
      channelId,
      timeout: selector.timeoutOf(methodName, metadata),
    });
  }

  unref(): void {
    this.selector.unref();
  }
}

/** A call to be routed, as a config selector receives it. */
interface CallToRoute {
  readonly method: string;
  readonly headers: Metadata;
  readonly channelId: number;
  /** The timeout of the previous route: the host library cannot apply that of the new one. */
  readonly timeout: MethodConfig['timeout'];
}

/**
 * Pending calls: those that a channel starts while it has no config in use. A channel that was idle still has its previous
 * config selector, whose clusters the new load-balancing config may lack; so these calls are queued inside a filter until
 * a config exists, and are routed by that.
 */
export class PendingCalls {
  private readonly calls = new Set<PendingCall>();
  /** The error, if there is no config. */
  private failure: string | undefined;
  /** Keeps the process alive while calls are pending, as the queues of grpc-js do and its filters do not. */
  private processHandle: Handle | undefined;

  /** @param waitingFor Returns the pending resources of the config, as sentences. */
  constructor(
    private readonly waitingFor: () => readonly string[],
    private readonly clock: Clock,
  ) {}

  /** Queues a call. It fails at once if there is an error, unless it waits for ready. */
  add(toRoute: CallToRoute): CallConfig {
    if (this.failure !== undefined && !waitsForReady(toRoute)) return failCall(this.failure);
    const call = new PendingCall(toRoute, {
      reasons: () => this.reasons(),
      onEnded: () => this.remove(call),
    });
    this.calls.add(call);
    this.processHandle ??= keepProcessAlive(this.clock);
    return call.toCallConfig();
  }

  /** Clears the error, since another resolution starts. */
  begin(): void {
    this.failure = undefined;
  }

  /** Routes every call. */
  routeBy(selector: ConfigSelector): void {
    this.failure = undefined;
    for (const call of this.takeAll()) call.routeBy(selector);
  }

  /** Fails the calls that do not wait for ready, now and until there is a config. */
  fail(details: string): void {
    this.failure = details;
    for (const call of this.calls) {
      if (waitsForReady(call.toRoute)) continue;
      this.remove(call);
      call.fail(details);
    }
  }

  /** Fails every call, also those that wait for ready. */
  failAll(details: string): void {
    for (const call of this.takeAll()) call.fail(details);
  }

  /** Returns why there is no config yet, as sentences. */
  private reasons(): readonly string[] {
    const { failure } = this;
    return failure === undefined ? this.waitingFor() : [failure, ...this.waitingFor()];
  }

  private takeAll(): readonly PendingCall[] {
    const all = [...this.calls];
    this.calls.clear();
    this.releaseProcess();
    return all;
  }

  private remove(call: PendingCall): void {
    this.calls.delete(call);
    if (this.calls.size === 0) this.releaseProcess();
  }

  private releaseProcess(): void {
    this.processHandle?.release();
    this.processHandle = undefined;
  }
}

function waitsForReady({ headers }: CallToRoute): boolean {
  return headers.getOptions().waitForReady === true;
}

interface PendingCallOwner {
  /** Returns why the call is still pending, as sentences. */
  reasons(): readonly string[];
  /** Called when the call has ended, possibly before it was routed. */
  onEnded(): void;
}

/** One pending call. Its attributes are those of its route: a call is picked only after it was routed. */
class PendingCall {
  private readonly methodConfig: MethodConfig = { name: [] };
  private readonly routed: Promise<Filter>;
  private resolve: (filter: Filter) => void = () => {};
  private reject: (status: object) => void = () => {};
  private config: CallConfig | undefined;
  private filter: Filter | undefined;

  constructor(
    readonly toRoute: CallToRoute,
    private readonly owner: PendingCallOwner,
  ) {
    if (toRoute.timeout !== undefined) this.methodConfig.timeout = toRoute.timeout;
    this.routed = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // An unhandled rejection would end the process; the filter of the call handles it, too.
    this.routed.catch(() => {});
  }

  get cluster(): string | undefined {
    return this.attributes?.cluster;
  }

  get overrideHost(): OverrideHost | undefined {
    return this.attributes?.overrideHost;
  }

  get requestHash(): (() => bigint) | undefined {
    return this.attributes?.requestHash?.bind(this.attributes);
  }

  toCallConfig(): CallConfig {
    return {
      methodConfig: this.methodConfig,
      pickInformation: toPickInformation(this),
      status: Status.OK,
      onCommitted: () => this.config?.onCommitted?.(),
      dynamicFilterFactories: [createFilterFactory(() => this.createFilter())],
    };
  }

  routeBy(selector: ConfigSelector): void {
    const { method, headers, channelId } = this.toRoute;
    const config = selector.invoke(method, headers, channelId);
    this.config = config;
    const { retryPolicy } = config.methodConfig;
    if (retryPolicy !== undefined) this.methodConfig.retryPolicy = retryPolicy;
    this.filter = new FilterStackFactory(config.dynamicFilterFactories).createFilter();
    this.resolve(this.filter);
  }

  fail(details: string): void {
    this.reject({ code: Status.UNAVAILABLE, details, metadata: new Metadata() });
  }

  /** The attributes of the route, read by pickers through the getters above. */
  private get attributes(): CallAttributes | undefined {
    return this.config && toCallAttributes(this.config.pickInformation);
  }

  private createFilter(): Partial<Filter> {
    return {
      sendMetadata: (headers) => this.routed.then((filter) => filter.sendMetadata(headers)),
      receiveMetadata: (headers) => this.filter?.receiveMetadata(headers) ?? headers,
      sendMessage: (message) => this.filter?.sendMessage(message) ?? message,
      receiveMessage: (message) => this.filter?.receiveMessage(message) ?? message,
      receiveTrailers: (status) => {
        this.owner.onEnded();
        return this.filter?.receiveTrailers(status) ?? this.explain(status);
      },
    };
  }

  /** Adds the pending resources to the status of the host library. */
  private explain(status: StatusObject): StatusObject {
    if (status.code !== Status.DEADLINE_EXCEEDED) return status;
    return { ...status, details: [status.details, ...this.owner.reasons()].join('; ') };
  }
}
