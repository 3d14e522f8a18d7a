/** Work that takes a turn. */
export type Turn = (onDone: () => void) => void;

/** How much of the work of a queue is in progress or waits. */
export interface FairQueueLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
  /** Of one source. */
  readonly maxWaitingOfSource: number;
}

/** Does a bounded amount of work at a time; what waits takes turns by its source, so that one with much delays no other. */
export class FairQueue {
  private running = 0;
  private waitingCount = 0;
  /** The first one is next. */
  private readonly waiting = new Map<string, Turn[]>();

  constructor(private readonly limits: FairQueueLimits) {}

  /** Whether work of a source can be done now, or can wait. */
  hasRoomFor(source: string): boolean {
    const { maxRunning, maxWaiting, maxWaitingOfSource } = this.limits;
    if (this.running < maxRunning) return true;
    const own = this.waiting.get(source)?.length ?? 0;
    return this.waitingCount < maxWaiting && own < maxWaitingOfSource;
  }

  /** Does work when it is its turn. There must be room for it. */
  add(source: string, turn: Turn): void {
    if (this.running < this.limits.maxRunning) {
      this.run(turn);
      return;
    }
    const own = this.waiting.get(source) ?? [];
    own.push(turn);
    this.waiting.set(source, own);
    this.waitingCount++;
  }

  private run(turn: Turn): void {
    this.running++;
    let isDone = false;
    turn(() => {
      if (isDone) return;
      isDone = true;
      this.running--;
      this.next();
    });
  }

  private next(): void {
    const [first] = this.waiting;
    if (first === undefined) return;
    const [source, turns] = first;
    const turn = turns.shift();
    this.waiting.delete(source);
    if (turns.length > 0) this.waiting.set(source, turns);
    if (turn === undefined) return;
    this.waitingCount--;
    this.run(turn);
  }
}
