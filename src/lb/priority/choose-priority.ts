import { ConnectivityState } from '../../grpc-js';

/** The state of a child that decides whether it is chosen. */
export interface PriorityState {
  readonly state: ConnectivityState;
  /** Whether the failover timer of the child is running. */
  readonly failoverPending: boolean;
}

/** A priority; `child` is `undefined` if none was created for it yet. */
export interface Priority {
  readonly child: PriorityState | undefined;
}

/** The priority to use, and the changes of the others. */
export interface PriorityChoice<P extends Priority> {
  /** The priority to use. Its child is created if it has none. */
  readonly chosen: P;
  /** The priorities to activate, including the chosen one. */
  readonly active: readonly P[];
  /** The priorities to deactivate. Those in neither list do not change. */
  readonly unneeded: readonly P[];
}

/**
 * Chooses the priority to use (gRFC A56): the first whose child is READY or IDLE, has its failover timer running, or is not
 * created yet; else the first that is CONNECTING; else the last.
 *
 * @param priorities Best first.
 * @returns `undefined` when there are none.
 */
export function choosePriority<P extends Priority>(
  priorities: readonly P[],
): PriorityChoice<P> | undefined {
  for (const [i, chosen] of priorities.entries()) {
    const { child } = chosen;
    const active = priorities.slice(0, i + 1);
    // An idle child connects as soon as it is picked from.
    if (child?.state === ConnectivityState.READY || child?.state === ConnectivityState.IDLE) {
      return { chosen, active, unneeded: priorities.slice(i + 1) };
    }
    if (child === undefined || child.failoverPending) return { chosen, active, unneeded: [] };
  }
  const chosen =
    priorities.find(({ child }) => child?.state === ConnectivityState.CONNECTING) ??
    priorities.at(-1);
  return chosen === undefined ? undefined : { chosen, active: priorities, unneeded: [] };
}
