import { PickResultType, Status, type PickArgs, type Picker, type PickResult } from '../../grpc-js';
import type { CallStats } from '../../observe/stats/call-stats';
import { callAttributes } from '../call-attributes';

/** Forwards picks to the tree, and records what becomes of them for the calls that plugins observe (gRFC A66). */
export class ObservedPicker implements Picker {
  constructor(private readonly child: Picker) {}

  pick(args: PickArgs): PickResult {
    const call = callAttributes(args)?.stats;
    if (call === undefined) return this.child.pick(args);
    const { metadata } = args;
    call.startPick(metadata);
    const result = this.child.pick(args);
    switch (result.pickResultType) {
      case PickResultType.COMPLETE:
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
