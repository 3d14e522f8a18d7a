import type { Clock } from '../../util/clock';
import { late } from '../../util/late';
import { createHandle, type Handle } from '../../util/handle';
import type * as Module from './target-rates';
import type { TargetRates } from './target-rates';

/** Loaded when the first call is counted. */
const loadTargetRates = late<typeof Module>(() => require('./target-rates'));

/** The targets that are counted; calls of further ones are not. */
const MAX_TARGETS = 1000;

/** What was counted since counting began. */
export class Counting {
  private readonly targets = new Map<string, TargetRates>();

  /** @param sinceMs When counting began, by the monotonic clock. */
  constructor(readonly sinceMs: number) {}

  /** Returns the rates of a target; `undefined` if there are too many targets. */
  target(target: string): TargetRates | undefined {
    const known = this.targets.get(target);
    if (known !== undefined || this.targets.size >= MAX_TARGETS) return known;
    const created = new (loadTargetRates().TargetRates)(this.sinceMs);
    this.targets.set(target, created);
    return created;
  }

  /** Returns the rates of a target; `undefined` if nothing was counted of it. */
  find(target: string): TargetRates | undefined {
    return this.targets.get(target);
  }
}

/** Counts the calls of the process while at least one page is served, and not at other times. */
export class ProcessRates {
  private users = 0;
  private current: Counting | undefined;

  /** What is counted; `undefined` if nothing is. */
  get counting(): Counting | undefined {
    return this.current;
  }

  /** Counts until the handle is released. What was counted is forgotten with the last release. */
  acquire(clock: Pick<Clock, 'monotonicMs'>): Handle {
    this.users++;
    this.current ??= new Counting(clock.monotonicMs());
    return createHandle(() => {
      if (--this.users === 0) this.current = undefined;
    });
  }

  /** Returns what channels of a target count with. */
  channel(target: string): ChannelRates {
    return new ChannelRates(this, target);
  }
}

/** Finds the rates of the target of a channel. */
export class ChannelRates {
  private counting: Counting | undefined;
  private found: TargetRates | undefined;

  constructor(
    private readonly process: Pick<ProcessRates, 'counting'>,
    private readonly target: string,
  ) {}

  /** The rates of the target; `undefined` while nothing is counted. */
  get current(): TargetRates | undefined {
    const { counting } = this.process;
    if (counting !== this.counting) {
      this.counting = counting;
      this.found = counting?.target(this.target);
    }
    return this.found;
  }
}

/** Counts the calls of this process. */
export const processRates = new ProcessRates();
