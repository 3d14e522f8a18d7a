import type { Metadata } from '../grpc-js';
import { keepProcessAlive, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { PendingCall, type PendingOwner } from './pending-call';
import { XdsCall, type CallChannel } from './xds-call';

/** Maximum number of causes in the status of a call whose deadline has passed. */
const MAX_CAUSES = 3;

/** A call to be routed, as a config selector receives it. */
export interface CallToRoute {
  readonly method: string;
  readonly headers: Metadata;
  readonly channelId: number;
}

/** Routes calls that were pending, each once. */
export interface CallRouter {
  route(call: PendingCall, method: string, headers: Metadata, channelId: number): void;
}

export interface PendingCallsOptions {
  readonly clock: Clock;
  /** Returns the pending resources of the config, as sentences. */
  readonly waitingFor: (atMost: number) => readonly string[];
  /** Publishes the config of the channel again, so that every queued call is picked for once more. */
  readonly pickAgain: () => void;
  /** Receives changes as soon as possible until the handle is released. */
  readonly hurry: () => Handle | undefined;
}

/**
 * Pending calls: those that a channel starts while it has no config in use, which includes its first calls. They are
 * queued inside a filter until a config exists, and are routed by that: so their status can say what they waited for,
 * and a channel that was idle does not route them by its previous config.
 */
export class PendingCalls implements PendingOwner {
  private readonly calls = new Map<PendingCall, CallToRoute>();
  /** The error, if there is no config. */
  private failure: string | undefined;
  /** The error of every call from now on. */
  private finalFailure: string | undefined;
  /** Keeps the process alive while calls are pending, as the queues of grpc-js do and its filters do not. */
  private processHandle: Handle | undefined;
  /** Held while calls are pending. */
  private hurry: Handle | undefined;
  private isPickDue = false;

  constructor(private readonly options: PendingCallsOptions) {}

  /** Creates a call and queues it. It fails at once if there is an error, unless it waits for ready and the error is not final. */
  add(channel: CallChannel, toRoute: CallToRoute): XdsCall {
    const { clock } = this.options;
    const failure = this.finalFailure ?? (waitsForReady(toRoute) ? undefined : this.failure);
    if (failure !== undefined) {
      const failed = new XdsCall(channel, toRoute.method);
      failed.fail(failure);
      return failed;
    }
    const call = new PendingCall(channel, toRoute.method, this);
    clock.eventLoop?.onCall();
    this.calls.set(call, toRoute);
    this.processHandle ??= keepProcessAlive(clock);
    this.hurry ??= this.options.hurry();
    return call;
  }

  /** Clears the error, since another resolution starts. */
  begin(): void {
    this.failure = undefined;
  }

  /** Routes every call. */
  routeBy(router: CallRouter): void {
    this.failure = undefined;
    for (const [call, { method, headers, channelId }] of this.takeAll()) {
      router.route(call, method, headers, channelId);
    }
  }

  /** Fails the calls that do not wait for ready, now and until there is a config. */
  fail(details: string): void {
    this.failure = details;
    for (const [call, toRoute] of this.calls) {
      if (waitsForReady(toRoute)) continue;
      this.onEnded(call);
      call.fail(details);
    }
  }

  /** Fails every call, also those that wait for ready. */
  failAll(details: string): void {
    for (const [call] of this.takeAll()) call.fail(details);
  }

  /** Fails every call, now and from now on. */
  end(details: string): void {
    this.finalFailure = details;
    this.failAll(details);
  }

  /** Returns why there is no config yet, as sentences. */
  reasons(): readonly string[] {
    const failure = this.finalFailure ?? this.failure;
    const waits = this.options.waitingFor(MAX_CAUSES);
    if (failure === undefined) return waits;
    // The wait for the resource that the failure is about has the same cause.
    const others = waits.filter((wait) => !failure.startsWith(subjectOf(wait)));
    return [failure, ...others].slice(0, MAX_CAUSES);
  }

  onEnded(call: PendingCall): void {
    this.calls.delete(call);
    if (this.calls.size === 0) this.onNonePending();
  }

  /** Calls end in bursts: one publication serves those of a turn. */
  onDeadline(): void {
    if (this.isPickDue) return;
    this.isPickDue = true;
    this.options.clock.soon(() => {
      this.isPickDue = false;
      this.options.pickAgain();
    });
  }

  private takeAll(): Iterable<readonly [PendingCall, CallToRoute]> {
    const all = [...this.calls];
    this.calls.clear();
    this.onNonePending();
    return all;
  }

  private onNonePending(): void {
    this.hurry?.release();
    this.hurry = undefined;
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
