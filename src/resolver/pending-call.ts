import {
  PickResultType,
  Status,
  type Filter,
  type Metadata,
  type MethodConfig,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import type { ClusterRef } from './cluster-refs';
import type { CompiledRoute } from './compiled-route';
import type { PendingHash } from './request-hash';
import type { RouteDeadline } from './route-deadline';
import {
  explainBlock,
  explainPending,
  IN_FILTERS,
  nameConfigurationTime,
} from './status-explanation';
import { CallFilter, loadUncommon, XdsCall, type CallChannel } from './xds-call';

/** Manages the calls that are pending. */
export interface PendingOwner {
  /** Returns why a call is still pending, as sentences. */
  reasons(): readonly string[];
  /** Called when a call has ended, possibly before it was routed. */
  onEnded(call: PendingCall): void;
  /** Called when the timeout of the route has passed and a call waits for a pick. */
  onDeadline(): void;
}

/** A call that waits inside of its filter until it is routed, or fails. It stays of this class afterwards. */
export class PendingCall extends XdsCall {
  private readonly startMs: number;
  /** Of the route, from its routing on. */
  private deadline: RouteDeadline | undefined = undefined;
  private readonly decided: Promise<void>;
  /** Ends the time in which the call is pending. */
  private decide: () => void = () => {};
  /** Ends the filters when the deadline passes. */
  private failOnDeadline: (status: object) => void = () => {};
  /** Whether the last pick gave no connection. */
  private isQueued = false;

  constructor(
    channel: CallChannel,
    method: string,
    private readonly owner: PendingOwner,
  ) {
    super(channel, method);
    if (this.stats !== undefined) this.stats.wasResolutionDelayed = true;
    this.startMs = channel.clock.monotonicMs();
    this.decided = new Promise((resolve) => {
      this.decide = resolve;
    });
  }

  /** The result of every pick from now on, if the deadline has passed. */
  get endedPick(): PickResult | undefined {
    return this.deadline?.endedPick;
  }

  /**
   * Applies the retry policy and the timeout of the route. grpc-js has read the timeout of the config before, and
   * reads its retry policy when it sends the call.
   */
  override routeTo(route: CompiledRoute, ref: ClusterRef, hash: PendingHash): void {
    super.routeTo(route, ref, hash);
    const { timeoutMs, retryPolicy, methodConfig } = route;
    this.methodConfig = withoutTimeout(methodConfig);
    if (timeoutMs !== undefined) {
      const { clock } = this.channel;
      const { startMs } = this;
      const onPassed = () => this.onDeadline();
      const options = { clock, startMs, timeoutMs, retryPolicy, onPassed };
      this.deadline = new (loadUncommon().RouteDeadline)(options);
    }
    this.decide();
  }

  override fail(details: string): void {
    super.fail(details);
    this.decide();
  }

  override createFilter(): Filter {
    return new CallFilter(this);
  }

  /** Goes on with the call when it was routed, or fails: with its headers, until the deadline. */
  override filterHeaders(headers: Promise<Metadata>): Promise<Metadata> {
    const filter = () => super.filterHeaders(headers);
    return this.decided.then(() => {
      if (this.deadline === undefined) return filter();
      return new Promise((resolve, reject) => {
        this.failOnDeadline = reject;
        filter().then(resolve, reject);
      });
    });
  }

  /** Returns a pick that takes account of the deadline. */
  override onPick(picked: PickResult): PickResult {
    const result = super.onPick(picked);
    this.isQueued = result.pickResultType !== PickResultType.COMPLETE;
    return this.deadline?.limit(result) ?? result;
  }

  override end(status: StatusObject): StatusObject {
    this.owner.onEnded(this);
    const shown = this.deadline?.end(status) ?? status;
    return super.end(
      shown.code === Status.DEADLINE_EXCEEDED ? nameConfigurationTime(shown) : shown,
    );
  }

  /** A call that was not routed names what it waited for. */
  protected override explain(status: StatusObject): StatusObject {
    if (this.cluster !== '') return super.explain(status);
    const pending = explainPending(status, () => this.owner.reasons());
    return explainBlock(pending, this.channel.clock.eventLoop);
  }

  protected override get deadlineMs(): number {
    const { remainingMs = Infinity } = this.deadline ?? {};
    return Math.min(super.deadlineMs, this.channel.clock.now() + remainingMs);
  }

  /** The deadline names itself. */
  protected override get routeTimeoutMs(): undefined {
    return undefined;
  }

  private onDeadline(): void {
    const { deadline } = this;
    if (deadline !== undefined) this.failOnDeadline(deadline.status(IN_FILTERS));
    if (this.isQueued) this.owner.onDeadline();
  }
}

function withoutTimeout({ name, retryPolicy }: MethodConfig): MethodConfig {
  return retryPolicy === undefined ? { name } : { name, retryPolicy };
}
