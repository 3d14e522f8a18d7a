import type { Clock } from '../util/clock';
import type { Random } from '../util/random';
import { ResourceTimers } from './resource-timers';

/** Constructor options of the waits. */
export interface ResourceWaitsOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly random: Random;
  /** Milliseconds after which a resource is concluded to be missing. */
  readonly timeoutMs: number;
  /** A resource has not come in time. */
  readonly onTimeout: (typeUrl: string, name: string) => void;
  /** A resource that should be asked for once more has not come yet. */
  readonly onOverdue: (typeUrl: string, name: string) => void;
}

/** By type and name, when waits end, on the monotonic clock. */
export type Deadlines = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** No deadlines. */
export const NO_DEADLINES: Deadlines = new Map();

/** The share of the timeout that is left for a second stream to answer in. */
const SECOND_CHANCE = 1 / 3;

/**
 * Waits for what was asked for on one stream and has not come yet (gRFC A57). A wait ends with the resource, or
 * with the conclusion that there is none; what was asked for in the course of a stream is overdue some time
 * before that. See docs/decisions/0007-asking-again.md.
 */
export class ResourceWaits {
  private readonly conclusions: ResourceTimers;
  private readonly overdue: ResourceTimers;

  /** @param inherited When waits were to end that began on an earlier stream, which was replaced for them. */
  constructor(
    private readonly options: ResourceWaitsOptions,
    private readonly inherited: Deadlines,
  ) {
    this.conclusions = new ResourceTimers(options.clock);
    this.overdue = new ResourceTimers(options.clock);
  }

  /**
   * Begins to wait for a resource, unless it is being waited for.
   * @param mayBeLost Whether the server may have missed the question, so that asking once more may help.
   */
  start(typeUrl: string, name: string, mayBeLost: boolean): void {
    const { clock, random, timeoutMs, onTimeout, onOverdue } = this.options;
    const deadline = this.inherited.get(typeUrl)?.get(name);
    if (deadline !== undefined) {
      const restMs = Math.max(deadline - clock.monotonicMs(), timeoutMs * SECOND_CHANCE);
      this.conclusions.start(typeUrl, name, restMs, () => onTimeout(typeUrl, name));
      return;
    }
    this.conclusions.start(typeUrl, name, timeoutMs, () => onTimeout(typeUrl, name));
    if (!mayBeLost) return;
    // Clients that lost a resource together do not come back together.
    const patience = (1 - SECOND_CHANCE) * (1 - random() / 4);
    this.overdue.start(typeUrl, name, timeoutMs * patience, () => onOverdue(typeUrl, name));
  }

  /** Ends the wait for a resource. */
  end(typeUrl: string, name: string): void {
    this.conclusions.cancel(typeUrl, name);
    this.overdue.cancel(typeUrl, name);
  }

  /** The resources of a type that pass the filter are not overdue: the server has listed all there is. Waits go on. */
  endOverdue(typeUrl: string, filter: (name: string) => boolean): void {
    this.overdue.cancelType(typeUrl, filter);
  }

  /** Ends no wait by time until `resume` is called: what is awaited may be in the response that is being read. */
  pause(): void {
    this.conclusions.pause();
    this.overdue.pause();
  }

  /** Lets waits end by time again, beginning with those whose time has passed. */
  resume(): void {
    this.conclusions.resume();
    this.overdue.resume();
  }

  /** Ends every wait. */
  clear(): void {
    this.conclusions.clear();
    this.overdue.clear();
  }

  /** Whether nothing is being waited for. */
  get isEmpty(): boolean {
    return this.conclusions.isEmpty;
  }

  /** When the waits end that have not ended. */
  deadlines(): Deadlines {
    return this.conclusions.deadlines();
  }

  /** Milliseconds until a resource is concluded to be missing; `undefined` if it is not being waited for. */
  remainingMs(typeUrl: string, name: string): number | undefined {
    return this.conclusions.remainingMs(typeUrl, name);
  }
}
