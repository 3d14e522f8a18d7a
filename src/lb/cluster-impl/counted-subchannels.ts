import { toAuthority } from '../../bootstrap/resource-template';
import { PickResultType, type PickResult, type Subchannel } from '../../grpc-js';
import {
  InterceptedSubchannel,
  type CallListener,
  type CreateCall,
} from '../../grpc-js/subchannel-wrappers';
import type { ConnectionSecurity } from '../../security/client/connection-security';
import type { CallCounter } from './call-counter';
import { refuseCallCredentials } from './call-credentials';
import type { CallLoad } from './cluster-loads';
import type { EndpointCalls } from './endpoint-calls';
import type { ObservedCluster } from './observed-cluster';
import { correctPushback } from './retry-pushback';

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

/** Finds the load counts of a subchannel, which count its calls as well. */
interface LoadLookup {
  of(subchannel: Subchannel): CallLoad;
}

/** Finds the counts of the calls on the endpoint of a subchannel. */
interface CallLookup {
  of(subchannel: Subchannel): EndpointCalls;
}

/**
 * Creates subchannels whose calls are counted from their start to their status.
 *
 * The callbacks of a pick result do not serve: grpc-js runs `onCallStarted` for a call that has just failed (one with two
 * `authorization` values) and never runs its `onCallEnded`, so the count would only grow. Calls started on a subchannel
 * always end.
 */
export class CountedSubchannels<Counter extends CallCount = CallCounter> {
  /** Created for the first call: most processes use few of their clusters. */
  private counted: WeakMap<Subchannel, CountedPick> | undefined;
  private refuses = false;

  /**
   * @param loads Absent if no load is reported.
   * @param securityOf Returns what secures a subchannel; absent if another policy sees to call credentials.
   * @param observed Absent if no plugin observes the calls.
   * @param calls Absent if calls are not counted by endpoint.
   */
  constructor(
    readonly counter: Counter,
    private readonly loads?: LoadLookup,
    private readonly securityOf?: (subchannel: Subchannel) => ConnectionSecurity,
    private readonly observed?: ObservedCluster,
    private readonly calls?: CallLookup,
  ) {}

  /** Whether a subchannel is insecure, and so refuses watched calls with call credentials. */
  get refusesCallCredentials(): boolean {
    return this.refuses;
  }

  /**
   * Returns a complete pick with the counted form of its subchannel. Picks without callbacks, which are most, share one
   * object per subchannel.
   */
  countPick({ onCallStarted, onCallEnded }: PickResult, subchannel: Subchannel): CountedPick {
    const shared = this.pickOf(subchannel);
    if (onCallStarted === null && onCallEnded === null) return shared;
    return createPick(shared.subchannel, onCallStarted, onCallEnded);
  }

  private pickOf(subchannel: Subchannel): CountedPick {
    const known = this.counted?.get(subchannel);
    if (known !== undefined) return known;
    const created = createPick(this.create(subchannel), null, null);
    (this.counted ??= new WeakMap()).set(subchannel, created);
    return created;
  }

  private create(subchannel: Subchannel): InterceptedSubchannel {
    const counted = createCountedCall(subchannel, {
      counter: this.counter,
      load: this.loads?.of(subchannel),
      endpoint: this.calls?.of(subchannel),
    });
    const createCall = this.observed?.observeCalls(subchannel, counted) ?? counted;
    if (this.securityOf?.(subchannel).kind !== 'insecure') {
      return new InterceptedSubchannel(subchannel, createCall);
    }
    this.refuses = true;
    return new InterceptedSubchannel(subchannel, refuseCallCredentials(createCall));
  }
}

function createPick(
  subchannel: InterceptedSubchannel,
  onCallStarted: PickResult['onCallStarted'],
  onCallEnded: PickResult['onCallEnded'],
): CountedPick {
  const pickResultType = PickResultType.COMPLETE;
  return { pickResultType, subchannel, status: null, onCallStarted, onCallEnded };
}

/** Everything that counts the calls of one subchannel. */
interface Counts {
  readonly counter: CallCount;
  readonly load: CallLoad | undefined;
  readonly endpoint: EndpointCalls | undefined;
}

function createCountedCall(subchannel: Subchannel, counts: Counts): CreateCall {
  const { counter, load, endpoint } = counts;
  // Calls of a channel have one authority, which is encoded unless the application has set it.
  let lastHost = '';
  let authority = '';
  return (metadata, host, method, listener, callId) => {
    counter.start();
    load?.start();
    const startedAtMs = endpoint === undefined ? 0 : endpoint.start();
    try {
      const counted = new CountedCallListener(listener, counts, startedAtMs);
      if (host !== lastHost) {
        authority = toAuthority(host);
        lastHost = host;
      }
      return subchannel
        .getRealSubchannel()
        .createCall(metadata, authority, method, counted, callId);
    } catch (error) {
      counter.end();
      load?.withdraw();
      endpoint?.end(0);
      throw error;
    }
  };
}

class CountedCallListener implements CallListener {
  constructor(
    private readonly next: CallListener,
    private readonly counts: Counts,
    private readonly startedAtMs: number,
  ) {}

  onReceiveMetadata(metadata: Parameters<CallListener['onReceiveMetadata']>[0]): void {
    this.next.onReceiveMetadata(metadata);
  }

  onReceiveMessage(message: unknown): void {
    this.next.onReceiveMessage(message);
  }

  onReceiveStatus(status: Parameters<CallListener['onReceiveStatus']>[0]): void {
    // First, so that a call made in the application's callback is not over the limit.
    const { counter, load, endpoint } = this.counts;
    counter.end();
    load?.end(status);
    endpoint?.end(this.startedAtMs);
    correctPushback(status);
    this.next.onReceiveStatus(status);
  }
}
