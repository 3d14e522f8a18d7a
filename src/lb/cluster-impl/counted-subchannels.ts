import { PickResultType, type PickResult, type Subchannel } from '../../grpc-js';
import type { CallStatus } from '../../grpc-js/handed-over';
import { ContainedListener } from '../../grpc-js/host-call';
import {
  InterceptedSubchannel,
  type CallListener,
  type CreateCall,
} from '../../grpc-js/subchannel-wrappers';

/** Counts calls. */
export interface CallCount {
  /** Counts the start of a call. */
  start(): void;
  /** Counts the end of a call that was started. */
  end(): void;
}

/** A complete pick of a counted subchannel. */
interface CountedPick extends PickResult {
  readonly subchannel: InterceptedSubchannel;
}

/**
 * Creates subchannels whose calls are counted from their start to their status.
 *
 * The callbacks of a pick result do not serve: grpc-js runs `onCallStarted` for a call that has just failed (one with two
 * `authorization` values) and never runs its `onCallEnded`, so the count would only grow. Calls started on a subchannel
 * always end.
 */
export class CountedSubchannels<Counter extends CallCount> {
  /** Created for the first call: most processes use few of their clusters. */
  private picks: WeakMap<Subchannel, CountedPick> | undefined;

  constructor(readonly counter: Counter) {}

  /**
   * Returns a complete pick with the counted form of its subchannel. Picks without callbacks, which are most, share one
   * object per subchannel.
   */
  countPick({ onCallStarted, onCallEnded }: PickResult, subchannel: Subchannel): CountedPick {
    const shared = this.picks?.get(subchannel) ?? this.createPick(subchannel);
    if (onCallStarted === null && onCallEnded === null) return shared;
    return { ...shared, onCallStarted, onCallEnded };
  }

  /** Returns what starts the calls on a subchannel, and counts them. */
  protected createCallOf(subchannel: Subchannel): CreateCall {
    const { counter } = this;
    return (metadata, host, method, listener, callId) => {
      counter.start();
      try {
        const counted = new CountedCallListener(listener, counter);
        const connection = subchannel.getRealSubchannel();
        return connection.createCall(metadata, host, method, counted, callId);
      } catch (error) {
        counter.end();
        throw error;
      }
    };
  }

  private createPick(subchannel: Subchannel): CountedPick {
    const created: CountedPick = {
      pickResultType: PickResultType.COMPLETE,
      subchannel: new InterceptedSubchannel(subchannel, this.createCallOf(subchannel)),
      status: null,
      onCallStarted: null,
      onCallEnded: null,
    };
    (this.picks ??= new WeakMap()).set(subchannel, created);
    return created;
  }
}

class CountedCallListener extends ContainedListener {
  constructor(
    next: CallListener,
    private readonly counter: CallCount,
  ) {
    super(next);
  }

  protected override get place(): string {
    return 'the counts of a call';
  }

  protected override onStatus(status: CallStatus): CallStatus {
    this.counter.end();
    return status;
  }
}
