import { Metadata, status as Status } from '@grpc/grpc-js';
import {
  PickResultType,
  toPickInformation,
  type CallConfig,
  type ConfigSelector,
  type Filter,
  type FilterFactory,
  type MethodConfig,
  type PickArgs,
  type Picker,
  type PickResult,
} from '.';
import {
  completeMetadata,
  completeStatus,
  messageBytes,
  type CallListener,
  type CallStatus,
} from './handed-over';
import { containedCallback, reportException, runContained } from './host-callbacks';

// What grpc-js calls for each call, in this order: the selector, the filter of the call, the picker, the listener of an attempt.

/** Returns the selector of a channel for grpc-js: a call whose route cannot be determined fails with INTERNAL. */
export function containedSelector(selector: ConfigSelector): ConfigSelector {
  return {
    invoke(method, metadata, channelId): CallConfig {
      try {
        return selector.invoke(method, completeMetadata(metadata), channelId);
      } catch (error) {
        const { code } = reportException('the routing of a call', error);
        return {
          status: code,
          methodConfig: { name: [] },
          pickInformation: {},
          dynamicFilterFactories: [],
        };
      }
    },
    unref: containedCallback('the release of routes', () => selector.unref()),
  };
}

type WriteObject = Awaited<ReturnType<Filter['sendMessage']>>;

const { COMPLETE, QUEUE, TRANSIENT_FAILURE, DROP } = PickResultType;

/** For exceptions. */
const FILTERS = 'the filters of a call';
const PICKER = 'a load-balancing policy';

const NO_CONFIG: MethodConfig = { name: [] };
const CANCELLED = {
  code: Status.CANCELLED,
  details: 'The call has ended',
  metadata: new Metadata(),
};

/**
 * One call of a channel as grpc-js takes it: its config, what pickers are told of it, and the filter that it passes. This
 * one changes nothing of the call before its end.
 */
export abstract class HostCall implements CallConfig, FilterFactory, Filter {
  readonly status: Status = Status.OK;
  methodConfig = NO_CONFIG;
  readonly pickInformation = toPickInformation(this);
  readonly dynamicFilterFactories: FilterFactory[] = [this];
  protected hasEnded = false;

  /** Overridden for a call whose headers or messages wait, change or are refused: by a {@link ContainedFilter}. */
  createFilter(): Filter {
    return this;
  }

  sendMetadata(headers: Promise<Metadata>): Promise<Metadata> {
    return headers;
  }

  receiveMetadata(headers: Metadata): Metadata {
    return completeMetadata(headers);
  }

  /** The host goes on to send a call that was cancelled before it was sent; its first message ends it here. */
  sendMessage(message: Promise<WriteObject>): Promise<WriteObject> {
    return this.hasEnded ? rejectWith(CANCELLED) : message;
  }

  receiveMessage(message: Promise<Buffer>): Promise<Buffer> {
    return message;
  }

  receiveTrailers(given: CallStatus): CallStatus {
    try {
      return this.end(completeStatus(given));
    } catch (error) {
      return reportException(FILTERS, error);
    }
  }

  /** Called when the call is committed to an attempt, which not every call is. */
  onCommitted(): void {
    try {
      this.commit();
    } catch (error) {
      reportException('the commit of a call', error);
    }
  }

  protected abstract commit(): void;

  /** @returns the status for the application. */
  abstract end(status: CallStatus): CallStatus;
}

/** The filter of one call. If a subclass throws, the call ends with INTERNAL. */
export abstract class ContainedFilter implements Filter {
  private broken: CallStatus | undefined;

  sendMetadata(headers: Promise<Metadata>): Promise<Metadata> {
    try {
      return this.filterRequestHeaders(headers);
    } catch (error) {
      return this.reject(error);
    }
  }

  receiveMetadata(metadata: Metadata): Metadata {
    const headers = completeMetadata(metadata);
    try {
      return this.filterResponseHeaders(headers);
    } catch (error) {
      // grpc-js cannot end the call here: its next message is rejected, and its status replaced.
      this.broken ??= this.report(error);
      return headers;
    }
  }

  sendMessage(message: Promise<WriteObject>): Promise<WriteObject> {
    try {
      return this.broken === undefined
        ? this.filterRequestMessage(message)
        : rejectWith(this.broken);
    } catch (error) {
      return this.reject(error);
    }
  }

  receiveMessage(message: Promise<Buffer>): Promise<Buffer> {
    try {
      return this.broken === undefined
        ? this.filterResponseMessage(message)
        : rejectWith(this.broken);
    } catch (error) {
      return this.reject(error);
    }
  }

  receiveTrailers(given: CallStatus): CallStatus {
    let status = completeStatus(given);
    try {
      status = this.filterStatus(this.broken ?? status);
    } catch (error) {
      this.broken ??= this.report(error);
    }
    return this.broken ?? status;
  }

  protected abstract filterRequestHeaders(headers: Promise<Metadata>): Promise<Metadata>;
  protected abstract filterResponseHeaders(headers: Metadata): Metadata;
  protected abstract filterRequestMessage(message: Promise<WriteObject>): Promise<WriteObject>;
  protected abstract filterResponseMessage(message: Promise<Buffer>): Promise<Buffer>;
  protected abstract filterStatus(status: CallStatus): CallStatus;

  private reject(error: unknown): Promise<never> {
    this.broken ??= this.report(error);
    return rejectWith(this.broken);
  }

  private report(error: unknown): CallStatus {
    return reportException(FILTERS, error);
  }
}

/** Returns a promise that ends a call: grpc-js takes whatever status object a filter rejects with. */
export function rejectWith(status: CallStatus): Promise<never> {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- see above
  return Promise.reject(status);
}

/**
 * The picker of a channel. If it throws, or returns what grpc-js cannot use, the call is picked by another one: grpc-js contains
 * neither, so that the call, and those that wait with it, would never end.
 */
export class ContainedPicker implements Picker {
  /** @param onError Returns the picker of a call whose pick has failed. */
  constructor(
    private readonly child: Picker,
    private readonly onError: (error: unknown) => Picker,
  ) {}

  pick(args: PickArgs): PickResult {
    try {
      const result = this.child.pick(args);
      const { pickResultType, subchannel, status, onCallStarted, onCallEnded } = result;
      const isPlain =
        pickResultType === COMPLETE &&
        typeof subchannel === 'object' &&
        subchannel !== null &&
        status === null &&
        onCallStarted === null &&
        onCallEnded === null;
      return isPlain ? result : containResult(result);
    } catch (error) {
      return this.onError(error).pick(args);
    }
  }
}

function containResult(result: PickResult): PickResult {
  if (!isUsable(result)) throw new Error('the result of a pick is not complete');
  const { onCallStarted, onCallEnded, status } = result;
  return {
    ...result,
    status: status && completeStatus(status),
    onCallStarted: onCallStarted && containedCallback(PICKER, onCallStarted),
    onCallEnded:
      onCallEnded &&
      containedCallback(PICKER, (code: Status, details: string, metadata: Metadata) => {
        const end = completeStatus({ code, details, metadata });
        onCallEnded(end.code, end.details, end.metadata);
      }),
  };
}

/** Policies of an application return any value. */
function isUsable(result: Record<keyof PickResult, unknown>): boolean {
  const { pickResultType, subchannel, status } = result;
  if (pickResultType === COMPLETE) return typeof subchannel === 'object' && subchannel !== null;
  if (pickResultType === QUEUE) return true;
  const isFailure = pickResultType === TRANSIENT_FAILURE || pickResultType === DROP;
  return isFailure && typeof status === 'object' && status !== null;
}

/** Sees the status of a call on a connection before its user does, complete. If a subclass throws, the call ends with INTERNAL. */
export abstract class ContainedListener implements CallListener {
  protected failure: CallStatus | undefined;

  constructor(private readonly next: CallListener) {}

  onReceiveMetadata(metadata: Metadata): void {
    this.next.onReceiveMetadata(completeMetadata(metadata));
  }

  onReceiveMessage(message: unknown): void {
    this.next.onReceiveMessage(message);
  }

  onReceiveStatus(given: CallStatus): void {
    let status = completeStatus(given);
    try {
      status = this.onStatus(status);
    } catch (error) {
      this.failure ??= reportException(this.place, error);
    }
    this.next.onReceiveStatus(this.failure ?? status);
  }

  /** What the subclass does, for exceptions of it. */
  protected abstract get place(): string;

  /** @returns the status for the user of the call. */
  protected abstract onStatus(status: CallStatus): CallStatus;
}

/** Watches one attempt. One of the last two methods is called, once. Messages are framed. */
export interface AttemptTracer {
  /** The attempt is on the connection. */
  onSent?(): void;
  onMessageSent?(frame: Buffer): void;
  onMessageReceived?(frame: Buffer): void;
  onEnded(status: CallStatus): void;
  /** The connection did not take the attempt. */
  onNotSent(error: unknown): void;
}

/** Tells a tracer of what is received on a connection. If either throws on a message, the call ends with INTERNAL when it ends. */
export class TracedListener extends ContainedListener {
  /** @param place For exceptions. */
  constructor(
    next: CallListener,
    protected readonly tracer: Pick<
      AttemptTracer,
      'onMessageSent' | 'onMessageReceived' | 'onEnded'
    >,
    protected override readonly place: string,
  ) {
    super(next);
  }

  override onReceiveMessage(message: unknown): void {
    const bytes = messageBytes(message);
    try {
      if (bytes !== undefined) this.tracer.onMessageReceived?.(bytes);
    } catch (error) {
      this.failure ??= reportException(this.place, error);
    }
    super.onReceiveMessage(message);
  }

  onMessageSent(message: Buffer): void {
    runContained(this.place, () => this.tracer.onMessageSent?.(message));
  }

  protected override onStatus(status: CallStatus): CallStatus {
    this.tracer.onEnded(status);
    return status;
  }
}
