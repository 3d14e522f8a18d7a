import { Metadata, status as Status } from '@grpc/grpc-js';
import type { CallConfig, ConfigSelector, Filter, FilterFactory, LoadBalancer, Resolver } from '.';
import { errorMessage, errorStack } from '../util/errors';
import type { Logger } from '../util/logger';
import {
  completeMetadata,
  completeStatus,
  type CallListener,
  type CallStatus,
} from './handed-over';

// grpc-js catches hardly anything that the functions throw which it calls: an exception ends the process, or leaves a call that never
// ends. Each of them is one of this file or of server-callbacks.ts; the ESLint rule local/host-callbacks finds those that are not.

let logger: Pick<Logger, 'error'> | undefined;
/** The places of the warnings so far. */
const warned = new Set<string>();

/** Logs the exceptions of the functions that grpc-js calls. Default: the first of each place is a warning of Node.js. */
export function logExceptionsBy(used: Pick<Logger, 'error'>): void {
  logger = used;
}

/**
 * Logs an exception of a function that grpc-js has called.
 *
 * @param place What has thrown, such as `the filters of a call`.
 * @returns the status of the call that it concerns.
 */
export function reportException(place: string, error: unknown): CallStatus {
  if (logger !== undefined) {
    logger.error(() => `unexpected error in ${place}: ${errorStack(error)}`);
  } else if (!warned.has(place)) {
    warned.add(place);
    process.emitWarning(`grpc-xds: unexpected error in ${place}: ${errorStack(error)}`);
  }
  const details = `unexpected error in ${place}: ${errorMessage(error)}`;
  return { code: Status.INTERNAL, details, metadata: new Metadata() };
}

/** Runs code of this package inside a function of grpc-js. An exception is logged, and the result is `undefined`. */
export function runContained<T>(place: string, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    reportException(place, error);
    return undefined;
  }
}

/** Returns a callback for grpc-js in place of one that may throw. An exception is logged. */
export function containedCallback<Args extends readonly unknown[]>(
  place: string,
  callback: (...args: Args) => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      callback(...args);
    } catch (error) {
      reportException(place, error);
    }
  };
}

/** Returns a check of certificates for grpc-js in place of one that may throw, which refuses the certificate. */
export function containedCheck<Args extends readonly unknown[]>(
  place: string,
  check: (...args: Args) => Error | undefined,
): (...args: Args) => Error | undefined {
  return (...args) => {
    try {
      return check(...args);
    } catch (error) {
      return new Error(reportException(place, error).details);
    }
  };
}

/**
 * Watches what a call on a connection receives, before its user does. Subclasses get a complete status. If one throws, the call
 * ends with INTERNAL, when it ends.
 */
export abstract class ContainedListener implements CallListener {
  private failure: CallStatus | undefined;

  constructor(private readonly next: CallListener) {}

  onReceiveMetadata(metadata: Metadata): void {
    this.next.onReceiveMetadata(completeMetadata(metadata));
  }

  onReceiveMessage(message: unknown): void {
    try {
      this.onMessage(message);
    } catch (error) {
      this.failure ??= reportException(this.place, error);
    }
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

  protected onMessage(_message: unknown): void {}

  /** @returns the status for the user of the call. */
  protected abstract onStatus(status: CallStatus): CallStatus;
}

/** Receives what a call of this package itself receives. The status comes last. */
export interface OwnCallListener {
  onMetadata(metadata: Metadata): void;
  onMessage(message: Uint8Array): void;
  /** Called again, with INTERNAL, if it throws. */
  onStatus(status: CallStatus): void;
}

/**
 * Returns the listener of a call of this package itself for grpc-js.
 *
 * @param cancel Cancels the call, which then ends with this status; called if the listener throws, or if grpc-js passes a message
 * that has no bytes.
 */
export function containedListener(
  place: string,
  listener: OwnCallListener,
  cancel: (status: CallStatus) => void,
): CallListener {
  const fail = (error: unknown) => {
    const status = reportException(place, error);
    runContained(place, () => cancel(status));
  };
  return {
    onReceiveMetadata(metadata) {
      try {
        listener.onMetadata(completeMetadata(metadata));
      } catch (error) {
        fail(error);
      }
    },
    onReceiveMessage(message: unknown) {
      try {
        if (!(message instanceof Uint8Array)) throw new Error('a message has no bytes');
        listener.onMessage(message);
      } catch (error) {
        fail(error);
      }
    },
    onReceiveStatus(status) {
      try {
        listener.onStatus(completeStatus(status));
      } catch (error) {
        const failed = reportException(place, error);
        runContained(place, () => listener.onStatus(failed));
      }
    },
  };
}

type WriteObject = Awaited<ReturnType<Filter['sendMessage']>>;

/** The filter of one call, which is its own factory. If a subclass throws, the call ends with INTERNAL. */
export abstract class ContainedFilter implements FilterFactory, Filter {
  private broken: CallStatus | undefined;

  createFilter(): Filter {
    return this;
  }

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
    return reportException('the filters of a call', error);
  }
}

/** Returns a promise that ends a call: grpc-js takes whatever status object a filter rejects with. */
export function rejectWith(status: CallStatus): Promise<never> {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- see above
  return Promise.reject(status);
}

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

/** Returns a resolver for grpc-js. @param fail Reports that the target cannot be resolved. */
export function containedResolver(
  resolver: Resolver,
  fail: (status: CallStatus) => void,
): Resolver {
  const place = 'a resolver';
  return {
    updateResolution() {
      try {
        resolver.updateResolution();
      } catch (error) {
        const status = reportException(place, error);
        runContained(place, () => fail({ ...status, code: Status.UNAVAILABLE }));
      }
    },
    destroy: containedCallback(place, () => resolver.destroy()),
  };
}

/** Returns a policy for grpc-js. One that throws on an update has not accepted it. */
export function containedBalancer(balancer: LoadBalancer): LoadBalancer {
  const place = `the load-balancing policy ${balancer.getTypeName()}`;
  return {
    updateAddressList(...args) {
      return runContained(place, () => balancer.updateAddressList(...args)) ?? false;
    },
    exitIdle: containedCallback(place, () => balancer.exitIdle()),
    resetBackoff: containedCallback(place, () => balancer.resetBackoff()),
    destroy: containedCallback(place, () => balancer.destroy()),
    getTypeName: () => balancer.getTypeName(),
  };
}
