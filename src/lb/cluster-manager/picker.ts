import { Status } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import { callAttributes } from '../call-attributes';
import { createDropResult } from '../drop-result';

/** What the picker looks up. Both are live: they are those of the policy, and change with it. */
export interface ClusterPickers {
  /** The pickers of the children, by name. */
  readonly current: ReadonlyMap<string, Picker>;
  /** Names of children that were removed not long ago. */
  readonly removed: ReadonlySet<string>;
}

/**
 * Hands each call to the child its config selector chose (gRFC A31). As the pickers of the children are
 * looked up in a live map, a change of one child among many costs one small object.
 */
export class ClusterManagerPicker implements Picker {
  constructor(private readonly pickers: ClusterPickers) {}

  pick(args: PickArgs): PickResult {
    const name = callAttributes(args)?.cluster;
    if (name === undefined) {
      return createDropResult(
        Status.INTERNAL,
        'The call was assigned no cluster by an xds resolver',
      );
    }
    return this.pickers.current.get(name)?.pick(args) ?? this.failUnknown(name);
  }

  private failUnknown(name: string): PickResult {
    const quoted = JSON.stringify(name);
    return this.pickers.removed.has(name)
      ? createDropResult(Status.UNAVAILABLE, `${quoted} was removed while the call waited for it`)
      : createDropResult(Status.INTERNAL, `${quoted} is not part of the load-balancing config`);
  }
}
