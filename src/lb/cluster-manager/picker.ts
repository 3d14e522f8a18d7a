import { quoteText } from '../../util/cut-text';
import { Status, type PickArgs, type Picker, type PickResult } from '../../grpc-js';
import { callAttributes } from '../call-attributes';
import { createDropResult, QUEUED } from '../connectivity';

/** The children of the policy, which change while the picker is in use. */
export interface ClusterPickers {
  readonly current: ReadonlyMap<string, Picker>;
  /** The names of children that are not created yet. */
  readonly due: ReadonlySet<string>;
  /** The names of children that were removed recently. */
  readonly removed: ReadonlySet<string>;
}

/**
 * Forwards each pick to the child that the config selector chose (gRFC A31). The pickers of the children are looked up
 * in a map of the policy, so a change of one child among many costs one small object.
 */
export class ClusterManagerPicker implements Picker {
  /** @param onDue Called when a call waits for a child that is not created yet. */
  constructor(
    private readonly pickers: ClusterPickers,
    private readonly onDue: (name: string) => void,
  ) {}

  pick(args: PickArgs): PickResult {
    const call = callAttributes(args);
    if (call === undefined) {
      return createDropResult(
        Status.INTERNAL,
        'The call was assigned no cluster by an xds resolver',
      );
    }
    const { cluster, endedPick } = call;
    const result =
      endedPick ?? this.pickers.current.get(cluster)?.pick(args) ?? this.pickMissing(cluster);
    return call.onPick === undefined ? result : call.onPick(result);
  }

  private pickMissing(cluster: string): PickResult {
    if (this.pickers.due.has(cluster)) {
      this.onDue(cluster);
      return QUEUED;
    }
    const quoted = quoteText(cluster);
    return this.pickers.removed.has(cluster)
      ? createDropResult(Status.UNAVAILABLE, `${quoted} was removed while the call waited for it`)
      : createDropResult(Status.INTERNAL, `${quoted} is not part of the load-balancing config`);
  }
}
