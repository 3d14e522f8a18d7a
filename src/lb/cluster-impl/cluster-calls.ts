import { toAuthority } from '../../bootstrap/resource-template';
import {
  CallCredentials,
  Metadata,
  Status,
  type StatusObject,
  type Subchannel,
} from '../../grpc-js';
import { hasCallCredentials, watchSentMessages } from '../../grpc-js/call-metadata';
import type { CallStatus } from '../../grpc-js/handed-over';
import { ContainedListener, TracedListener, type AttemptTracer } from '../../grpc-js/host-call';
import {
  FailedCall,
  withCallCredentials,
  type CallListener,
  type CreateCall,
} from '../../grpc-js/subchannel-wrappers';
import { checkAuthority, securityOf } from '../../security/client/connection-security';
import { MAX_AUTHORITY_LENGTH } from '../../util/limits';
import { quoteName } from '../../util/text';
import { callOfAttempt, type AuthorityRewrite } from '../call-attributes';
import { traceAttempt, type CallObserver } from '../call-observer';
import { AddressIndex } from '../endpoints/endpoint-index';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { BrokenCalls } from './broken-calls';
import type { CallCounter } from './circuit-breaker';
import type { ClusterLoads } from './cluster-loads';
import { CountedSubchannels } from './counted-subchannels';
import type { ClusterCalls, EndpointCalls } from './endpoint-calls';
import type { ObservedCluster } from './observed-cluster';

/** For exceptions. */
const PLACE = 'the counts of a call';

/** What the calls of a cluster have in common. */
export interface ClusterCallParts {
  readonly cluster: string;
  readonly counter: CallCounter;
  readonly calls: ClusterCalls;
  readonly broken: BrokenCalls;
  readonly rewriter: AuthorityRewriter;
  /** Absent if no load is reported. */
  readonly loads: ClusterLoads | undefined;
  /** Absent if no plugin observes the calls. */
  readonly observed: ObservedCluster | undefined;
}

/** The subchannels of a cluster as calls are given them: counted, watched, and with what changes a call. */
export class ClusterSubchannels extends CountedSubchannels<CallCounter> {
  /** Whether a subchannel is insecure, and so refuses watched calls with call credentials. */
  refusesCallCredentials = false;

  constructor(private readonly parts: ClusterCallParts) {
    super(parts.counter);
  }

  protected override createCallOf(subchannel: Subchannel): CreateCall {
    const isInsecure = securityOf(subchannel).kind === 'insecure';
    if (isInsecure) this.refusesCallCredentials = true;
    return new ConnectionCalls(subchannel, this.parts, isInsecure).create;
  }
}

/**
 * The calls on one connection. What changes a call is here: its authority, refused call credentials, its status. What only
 * watches it is a {@link CallObserver}.
 */
class ConnectionCalls {
  private readonly endpoint: EndpointCalls;
  private readonly observers: readonly CallObserver[];
  // Calls of a channel have one authority, which is encoded unless the application has set it.
  private lastHost = '';
  private lastAuthority = '';

  constructor(
    private readonly subchannel: Subchannel,
    private readonly parts: ClusterCallParts,
    private readonly isInsecure: boolean,
  ) {
    this.endpoint = parts.calls.of(subchannel);
    const { loads, observed } = parts;
    this.observers = [
      loads?.observerOf(subchannel),
      this.endpoint,
      observed?.observerOf(subchannel),
    ].filter((observer) => observer !== undefined);
  }

  /** Starts a call. */
  readonly create: CreateCall = (metadata, host, method, listener, callId) => {
    const { subchannel, parts, endpoint } = this;
    const rewrite = callOfAttempt.get(metadata)?.authorityRewrite;
    const sent = rewrite === undefined ? host : parts.rewriter.rewrite(host, rewrite, subchannel);
    if (typeof sent !== 'string') return new FailedCall(sent, listener, callId);
    if (this.isInsecure && hasCallCredentials(metadata)) {
      return new FailedCall(refusal(parts.cluster, subchannel), listener, callId);
    }
    if (sent !== this.lastHost) {
      this.lastAuthority = toAuthority(sent);
      this.lastHost = sent;
    }
    parts.counter.start();
    endpoint.inFlight++;
    const tracer = traceAttempt(this.observers, metadata);
    try {
      const connection = subchannel.getRealSubchannel();
      if (tracer === undefined) {
        const counted = new CountedCall(listener, this);
        return connection.createCall(metadata, this.lastAuthority, method, counted, callId);
      }
      const traced = new TracedCall(listener, this, tracer);
      const call = connection.createCall(metadata, this.lastAuthority, method, traced, callId);
      tracer.onSent?.();
      if (tracer.onMessageSent !== undefined) watchSentMessages(call, traced);
      return call;
    } catch (error) {
      parts.counter.end();
      endpoint.inFlight--;
      tracer?.onNotSent(error);
      throw error;
    }
  };

  /** Handles the end of a call. @returns the status for the user of the call. */
  end(status: CallStatus): CallStatus {
    const { counter, broken } = this.parts;
    counter.end();
    this.endpoint.inFlight--;
    if (status.code === Status.OK) return status;
    correctPushback(status);
    return broken.explain(status, this.subchannel);
  }
}

class CountedCall extends ContainedListener {
  constructor(
    next: CallListener,
    private readonly calls: ConnectionCalls,
  ) {
    super(next);
  }

  protected override get place(): string {
    return PLACE;
  }

  protected override onStatus(status: CallStatus): CallStatus {
    return this.calls.end(status);
  }
}

class TracedCall extends TracedListener {
  constructor(
    next: CallListener,
    private readonly calls: ConnectionCalls,
    tracer: AttemptTracer,
  ) {
    super(next, tracer, PLACE);
  }

  protected override onStatus(status: CallStatus): CallStatus {
    // First, so that a call made in the application's callback is not over the limit.
    return super.onStatus(this.calls.end(status));
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
 * (gRFC A6); grpc-js takes one that is no number, or too long for a timer, for a retry at once, in which all
 * clients would join. Longer ones than a timer has are no retry, as in gRPC Java, whose delay has 32 bits.
 */
export function correctPushback({ code, metadata }: Pick<StatusObject, 'code' | 'metadata'>): void {
  if (code === Status.OK) return;
  const [pushback] = metadata.get(PUSHBACK_HEADER);
  if (pushback === undefined) return;
  const isDelay = DECIMAL.test(String(pushback)) && Number(pushback) <= MAX_DELAY_MS;
  if (!isDelay) metadata.set(PUSHBACK_HEADER, NO_RETRY);
}

/** Rewrites the authority of calls to one cluster (gRFCs A81, A111). Its index exists once a route needs hostnames. */
export class AuthorityRewriter {
  private index: AddressIndex | undefined;
  private endpoints: EndpointSet | undefined;

  /** Sets the endpoints of the cluster. They are indexed when a call needs a hostname. */
  update(endpoints: EndpointSet): void {
    this.endpoints = endpoints;
  }

  /** Returns the authority for a call whose route rewrites it, or why the call must not be sent. */
  rewrite(
    host: string,
    { authority, defaultAuthority }: AuthorityRewrite,
    subchannel: Subchannel,
  ): string | Pick<StatusObject, 'code' | 'details'> {
    const rewritten = authority === '' ? this.hostnameOf(subchannel) : authority;
    // Set by the application for this call, or without a hostname.
    if (rewritten === '' || toAuthority(host) !== defaultAuthority) return host;
    const details = checkRewrite(rewritten, subchannel);
    return details === undefined ? rewritten : { code: Status.UNAVAILABLE, details };
  }

  private hostnameOf(subchannel: Subchannel): string {
    const { endpoints } = this;
    if (endpoints === undefined) return '';
    this.index ??= new AddressIndex();
    const hostname = this.index.findIn(endpoints, subchannel.getAddress())?.hostname ?? '';
    return hostname.length > MAX_AUTHORITY_LENGTH ? hostname : toAuthority(hostname);
  }
}

/** @returns Why an authority must not be sent; `undefined` if it may. */
function checkRewrite(authority: string, subchannel: Subchannel): string | undefined {
  const { length } = authority;
  return length > MAX_AUTHORITY_LENGTH
    ? `the route changed the authority to one of ${length} characters: it may have ${MAX_AUTHORITY_LENGTH}`
    : checkAuthority(authority, subchannel);
}
