import { Metadata, status as Status } from '@grpc/grpc-js';
import type { LoadBalancer, Resolver } from '.';
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
    // Called for every call.
    exitIdle() {
      try {
        balancer.exitIdle();
      } catch (error) {
        reportException(place, error);
      }
    },
    resetBackoff: containedCallback(place, () => balancer.resetBackoff()),
    destroy: containedCallback(place, () => balancer.destroy()),
    getTypeName: () => balancer.getTypeName(),
  };
}
