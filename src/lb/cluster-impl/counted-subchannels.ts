import { toAuthority } from '../../bootstrap/resource-template';
import {
  PickResultType,
  type PickResult,
  type Subchannel,
  CallCredentials,
  Metadata,
  Status,
  type StatusObject,
} from '../../grpc-js';
import { hasCallCredentials } from '../../grpc-js/call-metadata';
import type { CallStatus } from '../../grpc-js/handed-over';
import { ContainedListener } from '../../grpc-js/host-call';
import {
  InterceptedSubchannel,
  type CallListener,
  type CreateCall,
  withCallCredentials,
  FailedCall,
} from '../../grpc-js/subchannel-wrappers';
import { securityOf } from '../../security/client/connection-security';
import type { BrokenCalls } from './broken-calls';
import type { CallCounter } from './circuit-breaker';
import type { CallLoad, ClusterLoads } from './cluster-loads';
import type { ClusterCalls, EndpointCalls } from './endpoint-calls';
import type { ObservedCluster } from './observed-cluster';
import { quoteName } from '../../util/text';

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
export class CountedSubchannels<Counter extends CallCount = CallCounter> {
  /** Created for the first call: most processes use few of their clusters. */
  private counted: WeakMap<Subchannel, CountedPick> | undefined;
  private refuses = false;

  /**
   * @param loads Absent if no load is reported.
   * @param cluster Its name, for the text of refused calls; absent if another policy sees to call credentials.
   * @param observed Absent if no plugin observes the calls.
   * @param calls Absent if calls are not counted by endpoint.
   * @param broken Absent if another policy completes the texts of calls.
   */
  constructor(
    readonly counter: Counter,
    private readonly loads?: Pick<ClusterLoads, 'of'>,
    private readonly cluster?: string,
    private readonly observed?: ObservedCluster,
    private readonly calls?: Pick<ClusterCalls, 'of'>,
    private readonly broken?: BrokenCalls,
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
      broken: this.broken,
      subchannel,
    });
    const createCall = this.observed?.observeCalls(subchannel, counted) ?? counted;
    const { cluster } = this;
    if (cluster === undefined || securityOf(subchannel).kind !== 'insecure') {
      return new InterceptedSubchannel(subchannel, createCall);
    }
    this.refuses = true;
    // A text for each endpoint would be made for calls that hardly any application makes.
    const refused = () => refusal(cluster, subchannel);
    return new InterceptedSubchannel(subchannel, refuseCallCredentials(createCall, refused));
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
  readonly broken: BrokenCalls | undefined;
  readonly subchannel: Subchannel;
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
      endpoint?.withdraw(startedAtMs);
      throw error;
    }
  };
}

class CountedCallListener extends ContainedListener {
  constructor(
    next: CallListener,
    private readonly counts: Counts,
    private readonly startedAtMs: number,
  ) {
    super(next);
  }

  protected override get place(): string {
    return 'the counts of a call';
  }

  protected override onStatus(status: CallStatus): CallStatus {
    // First, so that a call made in the application's callback is not over the limit.
    const { counter, load, endpoint, broken, subchannel } = this.counts;
    counter.end();
    load?.end(status);
    endpoint?.end(this.startedAtMs, status.code);
    correctPushback(status);
    const isExplained = broken !== undefined && status.code !== Status.OK;
    return isExplained ? broken.explain(status, subchannel) : status;
  }
}

/** Why a call with call credentials fails on a connection that is not secure. */
function refusal(cluster: string, subchannel: Pick<Subchannel, 'getAddress'>) {
  const subject = `Cluster ${quoteName(cluster)}: ${subchannel.getAddress()}`;
  const details =
    `${subject}: call credentials are not sent over an insecure connection: neither the credentials of the channel nor the ` +
    'cluster provide TLS: give the channel or the cluster TLS';
  return { code: Status.UNAUTHENTICATED, details };
}

/** Returns the function that starts calls, for an insecure connection: watched calls with call credentials fail. */
function refuseCallCredentials(
  createCall: CreateCall,
  refused: () => ReturnType<typeof refusal>,
): CreateCall {
  return (metadata, host, method, listener, callId) =>
    hasCallCredentials(metadata)
      ? new FailedCall(refused(), listener, callId)
      : createCall(metadata, host, method, listener, callId);
}

/** Creates call credentials with which each call fails. */
function refusing(refused: ReturnType<typeof refusal>): CallCredentials {
  return CallCredentials.createFromMetadataGenerator((_options, callback) => {
    callback(Object.assign(new Error(refused.details), { ...refused, metadata: new Metadata() }));
  });
}

/**
 * Adds call credentials to a pick (gRFC A83). They fail the call if the connection is not known to be secure; grpc-js
 * does not see to that.
 *
 * @param connection The subchannel that was picked.
 * @param cluster Its name, for the text of refused calls.
 */
export function addCallCredentials(
  picked: Subchannel,
  credentials: CallCredentials,
  connection: Subchannel,
  cluster: string,
): Subchannel {
  const { kind } = securityOf(connection);
  const isSecure = kind === 'policy' || kind === 'application';
  return withCallCredentials(
    picked,
    isSecure ? credentials : refusing(refusal(cluster, connection)),
  );
}

const PUSHBACK_HEADER = 'grpc-retry-pushback-ms';
const DECIMAL = /^\d{1,32}$/;
/** The longest delay of `setTimeout`, which waits 1 ms for longer ones. */
const MAX_DELAY_MS = 2 ** 31 - 1;
/** The server asks not to retry at all (gRFC A6). */
const NO_RETRY = '-1';

/**
 * Corrects the delay that a server sets for the retry of a call. One that is negative or cannot be parsed means no retry
 * (gRFC A6); the host library takes one that is no number, or too long for a timer, for a retry at once, in which all
 * clients would join. Longer ones than a timer has are no retry, as in gRPC Java, whose delay has 32 bits.
 */
export function correctPushback({ code, metadata }: Pick<StatusObject, 'code' | 'metadata'>): void {
  if (code === Status.OK) return;
  const [pushback] = metadata.get(PUSHBACK_HEADER);
  if (pushback === undefined) return;
  const isDelay = DECIMAL.test(String(pushback)) && Number(pushback) <= MAX_DELAY_MS;
  if (!isDelay) metadata.set(PUSHBACK_HEADER, NO_RETRY);
}
