import {
  FilterStackFactory,
  Metadata,
  PickResultType,
  Status,
  toPickInformation,
  type CallConfig,
  type ConfigSelector,
  type Filter,
  type MethodConfig,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import { createFilterFactory } from '../grpc-js/host-adapters';
import { toCallAttributes, type CallAttributes } from '../lb/call-attributes';
import type { Clock } from '../util/clock';
import { explainBlock, explainStage, IN_FILTERS } from './deadline-status';
import { RouteDeadline } from './route-deadline';

/** A call to be routed, as a config selector receives it. */
export interface CallToRoute {
  readonly method: string;
  readonly headers: Metadata;
  readonly channelId: number;
}

export interface PendingCallOwner {
  /** Returns why the call is still pending, as sentences. */
  reasons(): readonly string[];
  /** Called when the call has ended, possibly before it was routed. */
  onEnded(): void;
  /** Called when the timeout of the route has passed and the call waits for a pick. */
  onDeadline(): void;
}

/** One pending call, and its attributes for picks: those of its route, since a call is picked only after it was routed. */
export class PendingCall {
  private readonly methodConfig: MethodConfig = { name: [] };
  private readonly startMs: number;
  private readonly whenRouted: Promise<Filter>;
  private resolve: (filter: Filter) => void = () => {};
  private reject: (status: object) => void = () => {};
  private config: CallConfig | undefined;
  private filter: Filter | undefined;
  private deadline: RouteDeadline | undefined;
  /** Ends the filters when the deadline passes. */
  private failOnDeadline: (status: object) => void = () => {};
  /** Whether the last pick gave no connection. */
  private isQueued = false;

  constructor(
    readonly toRoute: CallToRoute,
    private readonly clock: Clock,
    private readonly owner: PendingCallOwner,
  ) {
    this.startMs = clock.monotonicMs();
    this.whenRouted = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // An unhandled rejection would end the process; the filter of the call handles it, too.
    this.whenRouted.catch(() => {});
  }

  /** Empty once the deadline has passed: see `CallAttributes.endedPick`. */
  get cluster(): string | undefined {
    return this.deadline?.hasPassed === true ? '' : this.routed?.cluster;
  }

  /** The attributes of the route. */
  get routed(): CallAttributes | undefined {
    return this.config && toCallAttributes(this.config.pickInformation);
  }

  get endedPick(): PickResult | undefined {
    return this.deadline?.endedPick;
  }

  onNotPicked(result: PickResult): void {
    this.routed?.onNotPicked?.(result);
  }

  replacePick(result: PickResult): PickResult {
    this.isQueued = result.pickResultType !== PickResultType.COMPLETE;
    return this.deadline?.limit(result) ?? result;
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
    const { retryPolicy, timeout } = config.methodConfig;
    if (retryPolicy !== undefined) this.methodConfig.retryPolicy = retryPolicy;
    this.filter = new FilterStackFactory(config.dynamicFilterFactories).createFilter();
    if (timeout !== undefined) this.startDeadline(timeout.seconds * 1000 + timeout.nanos / 1e6);
    this.resolve(this.filter);
  }

  fail(details: string): void {
    this.reject({ code: Status.UNAVAILABLE, details, metadata: new Metadata() });
  }

  private startDeadline(timeoutMs: number): void {
    const { clock, startMs } = this;
    const deadline = new RouteDeadline({
      ...{ clock, startMs, timeoutMs },
      retryPolicy: this.methodConfig.retryPolicy,
      onPassed: () => {
        this.failOnDeadline(deadline.status(IN_FILTERS));
        if (this.isQueued) this.owner.onDeadline();
      },
    });
    this.deadline = deadline;
  }

  private createFilter(): Partial<Filter> {
    return {
      sendMetadata: (headers) =>
        this.whenRouted.then((filter) => this.sendMetadata(filter, headers)),
      receiveMetadata: (headers) => this.filter?.receiveMetadata(headers) ?? headers,
      sendMessage: (message) => this.filter?.sendMessage(message) ?? message,
      receiveMessage: (message) => this.filter?.receiveMessage(message) ?? message,
      receiveTrailers: (status) => {
        this.owner.onEnded();
        const shown = this.deadline?.end(status) ?? status;
        return this.filter?.receiveTrailers(this.explainTime(shown)) ?? this.explain(shown);
      },
    };
  }

  /** Passes the headers through the filters of the route, until the deadline. */
  private sendMetadata(filter: Filter, headers: Promise<Metadata>): Promise<Metadata> {
    const filtered = filter.sendMetadata(headers);
    if (this.deadline === undefined) return filtered;
    return new Promise((resolve, reject) => {
      this.failOnDeadline = reject;
      filtered.then(resolve, reject);
    });
  }

  /** Names the part of the time in the status of the host library in which the call was pending here. */
  private explainTime(status: StatusObject): StatusObject {
    if (status.code !== Status.DEADLINE_EXCEEDED) return status;
    const details = status.details.replace('metadata filters: ', 'configuration and filters: ');
    return { ...status, details };
  }

  /** Adds what the call waited for to the status of the host library. */
  private explain(status: StatusObject): StatusObject {
    const explained = explainStage(status, IN_FILTERS, () => this.owner.reasons());
    const details = explained.details.replace(IN_FILTERS, 'waiting for the configuration');
    const shown = explained === status ? status : { ...explained, details };
    return explainBlock(shown, this.clock.eventLoop);
  }
}
