import type { PriorityChild } from './child';
import { PriorityStandings, type PriorityChoice } from './choose-priority';

/** The priorities of one config. A change of a child, and the step to the next priority, take constant time. */
export class PriorityOrder {
  private readonly positions: ReadonlyMap<string, number>;
  private readonly standings: PriorityStandings;
  /** All children before this position are active. */
  private activeEnd = 0;
  /** All children from this position on are inactive. */
  private inactiveStart: number;

  /**
   * @param names Best first.
   * @param children Those that are created.
   */
  constructor(
    readonly names: readonly string[],
    private readonly children: ReadonlyMap<string, PriorityChild>,
  ) {
    this.positions = new Map(names.map((name, position) => [name, position]));
    this.standings = new PriorityStandings(names.length);
    this.inactiveStart = names.length;
    for (const name of children.keys()) this.note(name);
  }

  /** Returns the position of a priority; `undefined` if the config has none of that name. */
  positionOf(name: string): number | undefined {
    return this.positions.get(name);
  }

  /** Takes the state of a child, which has changed. */
  note(name: string): void {
    const position = this.positions.get(name);
    if (position !== undefined) this.standings.set(position, this.children.get(name));
  }

  choose(): PriorityChoice | undefined {
    return this.standings.choose();
  }

  /** Activates and deactivates the children, as far as they are not. */
  apply({ activeEnd, unneededStart }: PriorityChoice): void {
    for (let i = this.activeEnd; i < activeEnd; i++) this.childAt(i)?.activate();
    this.activeEnd = Math.min(Math.max(this.activeEnd, activeEnd), unneededStart);
    const inactiveStart = Math.max(this.inactiveStart, activeEnd);
    for (let i = unneededStart; i < inactiveStart; i++) this.childAt(i)?.deactivate();
    this.inactiveStart = Math.min(inactiveStart, unneededStart);
  }

  private childAt(position: number): PriorityChild | undefined {
    return this.children.get(this.names[position] ?? '');
  }
}
