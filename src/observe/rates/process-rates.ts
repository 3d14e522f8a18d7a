import type { Clock } from '../../util/clock';
import { lazy } from '../../util/lazy';
import { createHandle, type Handle } from '../../util/handle';
import type * as Module from './target-rates';
import type { TargetRates } from './target-rates';

/** Loaded when the first call is counted. */
const loadTargetRates = lazy<typeof Module>(() => require('./target-rates'));

/** The targets that are counted; calls of further ones are not. */
const MAX_TARGETS = 1000;

/** Counts the calls of the process while at least one page is served, and not at other times. */
export class ProcessRates {
  private users = 0;
  private sinceMs = 0;
  /** The rates of each target, in another map each time that counting begins; `undefined` while nothing is counted. */
  counting: Map<string, TargetRates> | undefined;

  /** Counts until the handle is released. What was counted is forgotten with the last release. */
  acquire(clock: Pick<Clock, 'monotonicMs'>): Handle {
    if (this.users++ === 0) {
      this.sinceMs = clock.monotonicMs();
      this.counting = new Map();
    }
    return createHandle(() => {
      if (--this.users === 0) this.counting = undefined;
    });
  }

  /** Returns the rates of a target; `undefined` if nothing is counted, and if there are too many targets. */
  target(target: string): TargetRates | undefined {
    const { counting } = this;
    if (counting === undefined) return undefined;
    const known = counting.get(target);
    if (known !== undefined || counting.size >= MAX_TARGETS) return known;
    const created = new (loadTargetRates().TargetRates)(this.sinceMs);
    counting.set(target, created);
    return created;
  }

  /** Returns what channels of a target count with. */
  channel(target: string): ChannelRates {
    return new ChannelRates(this, target);
  }
}

/** Finds the rates of the target of a channel. */
export class ChannelRates {
  private counting: ProcessRates['counting'];
  private found: TargetRates | undefined;

  constructor(
    private readonly process: ProcessRates,
    private readonly target: string,
  ) {}

  /** The rates of the target; `undefined` while nothing is counted. */
  get current(): TargetRates | undefined {
    const { counting } = this.process;
    if (counting !== this.counting) {
      this.counting = counting;
      this.found = this.process.target(this.target);
    }
    return this.found;
  }
}

/** Counts the calls of this process. */
export const processRates = new ProcessRates();
