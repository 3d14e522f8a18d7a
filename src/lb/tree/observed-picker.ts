import {
  PickResultType,
  Status,
  type Metadata,
  type PickArgs,
  type Picker,
  type PickResult,
} from '../../grpc-js';
import { CallStats } from '../../stats/call-stats';
import { observedCall } from '../call-attributes';

/** The opaque key of the headers of an attempt with the state of its call. */
const CALL = 'xds.observed_call';

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
        metadata.setOpaque(CALL, call);
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
  const call: unknown = headers.getOpaque(CALL);
  return call instanceof CallStats ? call : undefined;
}
