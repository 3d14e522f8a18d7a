import {
  PickResultType,
  Status,
  type Metadata,
  type PickArgs,
  type Picker,
  type PickResult,
} from '../../grpc-js';
import type { CallStats } from '../../observe/stats/call-stats';
import { observedCall } from '../call-attributes';

/** The key of the state of the call in the headers of an attempt. Opaque data of the host would be a map for each attempt. */
const CALL = Symbol('grpc-xds observed call');

/** The headers of an attempt of an observed call. */
interface ObservedHeaders {
  [CALL]?: CallStats;
}

/** Forwards picks to the tree, and records what becomes of them for the calls that plugins observe (gRFC A66). */
export class ObservedPicker implements Picker {
  constructor(private readonly child: Picker) {}

  pick(args: PickArgs): PickResult {
    const call = observedCall(args);
    if (call === undefined) return this.child.pick(args);
    const { metadata } = args;
    call.startPick(metadata);
    const result = this.child.pick(args);
    switch (result.pickResultType) {
      case PickResultType.COMPLETE:
        // The host passes the headers of a pick to the connection, and no others.
        if (canBeObserved(metadata)) metadata[CALL] = call;
        call.onPicked(metadata);
        break;
      case PickResultType.QUEUE:
        call.onQueued();
        break;
      case PickResultType.DROP:
        endAttempt(call, result);
        break;
      default:
        if (metadata.getOptions().waitForReady === true) call.onQueued();
        else endAttempt(call, result);
    }
    return result;
  }
}

/** The pick fails the attempt. */
function endAttempt(call: CallStats, { status }: PickResult): void {
  call.endAttempt(call.attempts, status?.code ?? Status.UNAVAILABLE, status?.details ?? '');
}

/** Returns the state of the observed call that is started with these headers; `undefined` if nothing observes it. */
export function observedCallOf(headers: Metadata): CallStats | undefined {
  return canBeObserved(headers) ? headers[CALL] : undefined;
}

/** Always: nothing else is stored under this key. */
function canBeObserved(_headers: object): _headers is ObservedHeaders {
  return true;
}
