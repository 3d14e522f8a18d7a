import { ConnectivityState } from '../../grpc-js';

/** What the choice goes by. */
export interface PriorityState {
  readonly state: ConnectivityState;
  /** Whether the child still has time to come up before the next one is tried. */
  readonly failoverPending: boolean;
}

/** A priority; `child` is `undefined` if none was created for it yet. */
export interface Priority {
  readonly child: PriorityState | undefined;
}

/** Which priority to use, and what becomes of the others. */
export interface PriorityChoice<P extends Priority> {
  /** If it has no child yet, one is to be created. */
  readonly chosen: P;
  /** Priorities to be kept active, the chosen one among them. */
  readonly active: readonly P[];
  /** Priorities to be deactivated. Those in neither list stay as they are. */
  readonly unneeded: readonly P[];
}

/**
 * Chooses the priority to use (gRFC A56): the first that is READY or IDLE, or still has time. A child that
 * has to be created first always has time. When there is none, the first that is CONNECTING, else the last.
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
