import type { Channel, Metadata, StatusObject } from '@grpc/grpc-js';
import type { CallListener } from './handed-over';
import { TracedListener, type AttemptTracer } from './host-call';
import { runContained } from './host-callbacks';
import { hasMethods } from './host-internals';

/** For exceptions. */
const PLACE = 'the observation of a call';

/** Watches one call of a channel. */
export interface CallWatch {
  /** The channel has no config for the call yet. */
  onResolutionDelayed(): void;
  /** An attempt is about to be picked. Headers may be added. */
  onAttempt(headers: Metadata): AttemptTracer;
  /** The call has ended. */
  onEnded(status: StatusObject): void;
}

/** A call, or one attempt of it. */
interface HostCall {
  start(headers: Metadata, listener: CallListener): void;
  sendMessageWithContext(context: object, message: Buffer): void;
}

/** The part of grpc-js inside a channel. */
interface InternalChannel {
  getConfig(
    method: string,
    headers: Metadata,
  ): { readonly type: string; readonly config?: object | undefined };
  createLoadBalancingCall(config: object, ...others: readonly unknown[]): HostCall;
}

/**
 * Watches the calls of a channel, and their attempts. grpc-js has no hook for attempts: they are seen in the private
 * object inside a channel
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts). Where it is
 * missing, only calls are watched.
 *
 * @param watch Called when a call starts, with its method, such as `/package.Service/Method`.
 */
export function watchCalls(
  channel: Channel,
  watch: (method: string) => CallWatch | undefined,
): void {
  const attempts = new AttemptHooks(channel);
  const createCall = channel.createCall.bind(channel);
  channel.createCall = (method, ...others) => {
    const call = createCall(method, ...others);
    const start = call.start.bind(call);
    call.start = (headers, listener) => {
      const watched = runContained(PLACE, () => watch(method));
      if (watched === undefined) start(headers, listener);
      else
        attempts.run(watched, () => start(headers, new TracedListener(listener, watched, PLACE)));
    };
    return call;
  };
}

/** Finds the call that an attempt belongs to: by the config, which is a new object for each call. */
class AttemptHooks {
  /** The call that is being started, until it requests its config. */
  private starting: CallWatch | undefined;
  private readonly byHeaders = new WeakMap<Metadata, CallWatch>();
  private readonly byConfig = new WeakMap<object, CallWatch>();

  constructor(channel: Channel) {
    const internal: unknown = Reflect.get(channel, 'internalChannel');
    if (!hasMethods<InternalChannel>(internal, 'getConfig', 'createLoadBalancingCall')) return;
    this.watchConfigs(internal);
    this.watchAttempts(internal);
  }

  /** Starts a call. */
  run(call: CallWatch, start: () => void): void {
    this.starting = call;
    try {
      start();
    } finally {
      this.starting = undefined;
    }
  }

  private watchConfigs(internal: InternalChannel): void {
    const getConfig = internal.getConfig.bind(internal);
    internal.getConfig = (method, headers) => {
      const call = this.byHeaders.get(headers) ?? this.starting;
      // Others may request theirs before this one has it.
      this.starting = undefined;
      const result = getConfig(method, headers);
      if (call === undefined) return result;
      this.byHeaders.set(headers, call);
      if (result.config === undefined) runContained(PLACE, () => call.onResolutionDelayed());
      else this.byConfig.set(result.config, call);
      return result;
    };
  }

  private watchAttempts(internal: InternalChannel): void {
    const create = internal.createLoadBalancingCall.bind(internal);
    internal.createLoadBalancingCall = (config, ...others) => {
      const attempt = create(config, ...others);
      const call = this.byConfig.get(config);
      if (call !== undefined) watchAttempt(attempt, call);
      return attempt;
    };
  }
}

function watchAttempt(attempt: HostCall, call: CallWatch): void {
  const start = attempt.start.bind(attempt);
  attempt.start = (headers, listener) => {
    const watched = runContained(PLACE, () => call.onAttempt(headers));
    if (watched === undefined) {
      start(headers, listener);
      return;
    }
    const traced = new TracedListener(listener, watched, PLACE);
    const send = attempt.sendMessageWithContext.bind(attempt);
    attempt.sendMessageWithContext = (context, message) => {
      traced.onMessageSent(message);
      send(context, message);
    };
    start(headers, traced);
  };
}
