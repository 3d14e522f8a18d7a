import type { CallConfig, ConfigSelector, Metadata } from '../grpc-js';
import { keepProcessAlive, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { failCall } from './config-selector';
import { PendingCall, type CallToRoute } from './pending-call';

/** Queues the calls of a channel that has no config yet. */
export class PendingSelector implements ConfigSelector {
  constructor(private readonly pendingCalls: PendingCalls) {}

  invoke(method: string, headers: Metadata, channelId: number): CallConfig {
    return this.pendingCalls.add({ method, headers, channelId });
  }

  unref(): void {}
}

/**
 * A config selector that queues calls once its resolution has ended. A channel keeps its selector while it is idle, and
 * uses it for the first calls after that.
 */
export class ExpiringSelector implements ConfigSelector {
  constructor(
    private readonly selector: ConfigSelector,
    private readonly isExpired: () => boolean,
    private readonly pendingCalls: PendingCalls,
  ) {}

  invoke(method: string, headers: Metadata, channelId: number): CallConfig {
    return this.isExpired()
      ? this.pendingCalls.add({ method, headers, channelId })
      : this.selector.invoke(method, headers, channelId);
  }

  unref(): void {
    this.selector.unref();
  }
}

/** Maximum number of causes in the status of a call whose deadline has passed. */
const MAX_CAUSES = 3;

export interface PendingCallsOptions {
  readonly clock: Clock;
  /** Returns the pending resources of the config, as sentences. */
  readonly waitingFor: (atMost: number) => readonly string[];
  /** Publishes the config of the channel again, so that every queued call is picked for once more. */
  readonly pickAgain: () => void;
}

/**
 * Pending calls: those that a channel starts while it has no config in use, which includes its first calls. They are
 * queued inside a filter until a config exists, and are routed by that: so their status can say what they waited for,
 * and a channel that was idle does not route them by its previous config.
 */
export class PendingCalls {
  private readonly calls = new Set<PendingCall>();
  /** The error, if there is no config. */
  private failure: string | undefined;
  /** The error of every call from now on. */
  private finalFailure: string | undefined;
  /** Keeps the process alive while calls are pending, as the queues of grpc-js do and its filters do not. */
  private processHandle: Handle | undefined;
  private isPickDue = false;

  constructor(private readonly options: PendingCallsOptions) {}

  /** Queues a call. It fails at once if there is an error, unless it waits for ready and the error is not final. */
  add(toRoute: CallToRoute): CallConfig {
    const { clock } = this.options;
    if (this.finalFailure !== undefined) return failCall(this.finalFailure);
    if (this.failure !== undefined && !waitsForReady(toRoute)) return failCall(this.failure);
    const call = new PendingCall(toRoute, clock, {
      reasons: () => this.reasons(),
      onEnded: () => this.remove(call),
      onDeadline: () => this.requestPick(),
    });
    clock.eventLoop?.onCall();
    this.calls.add(call);
    this.processHandle ??= keepProcessAlive(clock);
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

  /** Fails every call, now and from now on. */
  end(details: string): void {
    this.finalFailure = details;
    this.failAll(details);
  }

  /** Returns why there is no config yet, as sentences. */
  private reasons(): readonly string[] {
    const { failure } = this;
    const waits = this.options.waitingFor(MAX_CAUSES);
    if (failure === undefined) return waits;
    // The wait for the resource that the failure is about has the same cause.
    const others = waits.filter((wait) => !failure.startsWith(subjectOf(wait)));
    return [failure, ...others].slice(0, MAX_CAUSES);
  }

  /** Calls end in bursts: one publication serves those of a turn. */
  private requestPick(): void {
    if (this.isPickDue) return;
    this.isPickDue = true;
    this.options.clock.soon(() => {
      this.isPickDue = false;
      this.options.pickAgain();
    });
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

/** Returns the resource that a text is about, such as `Listener "echo": `. */
function subjectOf(wait: string): string {
  return wait.slice(0, wait.indexOf(': waiting for ') + 2);
}
