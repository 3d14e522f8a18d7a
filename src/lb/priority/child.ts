import { ConnectivityState } from '../../grpc-js';
import type { Picker } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import { ok } from '../../util/result';
import { ChildPolicy } from '../child-policy';
import { emptyEndpointSet } from '../endpoint-set';
import type { LbHost, LbUpdate } from '../lb-policy';
import { childUpdate } from '../lb-update';
import type { PriorityState } from './choose-priority';
import type { PriorityChildConfig } from './config';

/** How long a child may take to come up before the next priority is tried (gRFC A56). */
const FAILOVER_MS = 10_000;

/** How long a child that is not needed is kept, in case it is needed again (gRFC A56). */
const RETENTION_MS = 15 * 60 * 1000;

/** What a child is made of. */
export interface PriorityChildOptions {
  readonly name: string;
  /** The host of the priority policy. */
  readonly host: LbHost;
  /** Called in the batch when the state, the picker or `failoverPending` changed. */
  readonly onChanged: () => void;
  /** Called in the batch when the child was not needed for so long that it is to be destroyed. */
  readonly onExpired: () => void;
}

/** One priority: a child policy with the two timers that decide about it. */
export class PriorityChild implements PriorityState {
  private readonly policy: ChildPolicy;
  private currentState = ConnectivityState.CONNECTING;
  /** Runs while the child has time to come up. */
  private failover: Handle | undefined;
  /** Runs while the child is not needed. */
  private retention: Handle | undefined;
  private ignoreReresolutionRequests = false;

  constructor(private readonly options: PriorityChildOptions) {
    const { host } = options;
    this.policy = new ChildPolicy({
      host,
      onStateChanged: () => this.onReport(),
      overrides: {
        requestReresolution: () => {
          if (!this.ignoreReresolutionRequests) host.requestReresolution();
        },
      },
    });
    this.startFailover();
  }

  get state(): ConnectivityState {
    return this.currentState;
  }

  get failoverPending(): boolean {
    return this.failover !== undefined;
  }

  get picker(): Picker {
    return this.policy.picker;
  }

  get errorMessage(): string | null {
    return this.policy.errorMessage;
  }

  /** Hands on what is the child's of an update of the whole. */
  update(config: PriorityChildConfig, update: LbUpdate): void {
    this.ignoreReresolutionRequests = config.ignoreReresolutionRequests;
    const { endpoints } = update;
    const own = endpoints.ok
      ? ok(endpoints.value.children?.get(this.options.name) ?? emptyEndpointSet)
      : endpoints;
    this.policy.update(childUpdate(update, config.config, own));
    // A policy that replaced another one may have begun anew without a report.
    this.noteState();
  }

  /** The child is needed. */
  activate(): void {
    this.retention?.release();
    this.retention = undefined;
  }

  /** The child is not needed: unless that changes, it expires. */
  deactivate(): void {
    this.retention ??= this.startTimer(RETENTION_MS, (timer) => {
      if (this.retention === timer) this.options.onExpired();
    });
  }

  exitIdle(): void {
    this.policy.exitIdle();
  }

  resetBackoff(): void {
    this.policy.resetBackoff();
  }

  /** Destroys the policy and stops the timers. */
  destroy(): void {
    this.stopFailover();
    this.activate();
    this.policy.destroy();
  }

  private onReport(): void {
    this.noteState();
    this.options.onChanged();
  }

  private noteState(): void {
    const previous = this.currentState;
    this.currentState = this.policy.state;
    if (this.currentState !== ConnectivityState.CONNECTING) this.stopFailover();
    else if (hasServed(previous)) this.startFailover();
  }

  private startFailover(): void {
    this.failover = this.startTimer(FAILOVER_MS, (timer) => {
      if (this.failover !== timer) return;
      this.failover = undefined;
      this.options.onChanged();
    });
  }

  private stopFailover(): void {
    this.failover?.release();
    this.failover = undefined;
  }

  private startTimer(delayMs: number, onFired: (timer: Handle) => void): Handle {
    const { batch, clock } = this.options.host.environment;
    const timer = clock.setTimer(() => batch.run(() => onFired(timer)), delayMs);
    return timer;
  }
}

/** From any other state the child has failed since, or has had its time. */
function hasServed(state: ConnectivityState): boolean {
  return state === ConnectivityState.READY || state === ConnectivityState.IDLE;
}
