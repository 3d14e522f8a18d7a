import { ConnectivityState } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import { childEndpoints } from '../endpoints/endpoint-set';
import type { LbHost, LbUpdate } from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import type { PriorityState } from './choose-priority';
import type { PriorityChildConfig } from './config';
import { afterRunning } from '../../util/running-time';

/** The time for which a child may be CONNECTING before the next priority is tried (gRFC A56). */
const FAILOVER_MS = 10_000;

/** The time for which an unneeded child is kept, in case it is needed again (gRFC A56). */
const RETENTION_MS = 15 * 60 * 1000;

export interface PriorityChildOptions {
  readonly name: string;
  /** The host of the priority policy. */
  readonly host: LbHost;
  /** Called in the batch when the state, the picker or `failoverPending` changed. */
  readonly onChanged: () => void;
  /** Called in the batch when the child has to be destroyed, since it was not needed for the retention time. */
  readonly onExpired: () => void;
}

/** One priority: a child policy with its failover and retention timers. */
export class PriorityChild implements PriorityState {
  readonly policy: SwitchingChild;
  /** The state that the timers follow. The child alone sets it. */
  state = ConnectivityState.CONNECTING;
  /** Runs while the child has time to connect. */
  private failover: Handle | undefined;
  /** Runs while the child is not needed. */
  private retention: Handle | undefined;
  private ignoreReresolutionRequests = false;

  constructor(private readonly options: PriorityChildOptions) {
    const { host } = options;
    this.policy = new SwitchingChild({
      host,
      onStateChanged: () => this.onReport(),
      requestReresolution: () => {
        if (!this.ignoreReresolutionRequests) host.requestReresolution();
      },
    });
    this.startFailover();
  }

  get failoverPending(): boolean {
    return this.failover !== undefined;
  }

  /** Updates the child with its part of an update. */
  update(
    { config, ignoreReresolutionRequests }: PriorityChildConfig,
    { endpoints, context }: LbUpdate,
  ): void {
    this.ignoreReresolutionRequests = ignoreReresolutionRequests;
    this.policy.update(config, childEndpoints(endpoints, this.options.name), context);
    // A policy that replaced another one may be CONNECTING without having reported it.
    if (this.policy.state !== this.state) this.onReport();
  }

  /** Stops the retention timer: the child is needed. */
  activate(): void {
    this.retention?.release();
    this.retention = undefined;
  }

  /** Starts the retention timer: the child is not needed. */
  deactivate(): void {
    this.retention ??= this.startTimer(RETENTION_MS, (timer) => {
      if (this.retention === timer) this.options.onExpired();
    });
  }

  /** Destroys the policy and stops the timers. */
  destroy(): void {
    this.stopFailover();
    this.activate();
    this.policy.destroy();
  }

  private onReport(): void {
    const previous = this.state;
    this.state = this.policy.state;
    if (this.state === ConnectivityState.CONNECTING) {
      if (hasServed(previous)) this.startFailover();
    } else if (this.failover !== undefined) this.stopFailover();
    this.options.onChanged();
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
    const timer = afterRunning(clock, () => batch.run(() => onFired(timer)), delayMs);
    return timer;
  }
}

/** Whether a child that is CONNECTING after this state has the failover time again; else it has failed or used it up. */
function hasServed(state: ConnectivityState): boolean {
  return state === ConnectivityState.READY || state === ConnectivityState.IDLE;
}
