import { experimental, CallCredentials, Metadata, type status } from '@grpc/grpc-js';
import { systemClock } from '../util/clock';
import type { CallListener } from './handed-over';
import { reportException } from './host-callbacks';

type Subchannel = experimental.SubchannelInterface;
type RealSubchannel = ReturnType<Subchannel['getRealSubchannel']>;
type StateListener = Parameters<Subchannel['addConnectivityStateListener']>[0];
type DataWatcher = Parameters<Subchannel['addDataWatcher']>[0];

/** Starts a call on a connection. Throws if the connection is closed. */
export type CreateCall = RealSubchannel['createCall'];

export type { CallListener } from './handed-over';

/**
 * A subchannel whose calls are started by a function, which may watch or change them. Only for pick results: the host
 * library compares real subchannels, and that of this one is a replacement.
 */
export class InterceptedSubchannel extends experimental.BaseSubchannelWrapper {
  private readonly replacement: RealSubchannel;

  /** @param createCall Starts the call on `subchannel.getRealSubchannel()`. */
  constructor(subchannel: Subchannel, createCall: CreateCall) {
    super(subchannel);
    this.replacement = replacementOf(createCall);
  }

  /** The subchannel it was made for. */
  get wrapped(): Subchannel {
    return this.child;
  }

  override getRealSubchannel(): RealSubchannel {
    return this.replacement;
  }

  override addDataWatcher(watcher: DataWatcher): void {
    // The wrapper would pass the replacement.
    this.child.addDataWatcher(watcher);
  }
}

/** Returns a subchannel whose calls are started by a function. For the result of one pick, like {@link withCallCredentials}. */
export function withCreateCall(subchannel: Subchannel, createCall: CreateCall): Subchannel {
  const replacement = replacementOf(createCall);
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- the prototype decides the type
  const intercepted: Subchannel = Object.create(subchannel, {
    getRealSubchannel: { value: () => replacement },
  });
  return intercepted;
}

function replacementOf(createCall: CreateCall): RealSubchannel {
  // eslint-disable-next-line no-restricted-syntax, @typescript-eslint/no-unsafe-class-instance-assignment -- A class with private members, of which grpc-js only calls this one.
  return { createCall } as RealSubchannel;
}

/**
 * A subchannel whose owner decides when it connects. For a pick_first of grpc-js only: a picker must return the
 * subchannel it was made for, since parent policies look for their own wrappers in pick results.
 */
export class GatedSubchannel extends experimental.BaseSubchannelWrapper {
  /** @param onConnectRequested Receives each request to connect, instead of the subchannel. */
  constructor(
    subchannel: Subchannel,
    private readonly onConnectRequested: (subchannel: Subchannel) => void,
  ) {
    super(subchannel);
  }

  /** The subchannel it was made for. */
  get wrapped(): Subchannel {
    return this.child;
  }

  override startConnecting(): void {
    this.onConnectRequested(this.child);
  }
}

/** A subchannel that is connected to an endpoint through another address, and has the address of the endpoint. */
export class RelayedSubchannel extends experimental.BaseSubchannelWrapper {
  private readonly listeners = new Map<StateListener, StateListener>();

  /** @param relay The subchannel of the other address, that of a proxy. */
  constructor(
    private readonly relay: Subchannel,
    private readonly address: string,
  ) {
    super(relay);
  }

  /** The errors of connections to the proxy name it as that: the endpoint may be well. */
  override addConnectivityStateListener(listener: StateListener): void {
    const relayed: StateListener = (subchannel, previous, state, keepaliveTime, error) =>
      listener(subchannel, previous, state, keepaliveTime, this.nameProxy(error));
    this.listeners.set(listener, relayed);
    super.addConnectivityStateListener(relayed);
  }

  private nameProxy(error: unknown): string | undefined {
    if (typeof error !== 'string') return undefined;
    const by = `HTTP proxy ${this.relay.getAddress()}: connect $1`;
    return error.replace(/\bconnect (E[A-Z]+)(?: \S+)?/, by);
  }

  override removeConnectivityStateListener(listener: StateListener): void {
    super.removeConnectivityStateListener(this.listeners.get(listener) ?? listener);
    this.listeners.delete(listener);
  }

  override getAddress(): string {
    return this.address;
  }
}

/**
 * Returns a subchannel that has further call credentials. For the result of one pick: it is no wrapper, which would watch
 * the subchannel for ever.
 */
export function withCallCredentials(
  subchannel: Subchannel,
  callCredentials: CallCredentials,
): Subchannel {
  const value = () => {
    try {
      return subchannel.getCallCredentials().compose(callCredentials);
    } catch (error) {
      const failed = reportException('the call credentials of a connection', error);
      return CallCredentials.createFromMetadataGenerator((_options, callback) =>
        callback(Object.assign(new Error(failed.details), { code: failed.code })),
      );
    }
  };
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- the prototype decides the type
  const extended: Subchannel = Object.create(subchannel, { getCallCredentials: { value } });
  return extended;
}

type Call = ReturnType<CreateCall>;

/** A call that is not sent. It ends with its status when the current stack has unwound: its owner knows it by then. */
export class FailedCall implements Call {
  /** @param callId The number of the call in traces. */
  constructor(
    { code, details }: { readonly code: status; readonly details: string },
    listener: CallListener,
    private readonly callId = 0,
  ) {
    systemClock.soon(() => listener.onReceiveStatus({ code, details, metadata: new Metadata() }));
  }

  cancelWithStatus(): void {}

  getPeer(): string {
    return '';
  }

  sendMessageWithContext(): void {}

  startRead(): void {}

  halfClose(): void {}

  getCallNumber(): number {
    return this.callId;
  }

  getDeadlineInfo(): string[] {
    return [];
  }

  getAuthContext(): ReturnType<Call['getAuthContext']> {
    return {};
  }
}

/** Returns the subchannel inside of all wrappers, which grpc-js keeps in a protected field. */
export function innermostSubchannel(subchannel: object): object {
  let inner = subchannel;
  while (inner instanceof experimental.BaseSubchannelWrapper) {
    const child: unknown = Reflect.get(inner, 'child');
    if (typeof child !== 'object' || child === null) break;
    inner = child;
  }
  return inner;
}
