import { ConnectivityState } from '../../grpc-js';

/** The state of a child that decides whether it is chosen. */
export interface PriorityState {
  readonly state: ConnectivityState;
  /** Whether the failover timer of the child is running. */
  readonly failoverPending: boolean;
}

/** The priority to use, and the changes of the others. All are positions, best first. */
export interface PriorityChoice {
  /** The priority to use. Its child is created if it has none. */
  readonly chosen: number;
  /** The priorities before this one are activated, including the chosen one. */
  readonly activeEnd: number;
  /** The priorities from this one on are deactivated. Those in between do not change. */
  readonly unneededStart: number;
}

const FAILED = 0;
/** CONNECTING, and out of time. */
const LATE = 1;
/** Not created yet, or CONNECTING in time. */
const PENDING = 2;
/** READY or IDLE: an idle child connects as soon as it is picked from. */
const SERVING = 3;

/** @param child `undefined` if none was created yet. */
function standingOf(child: PriorityState | undefined): number {
  const { CONNECTING, IDLE, READY } = ConnectivityState;
  if (child === undefined) return PENDING;
  if (child.state === READY || child.state === IDLE) return SERVING;
  if (child.failoverPending) return PENDING;
  return child.state === CONNECTING ? LATE : FAILED;
}

/** A child whose retention timer runs while it is not active. */
interface Activatable extends PriorityState {
  activate(): void;
  deactivate(): void;
}

/** The priorities of one config. A change of a child, and the step to the next priority, take constant time. */
export class PriorityOrder {
  private readonly positions = new Map<string, number>();
  /** In one byte each: an aggregate cluster may have thousands of priorities, of which each may fail in its turn. */
  private readonly standings: Uint8Array;
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
    private readonly children: ReadonlyMap<string, Activatable>,
  ) {
    for (const [position, name] of names.entries()) this.positions.set(name, position);
    this.standings = new Uint8Array(names.length).fill(PENDING);
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
    if (position !== undefined) this.standings[position] = standingOf(this.children.get(name));
  }

  /**
   * Chooses the priority to use (gRFC A56): the first whose child is READY or IDLE, has its failover timer running, or is not
   * created yet; else the first that is CONNECTING; else the last.
   *
   * @returns `undefined` when there are none.
   */
  choose(): PriorityChoice | undefined {
    const { standings } = this;
    const size = standings.length;
    if (size === 0) return undefined;
    const pending = standings.indexOf(PENDING);
    const serving = standings.indexOf(SERVING);
    // Those behind one that has time to connect stay as they are.
    if (serving >= 0 && (pending < 0 || serving < pending))
      return { chosen: serving, activeEnd: serving + 1, unneededStart: serving + 1 };
    if (pending >= 0) return { chosen: pending, activeEnd: pending + 1, unneededStart: size };
    const late = standings.indexOf(LATE);
    return { chosen: late < 0 ? size - 1 : late, activeEnd: size, unneededStart: size };
  }

  /** Activates and deactivates the children, as far as they are not. */
  apply({ activeEnd, unneededStart }: PriorityChoice): void {
    for (let i = this.activeEnd; i < activeEnd; i++) this.childAt(i)?.activate();
    this.activeEnd = Math.min(Math.max(this.activeEnd, activeEnd), unneededStart);
    const inactiveStart = Math.max(this.inactiveStart, activeEnd);
    for (let i = unneededStart; i < inactiveStart; i++) this.childAt(i)?.deactivate();
    this.inactiveStart = Math.min(inactiveStart, unneededStart);
  }

  private childAt(position: number): Activatable | undefined {
    return this.children.get(this.names[position] ?? '');
  }
}
