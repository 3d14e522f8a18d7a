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
import { createFilterFactory } from '../grpc-js/filters';
import type { ProcessHold } from '../util/process-hold';
import { failCall } from './fail-call';

/** A call to be routed, as a config selector is told of it. */
export interface CallToRoute {
  readonly method: string;
  readonly headers: Metadata;
  readonly channelId: number;
  /** The limit by the route it would have taken before; the new one comes too late for the host library. */
  readonly timeout: MethodConfig['timeout'];
}

/**
 * Calls of a channel that was idle. It still has the config selector of before, whose clusters its new
 * load-balancing config need not have any more; so these calls wait, inside a filter, until there is a config
 * again, and are routed by that.
 */
export class LateCalls {
  private readonly waiting = new Set<LateCall>();
  /** Why there is no config, when that is the latest word. */
  private failure: string | undefined;

  /**
   * @param waitingFor What the config is waited for, as sentences.
   * @param hold Set while calls are pending: unlike its own queues, a filter does not make grpc-js keep the process
   * alive.
   */
  constructor(
    private readonly waitingFor: () => readonly string[],
    private readonly hold: ProcessHold,
  ) {}

  /** Takes a call in. It fails at once if it is known that there is no config, unless it is to wait for one. */
  add(call: CallToRoute): CallConfig {
    if (this.failure !== undefined && !isPatient(call)) return failCall(this.failure);
    const late = new LateCall(call, {
      reasons: () => this.reasons(),
      onEnded: () => this.remove(late),
    });
    this.waiting.add(late);
    this.hold.set(true);
    return late.toCallConfig();
  }

  /** Forgets that there was no config: whether there is one now is being found out. */
  begin(): void {
    this.failure = undefined;
  }

  /** Routes every call. */
  routeBy(selector: ConfigSelector): void {
    this.failure = undefined;
    for (const late of this.takeAll()) late.routeBy(selector);
  }

  /** Fails the calls, now and until there is a config, that were not told to wait for one. */
  fail(details: string): void {
    this.failure = details;
    for (const late of this.waiting) {
      if (isPatient(late.call)) continue;
      this.remove(late);
      late.fail(details);
    }
  }

  /** Fails every call, also those that were told to wait. */
  failAll(details: string): void {
    for (const late of this.takeAll()) late.fail(details);
  }

  /** Why there is no config yet, as sentences. */
  private reasons(): readonly string[] {
    const { failure } = this;
    return failure === undefined ? this.waitingFor() : [failure, ...this.waitingFor()];
  }

  private takeAll(): readonly LateCall[] {
    const all = [...this.waiting];
    this.waiting.clear();
    this.hold.set(false);
    return all;
  }

  private remove(late: LateCall): void {
    this.waiting.delete(late);
    if (this.waiting.size === 0) this.hold.set(false);
  }
}

function isPatient({ headers }: CallToRoute): boolean {
  return headers.getOptions().waitForReady === true;
}

interface LateCallOwner {
  /** Why the call is still pending, as sentences. */
  reasons(): readonly string[];
  /** Called when the call has ended, perhaps before it was routed. */
  onEnded(): void;
}

class LateCall {
  /** What the pickers are told; empty until the call is routed, and a pick comes only after that. */
  private readonly attributes = {};
  private readonly methodConfig: MethodConfig = { name: [] };
  private readonly routed: Promise<Filter>;
  private resolve: (filter: Filter) => void = () => {};
  private reject: (status: object) => void = () => {};
  private config: CallConfig | undefined;
  /** The filters of the route as one. */
  private filter: Filter | undefined;

  constructor(
    readonly call: CallToRoute,
    private readonly owner: LateCallOwner,
  ) {
    if (call.timeout !== undefined) this.methodConfig.timeout = call.timeout;
    this.routed = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // A rejection that nobody listens to would end the process; whoever sends the call listens, too.
    this.routed.catch(() => {});
  }

  toCallConfig(): CallConfig {
    return {
      methodConfig: this.methodConfig,
      pickInformation: toPickInformation(this.attributes),
      status: Status.OK,
      onCommitted: () => this.config?.onCommitted?.(),
      dynamicFilterFactories: [createFilterFactory(() => this.createFilter())],
    };
  }

  routeBy(selector: ConfigSelector): void {
    const { method, headers, channelId } = this.call;
    const config = selector.invoke(method, headers, channelId);
    this.config = config;
    // The host library already has the object; through its prototype it gets whatever the route gives.
    Object.setPrototypeOf(this.attributes, config.pickInformation);
    const { retryPolicy } = config.methodConfig;
    if (retryPolicy !== undefined) this.methodConfig.retryPolicy = retryPolicy;
    this.filter = new FilterStackFactory(config.dynamicFilterFactories).createFilter();
    this.resolve(this.filter);
  }

  fail(details: string): void {
    this.reject({ code: Status.UNAVAILABLE, details, metadata: new Metadata() });
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

  /** The host library knows only how long a call has waited, not what for. */
  private explain(status: StatusObject): StatusObject {
    if (status.code !== Status.DEADLINE_EXCEEDED) return status;
    return { ...status, details: [status.details, ...this.owner.reasons()].join('; ') };
  }
}
